package io.queenmq.fault;

import io.queenmq.embedded.PostgresBinaries;
import io.queenmq.embedded.Unprivileged;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A PostgreSQL server of one test, as durable as in production, that can be killed and restarted.
 */
final class PostgresProcess implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final PostgresBinaries binaries;
    private final Path folder;
    private final int port;
    private Process process;

    private PostgresProcess(PostgresBinaries binaries, Path folder, int port) throws IOException {
        this.binaries = binaries;
        this.folder = folder;
        this.port = port;
        this.process = launch();
    }

    static PostgresProcess start() throws IOException, InterruptedException {
        PostgresBinaries binaries =
                PostgresBinaries.bundled(Path.of("target").toAbsolutePath().resolve("postgres-18"));
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
        server.awaitConnections();
        return server;
    }

    int port() {
        return port;
    }

    Connection connect() throws SQLException {
        return DriverManager.getConnection(
                "jdbc:postgresql://127.0.0.1:" + port + "/postgres?user=queen");
    }

    /** Ends the server as a loss of power ends its processes: none of them can say goodbye. */
    void kill() {
        List<ProcessHandle> backends = process.descendants().toList();
        process.destroyForcibly();
        backends.forEach(ProcessHandle::destroyForcibly);
        process.onExit().join();
        for (ProcessHandle backend : backends) {
            backend.onExit().join();
        }
    }

    /** Starts it again on the same port; crash recovery is over when this returns. */
    void restart() throws IOException, InterruptedException {
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
        return new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.appendTo(folder.resolve("log").toFile()))
                .start();
    }

    private void awaitConnections() throws IOException, InterruptedException {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (true) {
            try (Connection connection = connect()) {
                connection.isValid(5);
                return;
            } catch (SQLException e) {
                if (!process.isAlive() || System.nanoTime() > deadline) {
                    throw new IOException(Files.readString(folder.resolve("log")), e);
                }
                process.waitFor(20, TimeUnit.MILLISECONDS);
            }
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
