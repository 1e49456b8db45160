package io.queenmq.loadtest;

import java.io.IOException;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/**
 * A cluster of an installed PostgreSQL: it has lz4 and pg_stat_statements, which the embedded one
 * has not. PostgreSQL refuses to run as root; then it runs as the user postgres.
 */
final class OwnServer implements AutoCloseable {
    private static final String SETTINGS =
            """

            listen_addresses = '127.0.0.1'
            unix_socket_directories = ''
            max_connections = 200
            shared_buffers = 1GB
            max_wal_size = 8GB
            checkpoint_timeout = 15min
            bgwriter_delay = 50ms
            autovacuum_naptime = 10s
            random_page_cost = 1.1
            jit = off
            """;
    private static final String STATEMENTS =
            """
            shared_preload_libraries = 'pg_stat_statements'
            pg_stat_statements.track = all
            """;

    private final Path binaries;
    private final Path data;
    private final int port;

    private OwnServer(Path binaries, Path data, int port) {
        this.binaries = binaries;
        this.data = data;
        this.port = port;
    }

    static OwnServer start(Path binaries, Path folder) throws IOException {
        int port;
        try (ServerSocket free = new ServerSocket(0)) {
            port = free.getLocalPort();
        }
        Files.createDirectories(folder);
        if (root()) {
            Commands.run(List.of("chown", "postgres", folder.toString()));
        }
        OwnServer server = new OwnServer(binaries, folder.resolve("data"), port);
        server.run(
                "initdb",
                "-D",
                server.data.toString(),
                "-U",
                "queen",
                "-A",
                "trust",
                "--encoding=UTF8",
                "--locale=C",
                "--data-checksums");
        Path conf = server.data.resolve("postgresql.conf");
        Files.writeString(
                conf,
                Files.readString(conf) + SETTINGS + (hasStatements(binaries) ? STATEMENTS : ""));
        server.run(
                "pg_ctl",
                "start",
                "-w",
                "-s",
                "-D",
                server.data.toString(),
                "-o",
                "-p " + port,
                "-l",
                folder.resolve("server.log").toString());
        try (Connection connection = DriverManager.getConnection(server.jdbcUrl("postgres"));
                Statement statement = connection.createStatement()) {
            statement.execute("create database queen template template0");
        } catch (SQLException e) {
            server.close();
            throw new IllegalStateException("create database", e);
        }
        return server;
    }

    /** Whether that PostgreSQL can count statements. */
    static boolean hasStatements(Path binaries) {
        String libraries =
                Commands.run(List.of(binaries.resolve("pg_config").toString(), "--pkglibdir"));
        return Files.exists(Path.of(libraries.strip(), "pg_stat_statements.so"));
    }

    private static boolean root() {
        return "root".equals(System.getProperty("user.name"));
    }

    private void run(String program, String... arguments) {
        List<String> command = new ArrayList<>();
        if (root()) {
            command.addAll(List.of("setpriv", "--reuid=postgres", "--clear-groups", "--"));
        }
        command.add(binaries.resolve(program).toString());
        command.addAll(List.of(arguments));
        Commands.run(command);
    }

    long postmaster() throws IOException {
        return Long.parseLong(
                Files.readAllLines(data.resolve("postmaster.pid")).getFirst().strip());
    }

    String jdbcUrl() {
        return jdbcUrl("queen");
    }

    private String jdbcUrl(String database) {
        return "jdbc:postgresql://127.0.0.1:%d/%s?user=queen".formatted(port, database);
    }

    Map<String, String> brokerEnvironment() {
        return Map.of(
                "QUEEN_EMBEDDED", "false",
                "PG_HOST", "127.0.0.1",
                "PG_PORT", Integer.toString(port),
                "PG_DATABASE", "queen",
                "PG_USER", "queen");
    }

    @Override
    public void close() {
        run("pg_ctl", "stop", "-s", "-w", "-m", "fast", "-D", data.toString());
    }
}
