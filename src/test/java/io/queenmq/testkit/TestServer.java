package io.queenmq.testkit;

import io.queenmq.db.DatabaseConfig;
import io.queenmq.db.Migrations;
import io.queenmq.embedded.PostgresBinaries;
import io.queenmq.embedded.Unprivileged;
import io.queenmq.runtime.Clock;
import java.io.IOException;
import java.io.UncheckedIOException;
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
import java.util.ServiceLoader;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;

/**
 * The PostgreSQL server of a test run: one real process per JVM, of the version named by {@code
 * -Dqueen.test.postgres} (15 to 18), with a migrated template that databases are cloned from.
 */
public final class TestServer {
    private static final String TEMPLATE = "queen_template";

    private static final List<String> SETTINGS =
            List.of(
                    "fsync=off",
                    "full_page_writes=off",
                    "max_connections=300",
                    "max_prepared_transactions=8",
                    "shared_buffers=128MB");

    private static final TestServer SHARED = start();

    /** Another way to a server, found on the class path: the profile testcontainers has one. */
    public interface Source {
        /**
         * Starts a server with a superuser {@code queen} that needs no password; it ends with this
         * process.
         *
         * @return its port on the loopback address
         */
        int start(String version, List<String> settings);
    }

    private final int port;
    private final AtomicInteger databases = new AtomicInteger();

    private TestServer(int port) {
        this.port = port;
    }

    static TestServer shared() {
        return SHARED;
    }

    int port() {
        return port;
    }

    String url(String database) {
        return "jdbc:postgresql://127.0.0.1:"
                + port
                + "/"
                + database
                + "?user=queen&connectTimeout=30&socketTimeout=150";
    }

    /** A fresh database: a copy of the migrated template, or an empty one. */
    String createDatabase(boolean migrated) {
        String name = "t" + databases.incrementAndGet();
        execute("create database " + name + " template " + (migrated ? TEMPLATE : "template0"));
        return name;
    }

    void dropDatabase(String name) {
        execute("drop database if exists " + name + " with (force)");
    }

    private void execute(String sql) {
        try (Connection connection = DriverManager.getConnection(url("postgres"));
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        } catch (SQLException e) {
            throw new IllegalStateException(sql, e);
        }
    }

    private static TestServer start() {
        String version = TestBinaries.version();
        TestServer server =
                ServiceLoader.load(Source.class)
                        .findFirst()
                        .map(source -> new TestServer(source.start(version, SETTINGS)))
                        .orElseGet(() -> startProcess(version));
        server.execute("create database " + TEMPLATE + " template template0");
        new Migrations(
                        DatabaseConfig.of("127.0.0.1", server.port, TEMPLATE, "queen", ""),
                        Clock.SYSTEM)
                .apply();
        return server;
    }

    private static TestServer startProcess(String version) {
        try {
            PostgresBinaries binaries = TestBinaries.of(version);
            Path data = Files.createTempDirectory("queen-test-");
            Files.setPosixFilePermissions(data, PosixFilePermissions.fromString("rwx------"));
            Unprivileged user = Unprivileged.ownerOf(data);
            run(
                    data,
                    binaries.command(
                            user,
                            "initdb",
                            List.of(
                                    "--pgdata=" + data.resolve("db"),
                                    "--username=queen",
                                    "--auth=trust",
                                    "--encoding=UTF8",
                                    "--locale=C",
                                    "--no-sync")));
            int port = freePort();
            List<String> args =
                    new ArrayList<>(
                            List.of(
                                    "-D",
                                    data.resolve("db").toString(),
                                    "-c",
                                    "port=" + port,
                                    "-c",
                                    "listen_addresses=127.0.0.1",
                                    "-c",
                                    "unix_socket_directories="));
            for (String setting : SETTINGS) {
                args.add("-c");
                args.add(setting);
            }
            Process process =
                    new ProcessBuilder(binaries.command(user, "postgres", args))
                            .redirectErrorStream(true)
                            .redirectOutput(data.resolve("log").toFile())
                            .start();
            Runtime.getRuntime().addShutdownHook(new Thread(() -> stop(process, data)));
            TestServer server = new TestServer(port);
            server.awaitConnections(process);
            return server;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    private void awaitConnections(Process process) throws InterruptedException, IOException {
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (true) {
            try (Connection connection = DriverManager.getConnection(url("postgres"))) {
                connection.isValid(5);
                return;
            } catch (SQLException e) {
                if (!process.isAlive() || System.nanoTime() > deadline) {
                    throw new IOException("PostgreSQL did not start", e);
                }
                process.waitFor(20, TimeUnit.MILLISECONDS);
            }
        }
    }

    private static void run(Path directory, List<String> command)
            throws IOException, InterruptedException {
        Path log = directory.resolve("initdb.log");
        Process process =
                new ProcessBuilder(command)
                        .redirectErrorStream(true)
                        .redirectOutput(log.toFile())
                        .start();
        if (process.waitFor() != 0) {
            throw new IOException(command + " failed:\n" + Files.readString(log));
        }
    }

    private static void stop(Process process, Path data) {
        process.destroyForcibly();
        try {
            process.waitFor(10, TimeUnit.SECONDS);
            try (Stream<Path> files = Files.walk(data)) {
                files.sorted(Comparator.reverseOrder()).forEach(p -> p.toFile().delete());
            }
        } catch (IOException e) {
            // A folder under /tmp that could not be removed fails no test.
            System.err.println("left behind: " + data + " (" + e.getMessage() + ")");
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }
}
