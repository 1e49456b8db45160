package io.queenmq.maintain;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * What a job reads follows what it has to do, not how much is stored, whatever the planner knew
 * when the statements were planned. Method: a session plans every statement while the tables are
 * empty; then 200,000 lanes of 1,000 queues appear, of which 100 have something due; then the same
 * session's calls are explained.
 */
class MaintainPlanTest {
    private static final Pattern BUFFERS =
            Pattern.compile("Buffers: shared( hit=(\\d+))?( read=(\\d+))?");

    private static final String EXPIRE = "queen_store.expire('2026-01-01', 0, 100)";
    private static final String HAS_EXPIRED = "queen_store.has_expired('2026-01-01')";
    private static final String IDLE =
            "queen_store.remove_idle_lanes('2026-01-01', '2025-01-01', 'epoch', 0, 100)";
    private static final String HAS_OLD_TRACES = "queen_store.has_old_traces('2026-01-02')";
    private static final String OLD_TRACES = "queen_store.remove_old_traces('2026-01-02', 100)";
    private static final String HAS_IDLE = "queen_store.has_idle_lanes('2025-01-01')";
    private static final String CLEAN = "queen_store.clean_deleted_queue(0, 100)";
    private static final String SWEEP = "queen_store.sweep_cursors(1, 2, '', true, 100)";
    private static final String PAGE = "queen_store.count_lanes(null, 500, '', 1000, true)";
    private static final String FOLD = "queen_store.fold_counts(10000)";
    private static final String REMAINS = "queen_store.has_remains()";

    private static TestDatabase database;

    /** Planned while empty. */
    private static Connection early;

    /** Planned afterwards. */
    private static Connection late;

    @BeforeAll
    static void fill() throws SQLException {
        database = TestDatabase.migrated();
        early = database.connect();
        for (int i = 0; i < 6; i++) {
            for (String call :
                    List.of(
                            EXPIRE,
                            HAS_EXPIRED,
                            IDLE,
                            HAS_IDLE,
                            CLEAN,
                            SWEEP,
                            REMAINS,
                            PAGE,
                            FOLD,
                            HAS_OLD_TRACES,
                            OLD_TRACES)) {
                lines(early, "select * from " + call);
            }
        }
        // Of the first 20,000 lanes every 200th is old, of the others every 2,000th is idle.
        lines(
                early,
                """
                insert into queen_store.queues (
                    tenant_id, name, retention_enabled, completed_retention_seconds,
                    retention_seconds, deleted_at)
                select '00000000-0000-0000-0000-000000000001', 'q' || i, i <= 100, 60, 86400,
                    case when i = 999 then timestamptz '2025-12-01' end
                from generate_series(1, 1000) i;
                insert into queen_store.groups (queue_id, name, start_rule, generation)
                select i, 'g', 'all', case when i = 1 then 2 else 1 end
                from generate_series(1, 1000) i;
                insert into queen_store.partitions (
                    queue_id, name, last_offset, log_start, oldest_live_at, last_created_at,
                    created_at, last_write_at)
                select (i - 1) / 200 + 1, 'p' || i, 299, case when i % 2000 = 1 then 300 else 0 end,
                    case when i % 2000 = 1 then null
                        when i <= 20000 and i % 200 = 2 then timestamptz '2025-12-31 23:00'
                        else timestamptz '2026-01-01' end,
                    timestamptz '2026-01-01', timestamptz '2020-01-01',
                    case when i % 2000 = 1 then timestamptz '2024-01-01'
                        else timestamptz '2026-01-01' end
                from generate_series(1, 200000) i;
                insert into queen_store.segments
                select 1, p, s * 10, s * 10 + 9,
                    timestamptz '2025-12-31 23:00' + make_interval(mins => 2 * s), s, '\\x00',
                    '\\x00'
                from generate_series(2, 20000, 20) p, generate_series(0, 29) s;
                insert into queen_store.cursors (partition_id, group_id, generation, committed)
                select p.id, p.queue_id, 1, 155
                from queen_store.partitions p;
                insert into queen_store.count_deltas (queue_id, group_id, passed)
                select i, i, 1 from generate_series(1, 200) i;
                insert into queen_store.traces (
                    id, tenant_id, queue, partition, partition_id, key, transaction_id,
                    consumer_group, event_type, data, names, worker, created_at)
                select gen_random_uuid(), '00000000-0000-0000-0000-000000000001', 'q1', 'p1', i,
                    '\\x00', 't', 'g', 'e', '1', array['n' || i % 100, 'm'], 'w',
                    timestamptz '2026-01-01' + i * interval '1 minute'
                from generate_series(1, 20000) i;
                insert into queen_store.trace_names (tenant_id, name, created_at, trace_id)
                select t.tenant_id, n.name, t.created_at, t.id
                from queen_store.traces t, unnest(t.names) n (name)
                """);
        late = database.connect();
        lines(late, "analyze");
    }

    @AfterAll
    static void close() throws SQLException {
        early.close();
        late.close();
        database.close();
    }

    @Test
    void aStepOfExpiryReadsItsLanes() throws SQLException {
        assertEquals("100", undone("lanes", EXPIRE));
        // The new versions of 100 lanes, and per lane some 20 probes in each of two epochs.
        assertBounded(EXPIRE, 100 * 200);
    }

    @Test
    void lookingWhetherAnythingIsDueReadsALaneOfEachQueueWithARule() throws SQLException {
        assertBounded(HAS_EXPIRED, 100 * 8);
    }

    @Test
    void idleLanesAreFoundAmongEmptyOnes() throws SQLException {
        assertEquals("100", undone("removed", IDLE));
        assertBounded(IDLE, 100 * 80);
        assertBounded(HAS_IDLE, 8);
    }

    @Test
    void aStepBehindADeleteReadsTheLanesOfThatQueue() throws SQLException {
        assertBounded(CLEAN, 100 * 60);
        assertBounded(REMAINS, 8);
    }

    @Test
    void aStepBehindASeekReadsALaneAndACursorEach() throws SQLException {
        assertEquals("100", undone("removed", SWEEP));
        assertBounded(SWEEP, 100 * 30);
    }

    @Test
    void aPageOfAWalkReadsItsLanes() throws SQLException {
        assertEquals("10", line(late, "select count(*) from " + PAGE));
        assertBounded(PAGE, 1000 * 40);
    }

    @Test
    void addingUpReadsWhatChanged() throws SQLException {
        assertEquals("200", undone("*", FOLD));
        assertBounded(FOLD, 200 * 20);
    }

    @Test
    void oldNotesAreFoundByTheirAge() throws SQLException {
        assertBounded(HAS_OLD_TRACES, 10);
        assertEquals("100", undone("*", OLD_TRACES));
        // A probe and a deletion for the note and for each of its two names.
        assertBounded(OLD_TRACES, 100 * 25);
    }

    @Test
    void everyTableIsAsBigAsClaimed() throws SQLException {
        assertEquals(
                "200000|200000|30000",
                line(
                        late,
                        "select (select count(*) from queen_store.partitions),"
                                + " (select count(*) from queen_store.cursors),"
                                + " (select count(*) from queen_store.segments)"));
    }

    /** A column of the call's one row; what it did is undone. */
    private static String undone(String column, String call) throws SQLException {
        late.setAutoCommit(false);
        try {
            return line(late, "select " + column + " from " + call);
        } finally {
            late.rollback();
            late.setAutoCommit(true);
        }
    }

    private static void assertBounded(String call, int buffersMax) throws SQLException {
        for (Connection connection : List.of(early, late)) {
            connection.setAutoCommit(false);
            try {
                // The first call after the tables have grown also reads catalogues.
                lines(connection, "select * from " + call);
                connection.rollback();
                String plan =
                        String.join(
                                "\n",
                                lines(
                                        connection,
                                        "explain (analyze, buffers) select * from " + call));
                long most = most(plan);
                String who = connection.equals(early) ? "planned early" : "planned late";
                assertTrue(most > 0, plan);
                assertTrue(
                        most <= buffersMax, who + ": " + most + " buffers, at most " + buffersMax);
            } finally {
                connection.rollback();
                connection.setAutoCommit(true);
            }
        }
    }

    /** Buffers of the outermost plan, which counts those of all others. */
    private static long most(String plan) {
        Matcher matcher = BUFFERS.matcher(plan);
        long most = 0;
        while (matcher.find()) {
            most = Math.max(most, number(matcher.group(2)) + number(matcher.group(4)));
        }
        return most;
    }

    private static long number(@Nullable String digits) {
        return digits == null ? 0 : Long.parseLong(digits);
    }
}
