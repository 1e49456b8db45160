package io.queenmq.group;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class GroupProceduresTest {
    private static TestDatabase database;

    private Connection connection;
    private LogFixture log;
    private String name;
    private int queue;

    @BeforeAll
    static void create() {
        database = TestDatabase.migrated();
    }

    @AfterAll
    static void drop() {
        database.close();
    }

    @BeforeEach
    void setUp() throws SQLException {
        connection = database.connect();
        log = new LogFixture(connection);
        name = "orders-" + UUID.randomUUID();
        queue = log.queue(name);
    }

    @AfterEach
    void close() throws SQLException {
        connection.close();
    }

    private record Registered(
            String verdict,
            @Nullable Integer groupId,
            @Nullable String rule,
            @Nullable Instant at) {}

    private Registered register(
            LogFixture on, String queueName, String group, @Nullable String rule, boolean create)
            throws SQLException {
        return register(on, queueName, group, rule, null, create);
    }

    private static Registered register(
            LogFixture on,
            String queueName,
            String group,
            @Nullable String rule,
            @Nullable Instant at,
            boolean create)
            throws SQLException {
        @Nullable Object[] row =
                on.rows(
                                "select verdict, group_id, start_rule, start_at from"
                                        + " queen_store.register_group(?, ?, ?, ?,"
                                        + " ?::text::timestamptz, ?)",
                                LogFixture.TENANT,
                                queueName,
                                group,
                                rule,
                                at == null ? null : at.toString(),
                                create)
                        .getFirst();
        return new Registered(
                String.valueOf(row[0]),
                (Integer) row[1],
                (String) row[2],
                row[3] == null ? null : ((Timestamp) row[3]).toInstant());
    }

    @Test
    @Contract("pop-first-1")
    void theFirstRegistrationWins() throws SQLException {
        Registered first = register(log, name, "g", "all", false);
        assertEquals("ready", first.verdict());
        assertEquals("all", first.rule());
        assertEquals(first, register(log, name, "g", "new", false));
    }

    @Test
    void newStoresTheInstantOfTheCall() throws SQLException {
        Instant before = now();
        Registered registered = register(log, name, "g", "new", false);
        assertEquals("instant", registered.rule());
        Instant at = registered.at();
        assertNotNull(at);
        assertFalse(at.isBefore(before));
        assertFalse(at.isAfter(now()));
    }

    @Test
    void anInstantIsStoredAsGiven() throws SQLException {
        Instant at = Instant.parse("2024-05-06T07:08:09.123456Z");
        assertEquals(at, register(log, name, "g", "instant", at, false).at());
    }

    @Test
    @Contract("model-7")
    void queueModeAlwaysBeginsAtTheOldest() throws SQLException {
        Registered registered = register(log, name, "__QUEUE_MODE__", "new", false);
        assertEquals("all", registered.rule());
        assertNull(registered.at());
    }

    @Test
    @Contract("pop-first-6")
    void withoutARuleOnlyTheRowIsMadeAndALaterRuleRegistersIt() throws SQLException {
        Registered bare = register(log, name, "g", null, false);
        assertEquals("ready", bare.verdict());
        assertNull(bare.rule());
        Registered registered = register(log, name, "g", "all", false);
        assertEquals(bare.groupId(), registered.groupId());
        assertEquals("all", registered.rule());
    }

    @Test
    @Contract("pop-conflate-1")
    void conflationIsStoredWithTheRuleAndNeverWithoutOne() throws SQLException {
        register(log, name, "bare", null, false);
        assertEquals(List.of("null"), conflation("bare", null, true));
        assertEquals(List.of("true"), conflation("bare", "all", true));
        assertEquals(List.of("true"), conflation("bare", "all", false));
        assertEquals(List.of("false"), conflation("plain", "new", false));
        assertEquals(List.of("false"), conflation("plain", "new", true));
        assertEquals(List.of("false"), conflation("__QUEUE_MODE__", "all", true));
    }

    private List<String> conflation(String group, @Nullable String rule, boolean asked)
            throws SQLException {
        return log
                .rows(
                        "select conflation from queen_store.register_group(?, ?, ?, ?, null, false, ?)",
                        LogFixture.TENANT,
                        name,
                        group,
                        rule,
                        asked)
                .stream()
                .map(row -> String.valueOf(row[0]))
                .toList();
    }

    @Test
    void anUnknownQueueIsMadeOnlyWhenAsked() throws SQLException {
        String unknown = "a.b-" + UUID.randomUUID();
        assertEquals("unknown_queue", register(log, unknown, "g", "all", false).verdict());
        assertEquals("ready", register(log, unknown, "g", "all", true).verdict());
        assertEquals(
                "a", log.value("select namespace from queen_store.queues where name = ?", unknown));
    }

    @Test
    void aRegistrationUnderWayIsBusy() throws SQLException {
        try (Connection other = database.connect()) {
            other.setAutoCommit(false);
            assertEquals(
                    "ready", register(new LogFixture(other), name, "g", "new", false).verdict());
            assertEquals("busy", register(log, name, "g", "all", false).verdict());
            other.commit();
            assertEquals("instant", register(log, name, "g", "all", false).rule());
        }
    }

    @Test
    @Contract("pop-first-3")
    void newNeverSkipsAMessageOfATransactionThatIsStillOpen() throws SQLException {
        long lane = log.lane(queue);
        log.fill(lane, 1, 2);
        try (Connection writer = database.connect()) {
            writer.setAutoCommit(false);
            new LogFixture(writer).append(lane, "late");
            int group = groupOf(register(log, name, "g", "new", false));
            writer.commit();
            assertEquals(1, effective(lane, group));
        }
    }

    @Test
    @Contract("pop-first-3")
    void newSkipsWhatWasAcknowledgedBefore() throws SQLException {
        long lane = log.lane(queue);
        log.fill(lane, 3, 2);
        int group = groupOf(register(log, name, "g", "new", false));
        assertEquals(5, effective(lane, group));
        log.fill(lane, 1, 2);
        assertEquals(5, effective(lane, group));
    }

    @Test
    @Contract("pop-first-3")
    void anOldTransactionHoldsTheInstantBackAtMostTenMinutes() throws SQLException {
        try (Connection prepared = database.connect()) {
            prepared.setAutoCommit(false);
            LogFixture on = new LogFixture(prepared);
            on.append(on.lane(queue), "held");
            on.run("prepare transaction 'held'");
            prepared.setAutoCommit(true);
            Instant before = now();
            Instant at = register(log, name, "g", "new", false).at();
            assertNotNull(at);
            assertFalse(at.isBefore(before.minusSeconds(600)));
            assertTrue(at.isBefore(before.minusSeconds(590)));
            Timestamp oldest = (Timestamp) log.value("select queen_store.oldest_writer()");
            assertEquals(
                    oldest,
                    log.value("select prepared - interval '10 minutes' from pg_prepared_xacts"));
            on.run("rollback prepared 'held'");
        }
    }

    @Test
    void theOldestWriterIsTheOldestTransactionWithARowLockOnLanes() throws SQLException {
        assertNull(log.rows("select queen_store.oldest_writer()").getFirst()[0]);
        long lane = log.lane(queue);
        try (Connection writer = database.connect()) {
            writer.setAutoCommit(false);
            LogFixture on = new LogFixture(writer);
            Timestamp begun = (Timestamp) on.value("select now()");
            on.append(lane, "m");
            assertEquals(begun, log.value("select queen_store.oldest_writer()"));
            writer.rollback();
        }
        assertNull(log.rows("select queen_store.oldest_writer()").getFirst()[0]);
    }

    @Test
    @Contract("pop-first-4")
    void bisectionFindsTheLastMessageBeforeAnInstant() throws SQLException {
        long lane = log.lane(queue);
        log.fill(lane, 50, 3);
        // Segment k holds offsets 3k to 3k+2, created k minutes after midnight.
        log.run(
                "update queen_store.segments set created_at = timestamptz '2024-01-01 00:00Z' +"
                        + " base_offset / 3 * interval '1 minute' where partition_id = ?",
                lane);
        for (int minute = 0; minute <= 50; minute++) {
            int group =
                    log.group(
                            queue,
                            "at" + minute,
                            "instant",
                            Instant.parse("2024-01-01T00:00:00Z").plusSeconds(minute * 60L));
            assertEquals(3L * minute - 1, effective(lane, group));
        }
        int between = log.group(queue, "between", "instant", Instant.parse("2024-01-01T00:07:30Z"));
        assertEquals(23, effective(lane, between));
    }

    @Test
    void bisectionToleratesHolesAndStopsAtTheLogStart() throws SQLException {
        long lane = log.lane(queue);
        log.fill(lane, 20, 5);
        log.run(
                "update queen_store.segments set created_at = timestamptz '2024-01-01 00:00Z' +"
                        + " base_offset / 5 * interval '1 minute' where partition_id = ?",
                lane);
        log.run(
                "delete from queen_store.segments where partition_id = ? and (base_offset < 10 or"
                        + " base_offset between 30 and 64)",
                lane);
        log.run("update queen_store.partitions set log_start = 10 where id = ?", lane);
        assertEquals(9, effective(lane, at("early", "2023-01-01T00:00:00Z")));
        assertEquals(29, effective(lane, at("inHole", "2024-01-01T00:08:00Z")));
        assertEquals(69, effective(lane, at("behindHole", "2024-01-01T00:14:00Z")));
        assertEquals(99, effective(lane, at("late", "2024-01-01T01:00:00Z")));
        assertEquals(9, effective(lane, log.group(queue, "all", "all", null)));
    }

    @Test
    void aLaneQuietSinceTheInstantCountsAsConsumed() throws SQLException {
        long lane = log.lane(queue);
        log.fill(lane, 2, 2);
        log.run(
                "update queen_store.partitions set last_write_at = clock_timestamp() - interval '1"
                        + " hour' where id = ?",
                lane);
        assertEquals(3, effective(lane, log.group(queue, "g", "instant", now())));
    }

    @Test
    void theCursorRowWinsIfItIsOfTheCurrentGeneration() throws SQLException {
        long lane = log.lane(queue);
        log.fill(lane, 1, 9);
        int group = log.group(queue);
        log.cursor(lane, group, 4);
        assertEquals(4, effective(lane, group));
        log.run("update queen_store.groups set generation = 2 where id = ?", group);
        assertEquals(-1, effective(lane, group));
    }

    @Test
    void aSeekWinsOverTheStart() throws SQLException {
        long lane = log.lane(queue);
        log.fill(lane, 1, 9);
        int group = log.group(queue);
        log.run(
                "update queen_store.groups set generation = 2, seek_rule = 'instant', seek_at ="
                        + " clock_timestamp() where id = ?",
                group);
        assertEquals(8, effective(lane, group));
    }

    @Test
    void anUnregisteredGroupIsNowhere() throws SQLException {
        long lane = log.lane(queue);
        log.fill(lane, 1, 1);
        int group = log.group(queue, "g", null, null);
        assertNull(
                log.rows("select queen_store.effective_cursor(?, ?)", lane, group).getFirst()[0]);
    }

    @Test
    void consumptionIsStampedOnce() throws SQLException {
        int group = log.group(queue);
        assertEquals(1, log.value("select queen_store.mark_consumed(array[?::integer])", group));
        assertEquals(0, log.value("select queen_store.mark_consumed(array[?::integer])", group));
    }

    @Test
    void consumptionIsNotStampedWhileSomebodyHoldsTheGroup() throws SQLException {
        int group = log.group(queue);
        try (Connection other = database.connect()) {
            other.setAutoCommit(false);
            new LogFixture(other)
                    .rows("select from queen_store.groups where id = ? for no key update", group);
            assertEquals(
                    0, log.value("select queen_store.mark_consumed(array[?::integer])", group));
            other.rollback();
        }
    }

    private int at(String group, String instant) throws SQLException {
        return log.group(queue, group, "instant", Instant.parse(instant));
    }

    private static int groupOf(Registered registered) {
        Integer id = registered.groupId();
        assertNotNull(id);
        return id;
    }

    private long effective(long lane, int group) throws SQLException {
        return (long) log.value("select queen_store.effective_cursor(?, ?)", lane, group);
    }

    private Instant now() throws SQLException {
        return ((Timestamp) log.value("select clock_timestamp()")).toInstant();
    }
}
