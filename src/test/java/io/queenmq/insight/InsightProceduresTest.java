package io.queenmq.insight;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What is answered where there is too much to look at all of it. */
class InsightProceduresTest {
    private static final String TENANT = "'00000000-0000-0000-0000-000000000001'";

    private static TestDatabase database;
    private static Connection connection;

    /** Queue big has 10,001 lanes of one message each, told as such, and a group in each. */
    @BeforeAll
    static void fill() throws SQLException {
        database = TestDatabase.migrated();
        connection = database.connect();
        lines(
                """
                insert into queen_store.queues (tenant_id, name, namespace)
                values ('00000000-0000-0000-0000-000000000001', 'big', 'n');
                insert into queen_store.partitions (
                    queue_id, name, last_offset, last_created_at, last_write_at, oldest_live_at)
                select q.id, to_char(n, 'FM00000'), 0, timestamptz '2026-01-01Z',
                       timestamptz '2026-01-01Z' + n * interval '1 second',
                       timestamptz '2026-01-01Z'
                from queen_store.queues q, generate_series(1, 10001) n;
                insert into queen_store.groups (queue_id, name, start_rule)
                select q.id, 'g', 'all' from queen_store.queues q;
                insert into queen_store.cursors (partition_id, group_id, generation, committed)
                select p.id, g.id, 1, 0
                from queen_store.partitions p, queen_store.groups g
                where p.name > '00100';
                insert into queen_store.counts (
                    queue_id, group_id, lanes, stored, passed, granted, ended, behind, counted_at,
                    walked_at)
                select q.id, 0, 10001, 10001, 0, 0, 0, 10001, clock_timestamp(),
                       clock_timestamp()
                from queen_store.queues q
                union all
                select g.queue_id, g.id, 9901, 0, 9901, 30, 0, 100, clock_timestamp(),
                       clock_timestamp()
                from queen_store.groups g;
                insert into queen_store.oldest_lanes (group_id, partition_id, unread_at)
                select g.id, p.id, timestamptz '2026-01-01Z'
                from queen_store.groups g, queen_store.partitions p
                where p.name in ('00007', '05000');
                """);
    }

    @AfterAll
    static void drop() throws SQLException {
        connection.close();
        database.close();
    }

    private static List<String> lines(String sql) throws SQLException {
        return Lines.lines(connection, sql);
    }

    private static List<String> depth(String group, int limit) throws SQLException {
        return lines(
                "select lanes, pending, processing, lanes_pending, lanes_ready,"
                        + " age_seconds between 0 and 100, partition, lane_pending"
                        + " from queen_store.read_depth(%s, 'big', %s, %d)"
                                .formatted(TENANT, group, limit));
    }

    @Test
    void theDepthOfALargeQueueIsToldWithTheLanesThatWaitedLongestAndWereWrittenLast()
            throws SQLException {
        String sums = "10001|100|30|100|70|t|";
        assertEquals(
                List.of(sums + "00007|1", sums + "05000|0", sums + "10001|0"), depth("'g'", 3));
        assertEquals(depth("'g'", 3), depth("null", 3), "the slowest group is the only one");
        String all = "10001|10001|0|10001|10001|t|";
        assertEquals(List.of(all + "10000|1", all + "10001|1"), depth("'nobody'", 2));
    }

    @Test
    void leasesOfALargeQueueAreThoseThatAWalkHasFound() throws SQLException {
        String leases =
                "select l ->> 'active', l ->> 'partitionsWithLeases',"
                        + " (l ->> 'statsAge')::integer"
                        + " from (select queen_store.show_status(now() - interval '1 hour', now(),"
                        + " 'big', null, null) -> 'leases' as l) s";
        assertEquals(List.of("0|0|-1"), lines(leases));
        lines(
                "insert into queen_store.liveness (queue_id, live_hour, live_day, live_week, leases,"
                        + " leased_lanes, walked_at) select id, 1, 1, 1, 30, 20, clock_timestamp()"
                        + " from queen_store.queues");
        lines(
                "insert into queen_store.jobs (name, period_ms, last_ended_at) values ('recount', 1,"
                        + " clock_timestamp() - interval '1000 days')");
        assertEquals(List.of("30|20|86400000"), lines(leases));
        lines("delete from queen_store.jobs");
        lines("delete from queen_store.liveness");
    }

    @Test
    void aLargeQueueIsListedAsTold() throws SQLException {
        assertEquals(
                List.of("big|10001|10001|100|30|9901|t|1"),
                lines(
                        "select queue, lanes, messages, pending, processing, completed,"
                                + " age_seconds between 0 and 100, total"
                                + " from queen_store.list_queues("
                                + TENANT
                                + ", null, null, null, null, false, true, 10, 0)"));
        assertEquals(
                List.of("n|1|10001|10001|70"),
                lines(
                        "select label, queues, lanes, messages, pending"
                                + " from queen_store.list_labels("
                                + TENANT
                                + ", false, 10)"));
    }

    /** What is beyond the bound is summed, and a queue that has the name of the rest with it. */
    @Test
    void whatIsBeyondTheBoundOfMetricsIsOneRow() throws SQLException {
        connection.setAutoCommit(false);
        lines(
                """
                insert into queen_store.queues (tenant_id, name)
                select '00000000-0000-0000-0000-000000000001'::uuid, unnest(array['a', 'b', 'c', 'other']);
                insert into queen_store.counts (queue_id, group_id, dead_letters, counted_at)
                select q.id, 0, case q.name when 'a' then 1 when 'b' then 2 when 'c' then 9 else 4 end,
                       clock_timestamp()
                from queen_store.queues q where q.name in ('a', 'b', 'c', 'other');
                insert into queen_store.queue_buckets (
                    queue_id, minutes, bucket, push_requests, push_messages, pops, pop_messages,
                    empty_pops, ack_requests, acks, failed_acks, conflated, transactions,
                    lanes_made, lanes_removed, dead_letters, lag_ms_sum, lag_ms_max)
                select q.id, 1, queen_store.bucket_at(1, clock_timestamp()) - interval '2 minutes',
                       1, case q.name when 'a' then 1 when 'b' then 2 when 'c' then 9 else 4 end,
                       0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0
                from queen_store.queues q where q.name in ('a', 'b', 'c', 'other');
                """);
        String depths =
                "select coalesce(d.queue, 'all') || ' ' || d.dead_letters"
                        + " from queen_store.dead_letter_depths(%d) d order by 1";
        assertEquals(List.of("all 16", "c 9", "other 7"), lines(depths.formatted(1)));
        assertEquals(List.of("all 16", "c 9", "other 7"), lines(depths.formatted(2)));
        assertEquals(List.of("all 16", "b 2", "c 9", "other 5"), lines(depths.formatted(3)));
        assertEquals(List.of("a 1", "all 16", "b 2", "c 9", "other 4"), lines(depths.formatted(4)));
        assertEquals(
                List.of("c 9", "other 7"),
                lines(
                        "select r.queue || ' ' || r.push_messages"
                                + " from queen_store.queue_rates(1) r order by 1"));
        connection.rollback();
        connection.setAutoCommit(true);
    }

    @Test
    void lanesComeInPagesAndSayWhetherThereAreMore() throws SQLException {
        String page =
                "select partition, pending, complete from queen_store.list_lanes("
                        + "(select queue_id from queen.queues where queue = 'big'), %s)";
        assertEquals(
                List.of("00099|1|f", "00100|1|f", "00101|0|f"),
                lines(page.formatted("null, '00098', 3, 0")));
        assertEquals(List.of("10001|0|t"), lines(page.formatted("null, null, 3, 10000")));
        assertEquals(List.of("00777|0|f", "01777|0|f"), lines(page.formatted("'777', null, 2, 0")));
        assertEquals(List.of("09999|0|t"), lines(page.formatted("'9999', null, 2, 0")));
    }

    @Test
    void theOldestUnreadMessageIsThatOfALaneWhichStillHasOne() throws SQLException {
        lines(
                "update queen_store.oldest_lanes o set unread_at = timestamptz '2025-01-01Z'"
                        + " from queen_store.partitions p where p.id = o.partition_id"
                        + " and p.name = '05000'");
        // Nothing is stored in these lanes but their rows: no segment says when.
        assertEquals(
                List.of(),
                lines(
                        "select * from queen_store.oldest_unread((select id from"
                                + " queen_store.groups), 100)"));
        lines(
                "insert into queen_store.segments (epoch, partition_id, base_offset, end_offset,"
                        + " created_at, flush_id, keys, frames)"
                        + " select 1, p.id, 0, 0, timestamptz '2026-02-03Z', 1, '\\x00', '\\x00'"
                        + " from queen_store.partitions p where p.name in ('00007', '05000')");
        assertEquals(
                List.of("00007|t"),
                lines(
                        "select p.name, u.unread_at = timestamptz '2026-02-03Z'"
                                + " from queen_store.groups g"
                                + " cross join lateral queen_store.oldest_unread(g.id, 100) u"
                                + " join queen_store.partitions p on p.id = u.partition_id"));
    }
}
