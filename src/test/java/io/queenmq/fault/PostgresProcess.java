package io.queenmq.fault;

import io.queenmq.embedded.PostgresBinaries;
import io.queenmq.embedded.Unprivileged;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.TestBinaries;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * A PostgreSQL server of one test, as durable as in production, that can be killed and restarted.
 */
final class PostgresProcess implements AutoCloseable {
    private final PostgresBinaries binaries;
    private final Path folder;
    private final int port;
    private List<String> settings = List.of();
    private Process process;

    private PostgresProcess(PostgresBinaries binaries, Path folder, int port) throws IOException {
        this.binaries = binaries;
        this.folder = folder;
        this.port = port;
        this.process = launch();
    }

    static PostgresProcess start() throws IOException, InterruptedException {
        PostgresBinaries binaries = TestBinaries.of(TestBinaries.version());
        Path folder = Files.createTempDirectory("queen-fault-");
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwx------"));
        Process initdb =
                new ProcessBuilder(
                                binaries.command(
                                        Unprivileged.ownerOf(folder),
                                        "initdb",
                                        List.of(
                                                "--pgdata=" + folder.resolve("db"),
                                                "--username=queen",
                                                "--auth=trust",
                                                "--encoding=UTF8",
                                                "--locale=C",
                                                "--no-sync")))
                        .redirectErrorStream(true)
                        .redirectOutput(folder.resolve("initdb.log").toFile())
                        .start();
        if (initdb.waitFor() != 0) {
            throw new IOException(Files.readString(folder.resolve("initdb.log")));
        }
        PostgresProcess server = new PostgresProcess(binaries, folder, freePort());
        try {
            server.awaitConnections();
        } catch (Throwable e) {
            server.close();
            throw e;
        }
        return server;
    }

    int port() {
        return port;
    }

    Connection connect() throws SQLException {
        return DriverManager.getConnection(
                "jdbc:postgresql://127.0.0.1:" + port + "/postgres?user=queen");
    }

    /** Runs one statement. */
    void execute(String sql) throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** Ends the server as a loss of power ends its processes: none of them can say goodbye. */
    void kill() {
        Children.kill(process);
    }

    /**
     * Starts it again on the same port; crash recovery is over when this returns.
     *
     * @param changed settings that differ from now on, as {@code name=value}
     */
    void restart(String... changed) throws IOException {
        settings = changed.length == 0 ? settings : List.of(changed);
        process = launch();
        awaitConnections();
    }

    private Process launch() throws IOException {
        List<String> command =
                new ArrayList<>(
                        binaries.command(
                                Unprivileged.ownerOf(folder),
                                "postgres",
                                List.of("-D", folder.resolve("db").toString())));
        for (String setting :
                List.of(
                        "port=" + port,
                        "listen_addresses=127.0.0.1",
                        "unix_socket_directories=",
                        "max_connections=200",
                        "shared_buffers=64MB")) {
            command.add("-c");
            command.add(setting);
        }
        for (String setting : settings) {
            command.add("-c");
            command.add(setting);
        }
        return Children.start(
                new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(
                                ProcessBuilder.Redirect.appendTo(folder.resolve("log").toFile())));
    }

    private void awaitConnections() {
        Await.until(
                "connections to PostgreSQL",
                () -> {
                    if (!process.isAlive()) {
                        throw new AssertionError(
                                "PostgreSQL has ended:\n"
                                        + Files.readString(folder.resolve("log")));
                    }
                    return takesConnections();
                });
    }

    private boolean takesConnections() {
        try (Connection connection = connect()) {
            return connection.isValid(5);
        } catch (SQLException e) {
            // Not yet.
            return false;
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    @Override
    public void close() throws IOException {
        kill();
        try (Stream<Path> files = Files.walk(folder)) {
            files.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
        }
    }
}
