package io.queenmq.doctor;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.db.DatabaseConfig;
import io.queenmq.db.Migrations;
import io.queenmq.doctor.Finding.Level;
import io.queenmq.embedded.EmbeddedPostgres;
import io.queenmq.metrics.Metrics;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.Lines;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * The doctor at a server of its own. Goal: it finds nothing wrong with the one that the broker
 * brings along, and each setting that somebody spoils there; what it says to do is what cures it.
 */
class DoctorFaultTest {
    @TempDir static Path folder;

    private static EmbeddedPostgres server;
    private static DatabaseConfig config;
    private static Connection connection;

    @BeforeAll
    static void start() throws SQLException {
        server = EmbeddedPostgres.start(folder, new Metrics(), Clock.SYSTEM);
        config =
                DatabaseConfig.of(
                        server.host(),
                        server.port(),
                        server.database(),
                        server.user(),
                        server.password());
        connection =
                DriverManager.getConnection(
                        "jdbc:postgresql://%s:%d/%s?user=%s&password=%s"
                                .formatted(
                                        server.host(),
                                        server.port(),
                                        server.database(),
                                        server.user(),
                                        server.password()));
        assertEquals(List.of(), complaints(), "before there are tables");
        new Migrations(config, Clock.SYSTEM).apply();
    }

    @AfterAll
    static void stop() throws SQLException {
        connection.close();
        server.close();
    }

    private static List<Finding> examine() {
        return new Doctor(config, DoctorConfig.DEFAULT, Clock.SYSTEM).examine();
    }

    private static List<Finding> complaints() {
        return examine().stream().filter(finding -> finding.level() != Level.OK).toList();
    }

    private static Finding find(String name) {
        return examine().stream()
                .filter(finding -> finding.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    /** Runs statements and waits until new sessions see what they did. */
    private static void reload(String statements) throws SQLException {
        Lines.lines(connection, statements);
        String before = Lines.line(connection, "select pg_conf_load_time() from pg_reload_conf()");
        Await.until(
                "the server has read its files",
                () -> !Lines.line(connection, "select pg_conf_load_time()").equals(before));
    }

    @AfterEach
    void undo() throws SQLException {
        reload("alter system reset all");
    }

    @Test
    void nothingIsWrongWithTheEmbeddedServer() {
        assertEquals(List.of(), complaints());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            textBlock =
                    """
                    fsync                               | off     | FAIL | fsync
                    full_page_writes                    | off     | FAIL | full_page_writes
                    synchronous_commit                  | off     | FAIL | synchronous_commit
                    autovacuum                          | off     | FAIL | autovacuum
                    track_counts                        | off     | FAIL | autovacuum
                    autovacuum_max_workers              | 1       | WARN | autovacuum
                    autovacuum_naptime                  | 5min    | WARN | autovacuum
                    default_transaction_read_only       | on      | FAIL | takes_writes
                    max_wal_size                        | 64MB    | WARN | max_wal_size
                    checkpoint_timeout                  | 5min    | WARN | checkpoint_timeout
                    checkpoint_completion_target        | 0.5     | WARN | checkpoint_completion_target
                    jit                                 | on      | WARN | jit
                    idle_in_transaction_session_timeout | 0       | WARN | idle_in_transaction_session_timeout
                    idle_session_timeout                | 1h      | WARN | idle_session_timeout
                    statement_timeout                   | 4s      | WARN | statement_timeout
                    lock_timeout                        | 500ms   | WARN | lock_timeout
                    transaction_timeout                 | 20s     | WARN | transaction_timeout
                    """)
    void findsASettingThatSomebodySpoiledAndSaysWhatCuresIt(
            String setting, String value, Level level, String check) throws SQLException {
        assertEquals(Level.OK, find(check).level());
        reload("alter system set " + setting + " = '" + value + "'");
        Finding finding = find(check);
        assertEquals(level, finding.level(), finding.toString());
        assertTrue(finding.advice().contains(setting), finding.toString());
        for (String statement : finding.advice().split("; ", -1)) {
            Lines.lines(connection, statement);
        }
        reload("select");
        Finding cured = find(check);
        assertEquals(Level.OK, cured.level(), cured.toString());
    }

    @Test
    void findsASettingThatWaitsForARestart() throws SQLException {
        reload("alter system set shared_buffers = '99MB'");
        Finding finding = find("pending_restart");
        assertEquals(Level.WARN, finding.level());
        assertTrue(finding.found().contains("shared_buffers"), finding.found());
    }

    @Test
    void findsThatNoStandbyIsThereToWaitFor() throws SQLException {
        reload("alter system set synchronous_standby_names = 'nobody'");
        Finding finding = find("synchronous_standbys");
        assertEquals(Level.FAIL, finding.level());
        assertTrue(finding.found().contains("nobody"), finding.found());
        reload("alter system set synchronous_commit = 'local'");
        assertEquals(Level.WARN, find("synchronous_commit").level());
    }

    @Test
    void findsASlotThatNobodyReads() throws SQLException {
        Lines.lines(connection, "select pg_create_physical_replication_slot('forgotten', true)");
        try {
            Finding finding = find("replication_slots");
            assertEquals(Level.WARN, finding.level());
            assertTrue(finding.found().contains("forgotten (nobody reads it"), finding.found());
            assertTrue(
                    finding.advice().contains("pg_drop_replication_slot('forgotten')"),
                    finding.advice());
        } finally {
            Lines.lines(connection, "select pg_drop_replication_slot('forgotten')");
        }
        assertEquals(Level.OK, find("replication_slots").level());
    }

    /** A standby without a primary: files that are told to follow, and have nobody to follow. */
    @Test
    void aStandbyIsLookedAtAndRefused(@TempDir Path files) throws IOException {
        EmbeddedPostgres.start(files, new Metrics(), Clock.SYSTEM).close();
        Files.createFile(files.resolve("server/standby.signal"));
        try (EmbeddedPostgres standby =
                EmbeddedPostgres.start(files, new Metrics(), Clock.SYSTEM)) {
            DatabaseConfig there =
                    DatabaseConfig.of(
                            standby.host(),
                            standby.port(),
                            standby.database(),
                            standby.user(),
                            standby.password());
            List<Finding> findings =
                    new Doctor(there, DoctorConfig.DEFAULT, Clock.SYSTEM).examine();
            assertEquals(
                    List.of("takes_writes", "broker_connection"),
                    findings.stream()
                            .filter(finding -> finding.level() != Level.OK)
                            .map(Finding::name)
                            .toList(),
                    findings.toString());
            assertTrue(findings.toString().contains("is a standby, on timeline 1"));
        }
    }
}
