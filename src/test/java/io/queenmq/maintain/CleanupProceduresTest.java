package io.queenmq.maintain;

import static io.queenmq.maintain.StorageScene.NOW;
import static io.queenmq.maintain.StorageScene.ago;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.queenmq.testkit.LogFixture;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What is removed behind those who delete, seek or go away, and what has to stay. */
class CleanupProceduresTest {
    private static final double DAYS = 86_400;

    private StorageScene scene;
    private LogFixture log;

    @BeforeEach
    void open() throws SQLException {
        scene = new StorageScene();
        log = scene.log;
    }

    @AfterEach
    void close() throws SQLException {
        scene.close();
    }

    private long count(String table) throws SQLException {
        return (long) log.value("select count(*) from queen_store." + table);
    }

    private boolean flag(String call) throws SQLException {
        return (boolean) log.value("select queen_store." + call);
    }

    private void deadLetter(int queue, long lane) throws SQLException {
        log.run(
                "insert into queen_store.dead_letters (queue_id, partition_id, group_name,"
                        + " \"offset\", message_id, transaction_id, key, flags, error)"
                        + " values (?, ?, 'g', 0, gen_random_uuid(), 't', '\\x00', 0, 'e')",
                queue,
                lane);
    }

    private void delete(int queue) throws SQLException {
        log.run("update queen_store.queues set deleted_at = clock_timestamp() where id = ?", queue);
    }

    private List<@Nullable Object[]> clean(int after, int limit) throws SQLException {
        return log.rows("select * from queen_store.clean_deleted_queue(?, ?)", after, limit);
    }

    private long removed(int limit) throws SQLException {
        Object removed = clean(0, limit).getFirst()[1];
        return removed instanceof Long number ? number : -1;
    }

    @Test
    void aDeletedQueueGoesStepByStepAndItsSegmentsStayForTheirEpoch() throws SQLException {
        int kept = scene.queue();
        long keptLane = scene.lane(kept, 1, 10);
        log.cursor(keptLane, log.group(kept), -1);
        deadLetter(kept, keptLane);
        int queue = scene.queue();
        int group = log.group(queue);
        for (int i = 0; i < 3; i++) {
            long lane = scene.lane(queue, 1, 10);
            log.cursor(lane, group, -1);
            deadLetter(queue, lane);
        }
        assertEquals(false, flag("has_remains()"));
        assertEquals(List.of(), clean(0, 2));
        delete(queue);
        assertEquals(true, flag("has_remains()"));

        assertEquals(6, removed(2), "two lanes with a cursor and a dead letter each");
        assertEquals(2, count("partitions"));
        assertEquals(3, removed(2));
        assertEquals(2, count("groups"));
        assertEquals(1, removed(2), "the group");
        assertEquals(1, removed(2), "the queue");
        assertEquals(List.of(), clean(0, 2));
        assertEquals(false, flag("has_remains()"));
        assertEquals(1, count("queues"));
        assertEquals(1, count("partitions"));
        assertEquals(1, count("groups"));
        assertEquals(1, count("cursors"));
        assertEquals(1, count("dead_letters"));
        assertEquals(4, count("segments"));
    }

    @Test
    void aLaneWithMuchBehindItGoesWhenThatIsGone() throws SQLException {
        int queue = scene.queue();
        long lane = scene.lane(queue, 1, 10);
        for (int i = 0; i < 15; i++) {
            deadLetter(queue, lane);
            log.cursor(lane, log.group(queue, "g" + i, "all", null), -1);
        }
        delete(queue);
        assertEquals(20, removed(1), "ten of each");
        assertEquals(1, count("partitions"));
        assertEquals(11, removed(1));
        assertEquals(0, count("partitions"));
    }

    @Test
    void whatSomebodyHoldsStaysAndTheQueueWithIt() throws SQLException {
        int queue = scene.queue();
        int group = log.group(queue);
        long lane = scene.lane(queue, 1, 10);
        long busy = scene.lane(queue, 1, 10);
        long read = scene.lane(queue, 1, 10);
        log.cursor(read, group, -1);
        delete(queue);
        try (Connection other = scene.database.connect()) {
            other.setAutoCommit(false);
            LogFixture holder = new LogFixture(other);
            holder.rows("select from queen_store.partitions where id = ? for no key update", busy);
            holder.rows("select from queen_store.cursors for no key update");
            assertEquals(1, removed(10));
            assertEquals(0, removed(10));
            assertEquals(List.of(busy, read), lanes());
            assertNotEquals(lane, busy);
            assertEquals(List.of(), clean(queue, 10), "the next one is looked at all the same");
            other.rollback();
        }
        assertEquals(3, removed(10));
    }

    @Test
    void theRowOfAQueueWaitsForWhoMayHaveMadeALaneInItBefore() throws SQLException {
        int queue = scene.queue();
        try (Connection other = scene.database.connect()) {
            other.setAutoCommit(false);
            new LogFixture(other).lane(queue);
            delete(queue);
            assertEquals(0, removed(10));
            other.commit();
        }
        assertEquals(1, removed(10), "the lane");
        assertEquals(1, removed(10), "the queue");
        assertEquals(0, count("partitions"));
    }

    private @Nullable Object[] sweep(int group, int generation, String after, boolean clean)
            throws SQLException {
        return log.rows(
                        "select * from queen_store.sweep_cursors(?, ?, ?, ?, 2)",
                        group,
                        generation,
                        after,
                        clean)
                .getFirst();
    }

    @Test
    void cursorsOfGenerationsBeforeGoAndThoseOfTheNewOneStay() throws SQLException {
        int queue = scene.queue();
        int group = log.group(queue);
        int other = log.group(queue, "other", "all", null);
        long[] lanes = new long[5];
        for (int i = 0; i < lanes.length; i++) {
            lanes[i] = scene.lane(queue, 1, 10);
            log.cursor(lanes[i], group, -1);
            log.cursor(lanes[i], other, -1);
        }
        assertEquals(List.of(), log.rows("select * from queen_store.stale_group(0)"));
        log.run("update queen_store.groups set generation = 2 where id = ?", group);
        log.run(
                "update queen_store.cursors set generation = 2"
                        + " where partition_id = ? and group_id = ?",
                lanes[1],
                group);
        assertEquals(true, flag("has_remains()"));
        assertEquals(group, log.value("select group_id from queen_store.stale_group(0)"));
        assertEquals(
                List.of(), log.rows("select * from queen_store.stale_group(?)", (Object) group));

        String after = "";
        long removed = 0;
        for (int step = 0; step < 2; step++) {
            @Nullable Object[] swept = sweep(group, 2, after, true);
            assertEquals(true, swept[2]);
            after = String.valueOf(swept[0]);
            removed += swept[1] instanceof Long number ? number : 0;
        }
        assertEquals(true, flag("has_remains()"));
        @Nullable Object[] last = sweep(group, 2, after, true);
        assertNull(last[0]);
        assertEquals(1L, last[1]);
        assertEquals(3, removed);
        assertEquals(6, count("cursors"));
        assertEquals(
                1L,
                log.value("select count(*) from queen_store.cursors where group_id = ?", group));
        assertEquals(false, flag("has_remains()"));
    }

    @Test
    void aGroupIsNotSweptWhileSomebodyHoldsACursorOfBefore() throws SQLException {
        int queue = scene.queue();
        int group = log.group(queue);
        log.cursor(scene.lane(queue, 1, 10), group, -1);
        log.run("update queen_store.groups set generation = 3");
        try (Connection other = scene.database.connect()) {
            other.setAutoCommit(false);
            new LogFixture(other).rows("select from queen_store.cursors for no key update");
            assertEquals(false, sweep(group, 3, "", true)[2]);
            assertEquals(true, flag("has_remains()"));
            other.rollback();
        }
        sweep(group, 3, "", false);
        assertEquals(0, count("cursors"));
        assertEquals(true, flag("has_remains()"), "an earlier step has left something");
        sweep(group, 2, "", true);
        assertEquals(true, flag("has_remains()"), "the group was moved again meanwhile");
        sweep(group, 3, "", true);
        assertEquals(false, flag("has_remains()"));
    }

    private @Nullable Object[] removeIdle(int limit) throws SQLException {
        return removeIdle(ago(10_000 * DAYS).toString(), 0, limit);
    }

    private @Nullable Object[] removeIdle(@Nullable String after, long id, int limit)
            throws SQLException {
        return log.rows(
                        "select removed, last_write_at::text, last_id from"
                                + " queen_store.remove_idle_lanes(?::text::timestamptz,"
                                + " ?::text::timestamptz, ?::text::timestamptz, ?, ?)",
                        NOW.toString(),
                        ago(30 * DAYS).toString(),
                        after,
                        id,
                        limit)
                .getFirst();
    }

    /** An empty lane that was made and last written so many days ago. */
    private long idle(int queue, double days) throws SQLException {
        long lane = log.lane(queue);
        log.run(
                "update queen_store.partitions set created_at = ?::text::timestamptz,"
                        + " last_write_at = ?::text::timestamptz where id = ?",
                ago(days * DAYS).toString(),
                ago(days * DAYS).toString(),
                lane);
        return lane;
    }

    private List<Long> lanes() throws SQLException {
        List<Long> lanes = new ArrayList<>();
        for (@Nullable Object[] row :
                log.rows("select id from queen_store.partitions order by id")) {
            lanes.add(row[0] instanceof Long id ? id : 0L);
        }
        return lanes;
    }

    @Test
    void anEmptyLaneGoesAfterItsDaysAndItsCursorsWithIt() throws SQLException {
        int queue = scene.queue();
        long lane = idle(queue, 30.1);
        long edge = idle(queue, 30);
        log.cursor(lane, log.group(queue), 4);
        assertEquals(
                true,
                log.value(
                        "select queen_store.has_idle_lanes(?::text::timestamptz)",
                        ago(30 * DAYS).toString()));
        assertEquals(1, removeIdle(10)[0]);
        assertEquals(List.of(edge), lanes());
        assertEquals(0, count("cursors"));
        assertEquals(
                false,
                log.value(
                        "select queen_store.has_idle_lanes(?::text::timestamptz)",
                        ago(30 * DAYS).toString()));
        assertEquals(
                "partition_cleanup 0 1",
                log.value(
                        "select concat_ws(' ', rule, messages, lanes)"
                                + " from queen_store.retention_history"));
        assertEquals(0, removeIdle(10)[0]);
    }

    @Test
    void aLaneStaysForEachReasonToKeepIt() throws SQLException {
        int queue = scene.queue();
        int group = log.group(queue);
        scene.lane(queue, 1, 40 * DAYS);
        long dead = idle(queue, 40);
        deadLetter(queue, dead);
        long leased = idle(queue, 40);
        log.cursor(leased, group, -1);
        log.run(
                "update queen_store.cursors set lease_expires_at = ?::text::timestamptz"
                        + " where partition_id = ?",
                NOW.plusSeconds(1).toString(),
                leased);
        idle(scene.queue("dedup_window_seconds = 3456000"), 40);
        int deleted = scene.queue();
        idle(deleted, 40);
        delete(deleted);
        log.cursor(idle(queue, 40), log.group(queue, "pinned", null, null), -1);
        long made = idle(queue, 40);
        log.run(
                "update queen_store.partitions set created_at = ?::text::timestamptz where id = ?",
                ago(20 * DAYS).toString(),
                made);
        List<Long> all = lanes();
        assertEquals(0, removeIdle(10)[0]);
        assertEquals(all, lanes());
        assertEquals(0, count("retention_history"));
    }

    @Test
    void aLaneOrACursorThatSomebodyHoldsStays() throws SQLException {
        int queue = scene.queue();
        long busy = idle(queue, 40);
        long read = idle(queue, 40);
        log.cursor(read, log.group(queue), -1);
        try (Connection other = scene.database.connect()) {
            other.setAutoCommit(false);
            LogFixture holder = new LogFixture(other);
            holder.rows("select from queen_store.partitions where id = ? for no key update", busy);
            holder.rows("select from queen_store.cursors for no key update");
            assertEquals(0, removeIdle(10)[0]);
            other.rollback();
        }
        assertEquals(2, removeIdle(10)[0]);
    }

    @Test
    void aWalkGoesOnBehindTheLanesThatStay() throws SQLException {
        int queue = scene.queue();
        for (int i = 0; i < 3; i++) {
            deadLetter(queue, idle(queue, 40));
        }
        idle(queue, 40);
        idle(queue, 35);
        @Nullable Object[] step = removeIdle(2);
        assertEquals(0, step[0]);
        step = removeIdle((String) step[1], step[2] instanceof Long id ? id : 0, 2);
        assertEquals(1, step[0]);
        step = removeIdle((String) step[1], step[2] instanceof Long id ? id : 0, 2);
        assertEquals(1, step[0]);
        assertNull(step[1]);
    }

    @Test
    void aPushToTheNumberOfALaneThatIsGoneIsSentBackAndTheNameGetsANewOne() throws SQLException {
        int queue = scene.queue();
        long lane = idle(queue, 40);
        String names = "queues q join queen_store.partitions p on p.queue_id = q.id";
        @Nullable Object[] name =
                log.rows("select q.name, p.name from queen_store." + names).getFirst();
        removeIdle(10);
        assertEquals(
                "unknown_partition",
                log.value(
                        "select a.verdict from queen_store.encode_frames(array['t'],"
                                + " array['{}'::bytea], null, null, null) f"
                                + " cross join lateral queen_store.append(array[?::bigint],"
                                + " array[1::bigint], array[1::bigint], array[0::bigint],"
                                + " array[null::bigint], array[1], array[1], array[f.keys],"
                                + " array[f.frames], false) a",
                        lane));
        assertEquals(
                0L,
                log.value(
                        "select p.\"offset\" from queen.push(?, ?, '1', 't') p", name[0], name[1]));
        assertNotEquals(List.of(lane), lanes());
    }

    @Test
    void leasesBundlesAndHistoryGoWhenTheyAreOver() throws SQLException {
        String old = ago(90 * DAYS).toString();
        assertEquals(false, flag("has_leftovers('" + old + "')"));
        for (int i = 0; i < 3; i++) {
            log.run(
                    "insert into queen_store.leases values (gen_random_uuid(), '{}', '{}',"
                            + " clock_timestamp() - interval '11 minutes')");
            log.run(
                    "insert into queen_store.bundles values (gen_random_uuid(),"
                            + " clock_timestamp() - interval '11 minutes')");
            log.run(
                    "insert into queen_store.retention_history values"
                            + " (?::text::timestamptz, ?, ?, 'retention', 1, 1, 1)",
                    ago(90 * DAYS + 60).toString(),
                    LogFixture.TENANT,
                    "q" + i);
        }
        log.run(
                "insert into queen_store.leases values (gen_random_uuid(), '{}', '{}',"
                        + " clock_timestamp() + interval '1 hour')");
        log.run(
                "insert into queen_store.retention_history values"
                        + " (?::text::timestamptz, ?, 'q', 'retention', 1, 1, 1)",
                old,
                LogFixture.TENANT);
        for (String table : List.of("leases", "bundles")) {
            assertEquals(true, flag("has_leftovers('" + old + "')"));
            assertEquals(2, log.value("select queen_store.sweep_" + table + "(2)"));
            assertEquals(1, log.value("select queen_store.sweep_" + table + "(2)"));
            assertEquals(0, log.value("select queen_store.sweep_" + table + "(2)"));
        }
        assertEquals(true, flag("has_leftovers('" + old + "')"));
        assertEquals(2, log.value("select queen_store.sweep_history('" + old + "', 2)"));
        assertEquals(1, log.value("select queen_store.sweep_history('" + old + "', 2)"));
        assertEquals(false, flag("has_leftovers('" + old + "')"));
        assertEquals(1, count("leases"));
        assertEquals(1, count("retention_history"));
        log.run(
                "insert into queen_store.bundles values (gen_random_uuid(),"
                        + " clock_timestamp() - interval '9 minutes')");
        assertEquals(false, flag("has_leftovers('" + old + "')"));
        assertEquals(0, log.value("select queen_store.sweep_bundles(2)"));
    }
}
