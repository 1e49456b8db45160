package io.queenmq.db;

import io.queenmq.embedded.PostgresBinaries;
import io.queenmq.embedded.Unprivileged;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.Certificates;
import io.queenmq.testkit.Lines;
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
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;

/**
 * A PostgreSQL server that takes encrypted connections alone. Its database {@code certified} asks
 * clients for a certificate, {@code postgres} does not.
 */
final class TlsServer implements AutoCloseable {
    private final Path folder;
    private final int port;
    private final Process process;

    private TlsServer(Path folder, int port, Process process) {
        this.folder = folder;
        this.port = port;
        this.process = process;
    }

    /**
     * Starts one.
     *
     * @param own what it shows
     * @param client whom it knows
     */
    static TlsServer start(Certificates own, Certificates client)
            throws IOException, InterruptedException, SQLException {
        PostgresBinaries binaries = TestBinaries.of(TestBinaries.version());
        Path folder = Files.createTempDirectory("queen-tls-");
        Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwx------"));
        run(
                folder,
                binaries.command(
                        Unprivileged.ownerOf(folder),
                        "initdb",
                        List.of(
                                "--pgdata=" + folder.resolve("db"),
                                "--username=queen",
                                "--auth=trust",
                                "--encoding=UTF8",
                                "--locale=C",
                                "--no-sync")));
        Files.writeString(folder.resolve("db/server.crt"), own.certificate());
        Path key = folder.resolve("db/server.key");
        Files.writeString(key, own.key());
        Files.setPosixFilePermissions(key, PosixFilePermissions.fromString("rw-------"));
        Files.writeString(folder.resolve("db/clients.crt"), client.certificate());
        Files.writeString(
                folder.resolve("db/pg_hba.conf"),
                """
                hostssl certified all 127.0.0.1/32 trust clientcert=verify-ca
                hostssl all       all 127.0.0.1/32 trust
                """);
        int port;
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = socket.getLocalPort();
        }
        List<String> args = new ArrayList<>(List.of("-D", folder.resolve("db").toString()));
        for (String setting :
                List.of(
                        "port=" + port,
                        "listen_addresses=127.0.0.1",
                        "unix_socket_directories=",
                        "fsync=off",
                        "ssl=on",
                        "ssl_ca_file=clients.crt")) {
            args.add("-c");
            args.add(setting);
        }
        Process process =
                new ProcessBuilder(
                                binaries.command(
                                        // Again: the files that were added have to be its own.
                                        Unprivileged.ownerOf(folder), "postgres", args))
                        .redirectErrorStream(true)
                        .redirectOutput(folder.resolve("log").toFile())
                        .start();
        TlsServer server = new TlsServer(folder, port, process);
        server.awaitConnections();
        try (Connection connection = server.connect();
                Statement statement = connection.createStatement()) {
            statement.execute("create database certified");
        }
        return server;
    }

    int port() {
        return port;
    }

    /** From now on it shows another certificate. */
    void show(Certificates other) throws IOException, SQLException {
        Files.writeString(folder.resolve("db/server.crt"), other.certificate());
        Files.writeString(folder.resolve("db/server.key"), other.key());
        String loaded = "select pg_conf_load_time()";
        try (Connection connection = connect()) {
            String before = Lines.line(connection, loaded);
            Lines.line(connection, "select pg_reload_conf()");
            Await.until(
                    "the certificate is read",
                    () -> {
                        try (Connection next = connect()) {
                            return !Lines.line(next, loaded).equals(before);
                        }
                    });
        }
    }

    /** Encrypted, and trusting whoever answers. */
    Connection connect() throws SQLException {
        return DriverManager.getConnection(
                "jdbc:postgresql://127.0.0.1:"
                        + port
                        + "/postgres?user=queen&sslmode=require&connectTimeout=30");
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
                    try (Connection connection = connect()) {
                        return connection.isValid(5);
                    } catch (SQLException e) {
                        // Not yet.
                        return false;
                    }
                });
    }

    private static void run(Path folder, List<String> command)
            throws IOException, InterruptedException {
        Path output = folder.resolve("initdb.log");
        Process process =
                new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(output.toFile())
                        .start();
        if (process.waitFor() != 0) {
            throw new IOException(Files.readString(output));
        }
    }

    @Override
    public void close() throws IOException {
        process.destroy();
        process.onExit().orTimeout(30, TimeUnit.SECONDS).join();
        try (Stream<Path> files = Files.walk(folder)) {
            files.sorted(Comparator.reverseOrder()).forEach(path -> path.toFile().delete());
        }
    }
}
