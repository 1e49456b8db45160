package io.queenmq.count;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Adding up, walking and reading of the counts, each with somebody else at work. */
class CountProceduresTest {
    private static final String TENANT = "'00000000-0000-0000-0000-000000000001'";

    private CountScene scene;
    private int queue;

    @BeforeEach
    void open() throws SQLException {
        scene = new CountScene();
        scene.log.rows(
                "select * from queen.push(array['q', 'q', 'q'], array['a', 'a', 'b'],"
                        + " array['1', '2', '3'])");
        scene.log.rows("select * from queen.pop('q', 'g', p_subscription_mode => 'all')");
        queue = scene.queueNumber("q");
        scene.fold();
        scene.walk(queue);
    }

    @AfterEach
    void close() throws SQLException {
        scene.close();
    }

    private String line(String sql, @Nullable Object... arguments) throws SQLException {
        return String.valueOf(scene.log.rows(sql, arguments).getFirst()[0]);
    }

    private String read() throws SQLException {
        return line(
                "select string_agg(concat_ws('/', coalesce(consumer_group, '-'), lanes, messages,"
                        + " pending, processing, completed, dead_letters, behind, age_seconds < 0),"
                        + " ' ' order by consumer_group nulls first)"
                        + " from queen_store.read_counts("
                        + TENANT
                        + ", 'q')");
    }

    @Test
    void whatIsCountedNowIsWhatIsTold() throws SQLException {
        String told =
                line(
                        "select string_agg(concat_ws('/', coalesce(consumer_group, '-'), partitions,"
                                + " messages, pending, processing, completed, dead_letters,"
                                + " partitions_behind, age_seconds < 0), ' '"
                                + " order by consumer_group nulls first) from queen.counts");
        assertEquals("-/2/3/3/1/0/0/2/f g/2/3/3/1/0/0/2/f", told);
        assertEquals(told, read());
    }

    @Test
    void aLeaseThatRanOutCountsNoMoreWhereItIsCountedNow() throws SQLException {
        scene.log.run(
                "update queen_store.cursors set lease_expires_at = clock_timestamp()"
                        + " - interval '1 second'");
        assertEquals("-/2/3/3/0/0/0/2/f g/2/3/3/0/0/0/2/f", read());
    }

    @Test
    void aQueueWithManyLanesIsToldAndNotCounted() throws SQLException {
        scene.log.run(
                "insert into queen_store.partitions (queue_id, name)"
                        + " select ?, 'x' || i from generate_series(1, 9998) i",
                queue);
        assertEquals("-/10000/3/3/1/0/0/2/f g/2/3/3/1/0/0/2/f", read());
        scene.log.lane(queue);
        assertEquals("-/2/3/3/1/0/0/2/f g/2/3/3/1/0/0/2/f", read(), "told, and these were not");
    }

    @Test
    void aQueueWithManyPlacesToSearchIsToldAndNotCounted() throws SQLException {
        scene.log.run(
                "update queen_store.groups set start_rule = 'instant', start_at = now()"
                        + " - interval '1 hour'");
        scene.log.run(
                "insert into queen_store.partitions (queue_id, name, last_offset, oldest_live_at)"
                        + " select ?, 'x' || i, 0, clock_timestamp() from generate_series(1, 999) i",
                queue);
        scene.log.run(
                "insert into queen_store.segments (epoch, partition_id, base_offset, end_offset,"
                        + " created_at, flush_id, keys, frames) select 1, p.id, 0, 0,"
                        + " clock_timestamp(), 1, decode(repeat('00', 16), 'hex'), '' from"
                        + " queen_store.partitions p where p.name like 'x%'");
        assertEquals(
                "1001", line("select lanes from queen_store.read_counts(" + TENANT + ", 'q')"));
        for (int i = 0; i < 2; i++) {
            scene.log.append(scene.log.lane(queue), "t" + i);
        }
        assertEquals("2", line("select lanes from queen_store.read_counts(" + TENANT + ", 'q')"));
    }

    @Test
    void aPinnedGroupHasNoPendingOfItsOwn() throws SQLException {
        scene.log.rows("select * from queen.pop('q', 'pinned', p_partition => 'a')");
        scene.fold();
        scene.walk(queue);
        assertEquals(
                "null", line("select pending from queen.counts where consumer_group = 'pinned'"));
        assertEquals("-/2/3/3/1/0/0/2/f g/2/3/3/1/0/0/2/f pinned/1/3/0/0/0/f", read());
    }

    @Test
    void whoAddsUpAtTheSameTimeAddsSomethingElse() throws SQLException {
        scene.log.rows("select * from queen.push('q', 'a', '4')");
        try (Connection other = scene.database.connect()) {
            other.setAutoCommit(false);
            assertEquals(
                    1,
                    TestDatabase.rows(other, "select queen_store.fold_counts(100)").getFirst()[0]);
            assertEquals(0, scene.fold());
            assertEquals(scene.exact(queue), scene.told(queue), "not added yet, but there");
            other.commit();
        }
        assertEquals(scene.exact(queue), scene.told(queue));
        assertEquals("false", line("select queen_store.has_counts()"));
    }

    /** What a walk finds, kept for later: counted now, settled by {@link #settle}. */
    private void walk() throws SQLException {
        scene.log.run(
                "create temp table walk as select * from queen_store.count_lanes(?, ?, '', 1000, true)",
                queue,
                queue);
    }

    @Test
    void aWalkCountsLeasesAndTheLanesTheyHold() throws SQLException {
        scene.log.rows(
                "select * from queen.pop('q', 'h', 9, p_partitions => 0,"
                        + " p_subscription_mode => 'all')");
        walk();
        String found = "select concat_ws('/', leases, leased_lanes) from walk where group_id = 0";
        assertEquals("3/2", line(found));
        scene.log.run("drop table walk");
        scene.log.run(
                "update queen_store.cursors c set lease_expires_at = clock_timestamp()"
                        + " - interval '1 second' from queen_store.groups g"
                        + " where g.id = c.group_id and g.name = 'h'");
        walk();
        assertEquals("1/1", line(found));
    }

    private String settle() throws SQLException {
        return line(
                "select queen_store.settle_counts(array_agg(started_at), array_agg(queue_id),"
                        + " array_agg(group_id), array_agg(lanes), array_agg(amount),"
                        + " array_agg(behind), array_agg(leased), array_agg(dead_letters),"
                        + " array_agg(before_lanes), array_agg(before_stored),"
                        + " array_agg(before_passed), array_agg(before_granted),"
                        + " array_agg(before_ended), array_agg(before_dead_letters), '{}', '{}',"
                        + " '{}') from walk");
    }

    @Test
    void whatMovedSinceTheWalkBeganIsNotOff() throws SQLException {
        walk();
        scene.log.rows("select * from queen.push('q', 'a', '4')");
        scene.log.rows(
                "select * from queen.pop('q', 'g', 9, p_partitions => 0, p_auto_ack => true)");
        scene.fold();
        assertEquals("0", settle());
        assertEquals(scene.exact(queue), scene.told(queue));
    }

    @Test
    void whatWasOffIsPutRightThoughMoreMovedMeanwhile() throws SQLException {
        scene.log.run("update queen_store.counts set passed = passed + 50 where group_id = 0");
        walk();
        scene.log.rows("select * from queen.push('q', 'a', '4')");
        assertEquals("1", settle());
        assertEquals(scene.exact(queue), scene.told(queue));
    }

    @Test
    void aGroupThatWasMovedSinceTheWalkBeganIsLeftToTheNext() throws SQLException {
        scene.log.rows(
                "select * from queen_store.seek_queue(" + TENANT + ", 'q', 'g', 'end', null)");
        scene.fold();
        walk();
        scene.log.rows(
                "select * from queen_store.seek_queue("
                        + TENANT
                        + ", 'q', 'g', 'beginning', null)");
        scene.fold();
        settle();
        assertEquals("-1", line("select age_seconds from queen.counts where consumer_group = 'g'"));
        assertEquals(
                Integer.toString(queue),
                line("select coalesce(queen_store.uncounted_queue(0), 0)"));
        scene.walk(queue);
        assertEquals(scene.exact(queue), scene.told(queue));
        assertEquals("0", line("select coalesce(queen_store.uncounted_queue(0), 0)"));
    }

    @Test
    void aWalkThatAnotherHasOvertakenChangesNothing() throws SQLException {
        scene.log.run("update queen_store.counts set passed = passed + 2 where group_id = 0");
        walk();
        assertEquals(1, scene.walk(queue));
        assertEquals("0", settle());
        assertEquals(scene.exact(queue), scene.told(queue));
    }

    @Test
    void whatBelongsToADeletedQueueIsNotAddedAndGoes() throws SQLException {
        scene.log.rows("select * from queen.push('q', 'a', '4')");
        scene.log.rows("select queen_store.delete_queue(" + TENANT + ", 'q')");
        scene.fold();
        assertEquals(List.of(), scene.log.rows("select * from queen.counts"));
        scene.log.rows("select queen_store.drop_counts(100)");
        assertEquals("0", line("select count(*) from queen_store.counts"));
        assertEquals("0", line("select count(*) from queen_store.queue_epochs"));
        assertEquals("false", line("select queen_store.has_counts()"));
    }
}
