package io.queenmq.embedded;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.metrics.Metrics;
import io.queenmq.runtime.Clock;
import io.queenmq.runtime.StartRefused;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.LogCapture;
import io.queenmq.testkit.TestDatabase;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The embedded server with real processes. Goal: it is as durable as any PostgreSQL, and neither
 * kill -9 of the broker nor of the server itself needs a human.
 */
class EmbeddedPostgresFaultTest {
    private static final String ENDLESS = "do 'begin loop perform 1; end loop; end'";

    private final Metrics metrics = new Metrics();

    private EmbeddedPostgres start(Path folder) {
        return EmbeddedPostgres.start(folder, metrics, Clock.SYSTEM);
    }

    private static Connection connect(EmbeddedPostgres server, String password)
            throws SQLException {
        return DriverManager.getConnection(
                "jdbc:postgresql://%s:%d/%s?user=%s&password=%s"
                        .formatted(
                                server.host(),
                                server.port(),
                                server.database(),
                                server.user(),
                                password));
    }

    private static Connection connect(EmbeddedPostgres server) throws SQLException {
        return connect(server, server.password());
    }

    private static @Nullable Object one(Connection connection, String sql) throws SQLException {
        return TestDatabase.rows(connection, sql).getFirst()[0];
    }

    private static ProcessHandle postmaster(Path folder) throws IOException {
        return ProcessHandle.of(
                        Long.parseLong(
                                Files.readAllLines(folder.resolve("server/postmaster.pid"))
                                        .getFirst()))
                .orElseThrow();
    }

    @Test
    void losesNothingAndSurvivesItself(@TempDir Path parent) throws Exception {
        Path folder = parent.resolve("it's a folder");
        long first;
        int port;
        try (EmbeddedPostgres server = start(folder)) {
            port = server.port();
            assertEquals(
                    "PGPASSFILE='%s/it'\\''s a folder/pgpass' psql -h 127.0.0.1 -p %d -U queen queen"
                            .formatted(parent, port),
                    server.psqlCommand());
            first = postmaster(folder).pid();
            try (Connection connection = connect(server);
                    Statement statement = connection.createStatement()) {
                assertEquals("on", one(connection, "show fsync"));
                assertEquals("on", one(connection, "show synchronous_commit"));
                assertEquals("on", one(connection, "show full_page_writes"));
                assertEquals("127.0.0.1", one(connection, "show listen_addresses"));
                assertEquals("UTF8", one(connection, "show server_encoding"));
                statement.execute("create table kept (id integer)");
                statement.execute("insert into kept values (1)");
            }
            assertThrows(SQLException.class, () -> connect(server, "guess"));
            assertEquals(
                    Optional.of(new RunningServer(port, server.password())),
                    RunningServer.in(folder));
            assertEquals(
                    "rw-------",
                    PosixFilePermissions.toString(
                            Files.getPosixFilePermissions(folder.resolve("pgpass"))));
            String refusal =
                    String.valueOf(
                            assertThrows(StartRefused.class, () -> start(folder)).getMessage());
            assertTrue(refusal.contains("uses the data folder " + folder), refusal);
            assertTrue(refusal.contains("(pid " + ProcessHandle.current().pid() + ")"), refusal);

            // A backend that computes does not notice, and holds the memory of the dead server.
            try (LogCapture log = new LogCapture();
                    Connection busy = connect(server);
                    Connection watch = connect(server)) {
                Thread computing =
                        Thread.ofVirtual()
                                .start(
                                        () ->
                                                assertThrows(
                                                        SQLException.class,
                                                        () ->
                                                                busy.createStatement()
                                                                        .execute(ENDLESS)));
                Await.until(
                        "a query under way",
                        () ->
                                Long.valueOf(1)
                                        .equals(
                                                one(
                                                        watch,
                                                        "select count(*) from pg_stat_activity"
                                                                + " where state = 'active' and query"
                                                                + " like 'do %'")));
                postmaster(folder).destroyForcibly();
                try (Connection connection = awaitConnection(server)) {
                    assertEquals(1, one(connection, "select id from kept"));
                }
                computing.join();
                Await.until(
                        "the line that it is back",
                        () -> log.text().contains("embedded PostgreSQL is back port=" + port));
                String said = log.text();
                assertFalse(said.contains("\tat io.queenmq"), said);
                assertFalse(said.contains("lock file"), said);
            }
            assertNotEquals(first, postmaster(folder).pid());
        }
        assertFalse(Files.exists(folder.resolve("server/postmaster.pid")));
        assertEquals(Optional.empty(), RunningServer.in(folder));

        try (EmbeddedPostgres again = start(folder);
                Connection connection = connect(again)) {
            assertEquals(port, again.port());
            assertEquals(1, one(connection, "select id from kept"));
        }
    }

    /** Waits for a server that is coming back. */
    private static Connection awaitConnection(EmbeddedPostgres server) throws Exception {
        AtomicReference<Connection> connection = new AtomicReference<>();
        Await.until(
                "a connection",
                () -> {
                    try {
                        connection.set(connect(server));
                        return true;
                    } catch (SQLException e) {
                        return false;
                    }
                });
        return connection.get();
    }

    /**
     * A number is given again: to whatever runs first where a container starts anew. A server would
     * take that for one of its own.
     */
    @Test
    void startsThoughTheNumberOfADeadServerIsSomebodyElses(@TempDir Path folder) throws Exception {
        Path file = folder.resolve("server/postmaster.pid");
        List<String> lines;
        try (EmbeddedPostgres server = start(folder)) {
            lines = Files.readAllLines(file);
            assertEquals(folder + "/server", lines.get(1));
            assertTrue(server.port() > 0);
        }
        Process somebody = new ProcessBuilder("cat").start();
        try {
            lines.set(0, Long.toString(somebody.pid()));
            Files.write(file, lines);
            try (EmbeddedPostgres again = start(folder);
                    Connection connection = connect(again)) {
                assertEquals(1, one(connection, "select 1"));
            }
            assertTrue(somebody.isAlive());
        } finally {
            somebody.destroyForcibly();
        }
    }

    /** What earlier starts said misleads whoever reads why this one failed. */
    @Test
    void aStartThatFailsSaysWhatItSaidItself(@TempDir Path folder) throws Exception {
        try (EmbeddedPostgres server = start(folder)) {
            Files.writeString(folder.resolve("server/start.log"), "said long ago\n");
            assertTrue(server.port() > 0);
        }
        Files.writeString(folder.resolve("server/postgresql.conf"), "no_such_setting = 1\n");
        String said = refusal(folder);
        assertTrue(said.contains("no_such_setting"), said);
        assertFalse(said.contains("said long ago"), said);
    }

    @Test
    void takesOverFromABrokerThatWasKilled(@TempDir Path folder) throws Exception {
        Process broker =
                new ProcessBuilder(
                                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                                "-XX:+UseSerialGC",
                                "-cp",
                                System.getProperty("java.class.path"),
                                KilledBroker.class.getName(),
                                folder.toString())
                        .redirectError(ProcessBuilder.Redirect.INHERIT)
                        .start();
        assertEquals("started", broker.inputReader().readLine());
        ProcessHandle orphan = postmaster(folder);
        broker.destroyForcibly().waitFor();
        assertTrue(orphan.isAlive());
        try (EmbeddedPostgres successor = start(folder);
                Connection connection = connect(successor)) {
            assertEquals(1, one(connection, "select 1"));
            // Its pid file goes a moment before the process does.
            orphan.onExit().get(30, TimeUnit.SECONDS);
        }
    }

    /** The server reads its files for {@code pg_file_settings}, and says what it would refuse. */
    @Test
    void acceptsWhatItIsToldOnMachinesOfAnySize(@TempDir Path folder) throws Exception {
        try (EmbeddedPostgres server = start(folder);
                Connection connection = connect(server)) {
            for (Machine machine : ServerSettingsTest.MACHINES) {
                Files.writeString(
                        folder.resolve("server/queen.conf"), ServerSettings.render(machine));
                // What needs a restart to change has been understood.
                assertEquals(
                        0L,
                        one(
                                connection,
                                "select count(*) from pg_file_settings where error is not null and"
                                        + " not (name in ('shared_buffers', 'wal_buffers') and"
                                        + " error = 'setting could not be applied')"),
                        machine.toString());
            }
            Files.writeString(folder.resolve("server/queen.conf"), "wal_compression = lz4\n");
            assertEquals(
                    1L,
                    one(
                            connection,
                            "select count(*) from pg_file_settings where name = 'wal_compression'"
                                    + " and error is not null"),
                    "the bundled build has no lz4");
        }
    }

    /** Runs in a process of its own, to be killed. */
    static final class KilledBroker {
        private KilledBroker() {}

        public static void main(String[] args) throws InterruptedException {
            EmbeddedPostgres server =
                    EmbeddedPostgres.start(Path.of(args[0]), new Metrics(), Clock.SYSTEM);
            System.out.println("started");
            Thread.currentThread().join();
            server.close();
        }
    }

    /** A full disk is one line of twenty. */
    @Test
    void ofWhatAProgramTellsTheErrorsAreRepeated() {
        String full = "running bootstrap script ... FATAL:  could not write: No space left";
        assertEquals(
                full,
                EmbeddedPostgres.complaint(
                        "creating subdirectories ... ok\n" + full + "\nchild process exited\n"));
        assertEquals("unshare: no", EmbeddedPostgres.complaint("unshare: no\n"));
    }

    @Test
    void refusesFilesOfAnotherVersion(@TempDir Path folder) throws IOException {
        Files.createDirectory(folder.resolve("server"));
        Files.writeString(folder.resolve("server/PG_VERSION"), "16\n");
        String refusal =
                String.valueOf(assertThrows(StartRefused.class, () -> start(folder)).getMessage());
        assertTrue(refusal.contains("was written by PostgreSQL 16"), refusal);
    }

    @Test
    void rootRunsItAsTheOwnerOfItsFiles(@TempDir Path folder) throws IOException {
        boolean root = "root".equals(System.getProperty("user.name"));
        if (root) {
            Files.setOwner(
                    folder,
                    folder.getFileSystem()
                            .getUserPrincipalLookupService()
                            .lookupPrincipalByName("nobody"));
        }
        String owner = root ? "nobody" : System.getProperty("user.name");
        assertEquals(owner, Unprivileged.others(folder).getFirst());
    }

    private String refusal(Path folder) {
        return String.valueOf(assertThrows(StartRefused.class, () -> start(folder)).getMessage());
    }

    /** Whatever is wrong with the folder: a sentence for the operator, and nothing left behind. */
    @Test
    void saysWhyItCannotUseAFolder(@TempDir Path folder) throws IOException {
        Path file = Files.createFile(folder.resolve("file"));
        assertEquals(
                "cannot use the data folder " + file + ": " + file + " is no folder",
                refusal(file));

        Path empty = folder.resolve("empty");
        Path server = Files.createDirectories(empty.resolve("server"));
        assertEquals(
                "cannot use the files of PostgreSQL in %1$s: %1$s/PG_VERSION is not there"
                        .formatted(server),
                refusal(empty));

        Path odd = folder.resolve("pgpass-is-a-folder");
        Files.createDirectories(odd.resolve("pgpass"));
        String said = refusal(odd);
        assertTrue(said.startsWith("cannot use the data folder " + odd), said);

        // What is there already cannot be replaced: so ends an unpacking on a disk that is full.
        Path blocked = Files.createDirectory(folder.resolve("blocked"));
        Files.createFile(blocked.resolve("postgresql-18"));
        said = refusal(blocked);
        assertTrue(said.startsWith("cannot use the data folder " + blocked), said);
        try (Stream<Path> left = Files.list(blocked)) {
            assertEquals(
                    List.of(), left.filter(path -> path.toString().contains("unpacking")).toList());
        }
    }
}
