package io.queenmq.doctor;

import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.db.DatabaseConfig;
import io.queenmq.doctor.Finding.Level;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.Pooler;
import io.queenmq.testkit.TestDatabase;
import java.io.IOException;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the doctor sees in a database, on every version; nothing is too young to be told. */
class DoctorProceduresTest {
    private static final DoctorConfig AT_ONCE =
            new DoctorConfig(Duration.ZERO, Duration.ZERO, Duration.ofSeconds(1));

    private TestDatabase database;
    private Connection connection;

    @BeforeEach
    void start() throws SQLException {
        database = TestDatabase.migrated();
        connection = database.connect();
    }

    @AfterEach
    void close() throws SQLException {
        connection.close();
        database.close();
    }

    private static List<Finding> examine(DatabaseConfig config, DoctorConfig bounds, Clock clock) {
        return new Doctor(config, bounds, clock).examine();
    }

    private static Finding find(List<Finding> findings, String name) {
        return findings.stream().filter(f -> f.name().equals(name)).findFirst().orElseThrow();
    }

    private Finding find(String name) {
        return find(examine(database.config(), AT_ONCE, Clock.SYSTEM), name);
    }

    private static void assertFound(Level level, String found, String advice, Finding finding) {
        assertEquals(level, finding.level(), finding.toString());
        assertTrue(finding.found().contains(found), finding.toString());
        assertTrue(finding.advice().contains(advice), finding.toString());
    }

    @Test
    void everyCheckHasANameOfItsOwnAndAnAnswer() {
        List<Finding> findings = examine(database.config(), DoctorConfig.DEFAULT, Clock.SYSTEM);
        HashSet<String> names = new HashSet<>();
        for (Finding finding : findings) {
            assertTrue(names.add(finding.name()), finding.name() + " twice");
            assertFalse(finding.found().contains("cannot be looked at"), finding.toString());
            assertFalse(finding.found().isBlank() || finding.found().contains("\n"));
            assertEquals(
                    finding.level() != Level.OK,
                    finding.level() != Level.OK && !finding.advice().isEmpty(),
                    "no advice: " + finding);
        }
    }

    @Test
    void aDatabaseWithoutTablesIsLookedAtToo() {
        try (TestDatabase empty = TestDatabase.empty()) {
            for (Finding finding : examine(empty.config(), DoctorConfig.DEFAULT, Clock.SYSTEM)) {
                assertFalse(finding.found().contains("cannot be looked at"), finding.toString());
            }
        }
    }

    @Test
    void whereASettingWasGivenThereItIsTakenBack() throws SQLException {
        assertFound(
                Level.FAIL,
                "off",
                "start the server with fsync = on: its command line says otherwise",
                find("fsync"));
        lines(connection, "alter database " + database.name() + " set synchronous_commit = off");
        assertFound(
                Level.FAIL,
                "off",
                "alter database " + database.name() + " reset synchronous_commit",
                find("synchronous_commit"));
    }

    @Test
    void aRoleWithoutRightsIsToldWhatToGrant() throws SQLException {
        String role = "visitor_" + database.name();
        lines(connection, "create role " + role + " login");
        try {
            DatabaseConfig config =
                    DatabaseConfig.of(database.host(), database.port(), database.name(), role, "");
            List<Finding> findings = examine(config, AT_ONCE, Clock.SYSTEM);
            assertFound(
                    Level.WARN,
                    "does not see",
                    "grant pg_read_all_stats to " + role,
                    find(findings, "right_to_read_all_stats"));
            assertFound(
                    Level.FAIL,
                    "belong to queen",
                    "grant queen to " + role,
                    find(findings, "right_to_create"));
            assertFound(Level.WARN, "cannot be looked at", "", find(findings, "held_lanes"));
            assertEquals(Level.OK, find(findings, "terminate").level());

            lines(connection, "alter role " + role + " connection limit 9");
            assertFound(
                    Level.FAIL,
                    "the role may have 9",
                    "alter role " + role + " connection limit -1",
                    find(examine(config, DoctorConfig.DEFAULT, Clock.SYSTEM), "max_connections"));
        } finally {
            lines(connection, "drop role " + role);
        }
        try (TestDatabase empty = TestDatabase.empty();
                Connection owner = empty.connect()) {
            lines(owner, "create role " + role + " login");
            DatabaseConfig config =
                    DatabaseConfig.of(empty.host(), empty.port(), empty.name(), role, "");
            assertFound(
                    Level.FAIL,
                    "no schema",
                    "grant create on database " + empty.name() + " to " + role,
                    find(examine(config, AT_ONCE, Clock.SYSTEM), "right_to_create"));
            lines(owner, "drop role " + role);
        }
    }

    @Test
    void connectionsHaveToFit() {
        assertEquals(Level.OK, find("max_connections").level());
        assertFound(
                Level.FAIL,
                "a broker takes up to 507",
                "DB_POOL_SIZE=",
                find(
                        examine(database.config().withPoolSize(500), AT_ONCE, Clock.SYSTEM),
                        "max_connections"));
    }

    @Test
    void connectionsHaveToFitBesideThoseOfOthers() throws SQLException {
        List<Connection> others = new ArrayList<>();
        try {
            for (int i = 0; i < 12; i++) {
                others.add(database.connect());
            }
            DatabaseConfig large = database.config().withPoolSize(285);
            assertFound(
                    Level.WARN,
                    "a broker takes up to 292: that does not fit beside what is there",
                    "a smaller DB_POOL_SIZE",
                    find(examine(large, AT_ONCE, Clock.SYSTEM), "max_connections"));
            others.add(
                    DriverManager.getConnection(
                            database.url() + "&ApplicationName=queen-0000000a-1"));
            assertFound(
                    Level.OK,
                    "of them by brokers",
                    "",
                    find(examine(large, AT_ONCE, Clock.SYSTEM), "max_connections"));
        } finally {
            for (Connection other : others) {
                other.close();
            }
        }
    }

    @Test
    void whoHoldsALaneAndTheHorizonIsNamed() throws SQLException {
        LogFixture log = new LogFixture(connection);
        long lane = log.lane(log.queue("orders"));
        assertEquals(Level.OK, find("held_lanes").level());
        try (Connection holder = database.connect()) {
            holder.setAutoCommit(false);
            lines(holder, "set application_name = 'nightly report'");
            lines(
                    holder,
                    "select from queen_store.partitions where id = " + lane + " for no key update");
            String pid = lines(holder, "select pg_backend_pid()").getFirst();
            assertFound(
                    Level.WARN,
                    "by pid " + pid + " (nightly report)",
                    "select pg_terminate_backend(" + pid + ")",
                    find("held_lanes"));
            assertFound(
                    Level.WARN,
                    "pid " + pid + " (nightly report)",
                    "select pg_terminate_backend(" + pid + ")",
                    find("xmin_horizon"));
            Finding soon =
                    find(
                            examine(database.config(), DoctorConfig.DEFAULT, Clock.SYSTEM),
                            "xmin_horizon");
            assertEquals(Level.OK, soon.level(), soon.toString());
            lines(holder, "prepare transaction 'left over " + database.name() + "'");
        }
        String gid = "left over " + database.name();
        try {
            assertFound(
                    Level.WARN, gid, "rollback prepared '" + gid, find("prepared_transactions"));
            assertFound(Level.WARN, gid, "rollback prepared '" + gid, find("xmin_horizon"));
            assertFound(Level.WARN, gid, "rollback prepared '" + gid, find("held_lanes"));
        } finally {
            lines(connection, "rollback prepared '" + gid + "'");
        }
        assertEquals(Level.OK, find("prepared_transactions").level());
        assertEquals(Level.OK, find("held_lanes").level());
    }

    @Test
    void anEpochThatWaitsSaysForWhom() throws SQLException {
        assertEquals(Level.OK, find("epochs").level());
        try (Connection reader = database.connect()) {
            reader.setAutoCommit(false);
            lines(reader, "set application_name = 'browser'");
            lines(reader, "select count(*) from queen_store.segments");
            lines(connection, "select queen_store.build_epoch(1, clock_timestamp())");
            lines(connection, "select queen_store.open_epoch(clock_timestamp())");
            assertFound(Level.WARN, "epoch 2, built, waits for pid", "space.md", find("epochs"));
            assertTrue(find("epochs").found().contains("(browser)"));
        }
        lines(connection, "select queen_store.open_epoch(clock_timestamp())");
        assertEquals(Level.OK, find("epochs").level());
    }

    @Test
    void aJobThatIsPausedOrFailedIsNamed() throws SQLException {
        lines(connection, "select queen_store.register_jobs(array['epochs'], array[10000])");
        assertEquals(Level.OK, find("jobs").level());
        lines(connection, "update queen_store.jobs set last_error = 'it is broken'");
        assertFound(Level.WARN, "epochs failed: it is broken", "log", find("jobs"));
        lines(connection, "update queen_store.jobs set enabled = false");
        assertFound(
                Level.WARN,
                "epochs is paused",
                "update queen_store.jobs set enabled = true where name = 'epochs'",
                find("jobs"));
    }

    @Test
    void tablesThatLostTheirSettingsAreNamedAndCured() throws SQLException {
        assertEquals(Level.OK, find("hot_tables").level());
        lines(connection, "alter table queen_store.cursors set (autovacuum_enabled = off)");
        assertFound(
                Level.WARN, "queen_store.cursors", "alter table queen_store", find("hot_tables"));
        lines(
                connection,
                "alter table queen_store.partitions reset (autovacuum_vacuum_scale_factor)");
        lines(connection, find("hot_tables").advice());
        lines(connection, find("hot_tables").advice());
        assertEquals(Level.OK, find("hot_tables").level());
    }

    @Test
    void deadRowsThatVacuumLeavesAreCounted() throws SQLException {
        assertEquals(Level.OK, find("dead_rows").level());
        lines(
                connection,
                "alter table queen_store.dead_letters set (autovacuum_enabled = off);"
                        + " insert into queen_store.dead_letters (queue_id, partition_id, group_name,"
                        + " \"offset\", message_id, transaction_id, key, flags, error) select 1, 1,"
                        + " 'g', n, gen_random_uuid(), '', '', 0, '' from generate_series(1, 10001)"
                        + " n");
        lines(connection, "delete from queen_store.dead_letters");
        lines(connection, "select pg_stat_force_next_flush(); select 1");
        assertFound(
                Level.WARN,
                "queen_store.dead_letters has 10001",
                "vacuum queen_store.dead_letters",
                find("dead_rows"));
    }

    @Test
    void anotherCorpusIsComparedWithOurs() throws SQLException {
        assertEquals(Level.OK, find("corpus").level());
        lines(connection, "update queen_store.corpus set number = 0");
        assertFound(Level.WARN, "0, behind", "it migrates", find("corpus"));
        lines(connection, "update queen_store.corpus set number = 999");
        assertFound(Level.OK, "999, ahead", "", find("corpus"));
        lines(connection, "update queen_store.corpus set compatible_from = 998");
        assertFound(Level.FAIL, "brokers from 998 on", "newer version", find("corpus"));
    }

    @Test
    void anotherEncodingIsRefused() throws SQLException {
        String name = database.name() + "_ascii";
        lines(connection, "create database " + name + " encoding 'SQL_ASCII' template template0");
        try {
            DatabaseConfig config =
                    DatabaseConfig.of(database.host(), database.port(), name, database.user(), "");
            assertFound(
                    Level.FAIL,
                    "SQL_ASCII",
                    "create database",
                    find(examine(config, AT_ONCE, Clock.SYSTEM), "encoding"));
        } finally {
            lines(connection, "drop database " + name);
        }
    }

    @Test
    void aProxyIsSeenThroughAndOneThatPoolsTransactionsIsRefused() throws IOException {
        assertEquals(Level.OK, find("pooling").level());
        try (Pooler transactions = new Pooler(database.port(), Pooler.Mode.TRANSACTION)) {
            List<Finding> findings = examine(over(transactions), AT_ONCE, Clock.SYSTEM);
            assertFound(
                    Level.FAIL,
                    "a proxy pools transactions",
                    "pool_mode = session",
                    find(findings, "pooling"));
            assertFound(Level.WARN, "cannot be tried", "directly", find(findings, "terminate"));
            assertEquals(Level.OK, find(findings, "held_lanes").level(), "the rest is looked at");
        }
        try (Pooler sessions = new Pooler(database.port(), Pooler.Mode.SESSION)) {
            assertFound(
                    Level.WARN,
                    "hides the process ids",
                    "connect directly",
                    find(examine(over(sessions), AT_ONCE, Clock.SYSTEM), "pooling"));
        }
    }

    private DatabaseConfig over(Pooler pooler) {
        return DatabaseConfig.of(
                database.host(), pooler.port(), database.name(), database.user(), "");
    }

    @Test
    void clocksThatDifferAreSeen() {
        assertEquals(Level.OK, find("clock").level());
        Clock late =
                new Clock() {
                    @Override
                    public Instant now() {
                        return Clock.SYSTEM.now().minusSeconds(90);
                    }

                    @Override
                    public long nanos() {
                        return Clock.SYSTEM.nanos();
                    }
                };
        assertFound(
                Level.WARN,
                "ms ahead",
                "synchronize",
                find(examine(database.config(), AT_ONCE, late), "clock"));
    }
}
