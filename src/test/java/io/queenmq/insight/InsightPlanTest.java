package io.queenmq.insight;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.PlanScene;
import io.queenmq.testkit.PlanScene.Call;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Goal: what administrators ask, and what brokers ask of names and groups, costs the same however
 * many lanes there are. Method: a queue of 200,000 lanes with a message and a cursor each, over 16
 * epochs, 100 of them known to wait longest, one with 5,000 more messages; 500 groups that have
 * read what was known to wait for them; a message with 30,000 notes. Generic plans, made while the
 * tables were empty; buffers and scans are counted by the server.
 */
class InsightPlanTest {
    private static final String TENANT = "'00000000-0000-0000-0000-000000000001'::uuid";
    private static final String OTHER_TENANT = "'00000000-0000-0000-0000-00000000000b'::uuid";
    private static final int ROWS = 200_000;
    private static final int EPOCHS = 16;

    /** What brokers ask when they do not know a number, or want to know what a pop would get. */
    private static final List<Call> OF_BROKERS =
            List.of(
                    new Call(of("find_queue", "'q'"), 60),
                    new Call(of("queues_with_labels", "'', ''"), 60),
                    new Call(lanes("find_lanes", "p4711"), 60),
                    new Call(lanes("ensure_lanes", "p4711"), 60),
                    new Call(of("register_group", "'q', 'g', 'all', null, false"), 60),
                    new Call("queen_store.pending_messages(array[4711, 4712], 1, 0, 10)", 200),
                    new Call("queen_store.oldest_writer()", 400),
                    new Call("queen_store.stale_group(0)", 60),
                    new Call(
                            "queen_store.flush_counts(array[1], array[1], array[1], array[1],"
                                    + " array[1], array[1], array[1], array[1], array[1])",
                            100),
                    new Call("queen_store.uncounted_queue(0)", 60),
                    new Call("queen_store.count_epoch(7, 0, 0, 100)", 2_000),
                    new Call(
                            of(
                                    "add_trace",
                                    "gen_random_uuid(), 4711, 't2', 'g', 'e', '1', '{n}', 'b'"),
                            200));

    private static final List<Call> OF_ADMINISTRATORS =
            List.of(
                    // Looks at 10,001 lanes before it knows that there are too many.
                    new Call(
                            of("list_queues", "null, null, null, null, false, true, 100, 0"),
                            4_000),
                    new Call(
                            of("list_queues", "null, null, null, null, false, false, 100, 0"), 200),
                    new Call(of("list_labels", "false, 100"), 200),
                    new Call(of("read_overview", "true"), 3_000),
                    new Call("queen_store.dead_letter_depths(100)", 100),
                    new Call("queen_store.queue_rates(100)", 100),
                    new Call("queen_store.read_totals()", 20),
                    new Call("queen_store.read_cell()", 100),
                    new Call("queen_store.show_jobs()", 100),
                    new Call("queen_store.show_blocked()", 400),
                    // Bounded by its sample: 64 pages, for each row of them its lane and queue.
                    new Call("queen_store.show_storage()", 100_000),
                    // A row per queue and epoch, and the lock table.
                    new Call("queen_store.storage_gauges()", 600),
                    new Call("queen_store.show_purges()", 100),
                    new Call(
                            "queen_store.left_behind('00000000-0000-0000-0000-000000000001', 'q')",
                            100),
                    new Call("queen_store.show_server()", 10_000),
                    new Call(of("read_counts", "'q'"), 200),
                    // The counts tell that there are too many to be added up: 200 lanes are read.
                    new Call(of("read_depth", "'q', 'g', 100"), 2_000),
                    new Call("queen_store.list_lanes(1, null, null, 100, 0)", 4_000),
                    new Call("queen_store.list_lanes(1, null, 'p150000', 100, 0)", 4_000),
                    new Call(
                            of("find_messages", "'q', null, null, null, null, " + times(200)),
                            16_000),
                    // A thousand lanes whose messages are all younger: none of these is read.
                    new Call(
                            of(
                                    "find_messages",
                                    "'q', null, null, null, null, '2000-01-01', (select at from"
                                            + " middle), null, null, null, 200"),
                            10_000),
                    new Call(
                            of("find_messages", "'q', 'p4711', null, null, null, " + times(200)),
                            200),
                    new Call("queen_store.lane_counts(array[1])", 60),
                    new Call(of("find_message", "4711, 't', null"), 200),
                    new Call(of("group_kinds", "'q'"), 200),
                    new Call(
                            "queen_store.read_messages(array[4711], array[0], array[0], 1000)",
                            400),
                    new Call("queen_store.message_groups(4711, 0, '\\x00', 100)", 200),
                    new Call(of("list_groups", "100, 0"), 3_000),
                    new Call(of("list_lagging", "1, 1000"), 8_000),
                    new Call(of("group_lanes", "'g', 100"), 10_000),
                    new Call(of("list_changes", "'q', null, null, 'p150000', 100"), 200),
                    new Call(
                            of("list_changes", "'q', (select at from middle), null, null, 100"),
                            200),
                    new Call("queen_store.safe_time()", 400),
                    // A message's worth of bytes, and 50 segments looked at.
                    new Call(of("find_segments", "'{q}', '{p1}', '{0}', '{1}', 67108864"), 200),
                    // 20 of its 100 lanes for each group.
                    new Call("queen_store.list_groups(" + OTHER_TENANT + ", 500, 0)", 150_000),
                    new Call(of("list_traces", "4711, 't', 10, 0, 1000"), 60),
                    new Call(of("list_named_traces", "'n7', 10, 0, 1000"), 100),
                    new Call(of("count_named_traces", "'n7', 10000"), 500),
                    // 100 of its 300 notes for each name.
                    new Call(of("list_trace_names", "100, 0, 10000"), 80_000));

    /** Answers of docs/sql.md; those that read everything say so there. */
    private static final List<Call> OF_PEOPLE =
            List.of(
                    new Call("queen.lagging_partitions where queue = 'q'", 8_000),
                    new Call("queen.leases_in('q', p_partitions => 1000)", 8_000),
                    new Call("queen.lease(queen_store.lease_uuid(gen_random_uuid(), 4000))", 60),
                    new Call("queen.cursors where queue = 'q' and partition = 'p4711'", 100),
                    new Call("queen.partitions where queue = 'q' and partition = 'p4711'", 60),
                    new Call("queen.messages where queue = 'q' and partition = 'p4711'", 200),
                    new Call("queen.read('q', 'p4711', 0, 10)", 400),
                    new Call("queen.message('q', 'p4711', 't')", 300),
                    new Call("queen.stuck", 20_000),
                    new Call("queen.lane_holders", 400),
                    new Call("queen.jobs", 60),
                    new Call("queen.counts where queue = 'q'", 400),
                    new Call("queen.epochs", 600_000),
                    new Call("queen.sizes", 6_000),
                    new Call("queen.expiring", 200),
                    new Call("queen.expiring_in('q', 100)", 20_000));

    private static final List<Call> CALLS =
            List.of(OF_BROKERS, OF_ADMINISTRATORS, OF_PEOPLE).stream()
                    .flatMap(List::stream)
                    .toList();

    private static PlanScene scene;

    private static String of(String function, String arguments) {
        String separator = arguments.isEmpty() ? "" : ", ";
        return "queen_store." + function + "(" + TENANT + separator + arguments + ")";
    }

    private static String lanes(String function, String partition) {
        return "queen_store.%s(array[%s], array['q'], array['%s'])"
                .formatted(function, TENANT, partition);
    }

    private static String times(int limit) {
        return "'2000-01-01', '2100-01-01', null, null, null, " + limit;
    }

    @BeforeAll
    static void load() throws SQLException {
        scene =
                new PlanScene(
                        "partitions",
                        "cursors",
                        "segments_[1-9]\\d*",
                        "dead_letters",
                        "traces",
                        "trace_names");
        run("create temp table middle as select timestamptz '2026-01-01Z' as at");
        scene.epochs(EPOCHS);
        scene.vacuum();
        run(
                "insert into queen_store.queues (tenant_id, name, retention_enabled,"
                        + " retention_seconds, completed_retention_seconds) values ("
                        + TENANT
                        + ", 'q', true, 86400, 60)");
        run("insert into queen_store.groups (queue_id, name, start_rule) values (1, 'g', 'all')");
        run(
                "insert into queen_store.partitions (id, queue_id, name) overriding system value"
                        + " values (4711, 1, 'p4711')");
        scene.plan(CALLS);
        run("delete from queen_store.partitions");
        loadLanes();
        loadGroups();
        loadTraces();
    }

    private static void loadLanes() throws SQLException {
        run(
                "insert into queen_store.partitions (id, queue_id, name, last_offset, last_write_at,"
                        + " last_created_at, oldest_live_at) overriding system value select i, 1,"
                        + " 'p' || i, 0, t.at, t.at, t.at from generate_series(1, "
                        + ROWS
                        + ") i cross join lateral (select timestamptz '2026-01-01Z' + i * interval"
                        + " '10 ms' as at) t");
        run(
                "insert into queen_store.segments (epoch, partition_id, base_offset, end_offset,"
                        + " created_at, flush_id, keys, frames) select 1 + p.id % "
                        + EPOCHS
                        + ", p.id, 0, 0, p.last_created_at, 1, queen_store.key_of('t'),"
                        + " '\\x00000003007b7d' from queen_store.partitions p");
        run(
                "insert into queen_store.cursors (partition_id, group_id, generation, committed,"
                        + " batch_end, lease_id, lease_expires_at, attempt_offset, attempt_count)"
                        + " select p.id, 1, 1, -1, case when l then 0 end, case when l then"
                        + " queen_store.lease_uuid(gen_random_uuid(), p.id) end, case when l then"
                        + " clock_timestamp() + interval '1 hour' end, 0, 2 from"
                        + " queen_store.partitions p cross join lateral (select p.id % 100 = 0 as l)"
                        + " x");
        run(
                "insert into queen_store.oldest_lanes (group_id, partition_id, unread_at) select 1,"
                        + " p.id, p.last_created_at from queen_store.partitions p where p.id <= 100");
        run(
                "insert into queen_store.counts (queue_id, group_id, lanes, stored, counted_at,"
                        + " walked_at) select 1, g, 200000, 200000, clock_timestamp(),"
                        + " clock_timestamp() from generate_series(0, 1) g on conflict do nothing");
        run("update middle set at = at + interval '1000 s'");
        run(
                "insert into queen_store.segments (epoch, partition_id, base_offset, end_offset,"
                        + " created_at, flush_id, keys, frames) select "
                        + EPOCHS
                        + ", 1, n, n, s.created_at, n, s.keys, s.frames from queen_store.segments"
                        + " s, generate_series(1, 5000) n where s.partition_id = 1");
        run("update queen_store.partitions set last_offset = 5000 where id = 1");
    }

    private static void loadGroups() throws SQLException {
        run("insert into queen_store.queues (tenant_id, name) values (" + OTHER_TENANT + ", 'r')");
        run(
                "insert into queen_store.groups (queue_id, name, start_rule, start_at) select q.id,"
                        + " 'g' || i, 'instant', '2100-01-01' from queen_store.queues q,"
                        + " generate_series(1, 500) i where q.name = 'r'");
        run(
                "insert into queen_store.oldest_lanes (group_id, partition_id, unread_at) select"
                        + " g.id, i, '2026-01-01Z' from queen_store.groups g join"
                        + " queen_store.queues q on q.id = g.queue_id and q.name = 'r',"
                        + " generate_series(1, 100) i");
    }

    private static void loadTraces() throws SQLException {
        run(
                "insert into queen_store.traces (id, tenant_id, queue, partition, partition_id, key,"
                        + " transaction_id, consumer_group, event_type, data, names, worker,"
                        + " created_at) select gen_random_uuid(), "
                        + TENANT
                        + ", 'q', 'p', 4711, queen_store.key_of('t'), 't', 'g', 'e', '1', array['n'"
                        + " || i % 100], 'w', timestamptz '2026-01-01Z' + i * interval '1 s'"
                        + " from generate_series(1, 30000) i");
        run(
                "insert into queen_store.trace_names (tenant_id, name, created_at, trace_id) select"
                        + " t.tenant_id, t.names[1], t.created_at, t.id from queen_store.traces t"
                        + " on conflict do nothing");
    }

    @AfterAll
    static void drop() throws SQLException {
        scene.close();
    }

    private static void run(String sql) throws SQLException {
        scene.run(sql);
    }

    @Test
    void aQuestionTouchesFewBuffersAndScansNothingHoweverManyLanesThereAre() throws SQLException {
        assertEquals("", scene.findings(CALLS));
    }
}
