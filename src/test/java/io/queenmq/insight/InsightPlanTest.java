package io.queenmq.insight;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Buffers;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Goal: what administrators ask costs the same however many lanes there are. Method: a queue of
 * 200,000 lanes with a message each, 100 of them known to wait longest, one with 5,000 more; 500
 * groups that have read what was known to wait for them; a message with 30,000 notes; plans made
 * while the tables were empty, buffers counted.
 */
class InsightPlanTest {
    private static final String TENANT = "'00000000-0000-0000-0000-000000000001'::uuid";
    private static final String OTHER_TENANT = "'00000000-0000-0000-0000-00000000000b'::uuid";
    private static final int ROWS = 200_000;

    /** A call, and how many buffers it may touch. */
    private record Call(String sql, int buffersMax) {}

    private static final List<Call> CALLS =
            List.of(
                    // Looks at 10,001 lanes before it knows that there are too many.
                    new Call(
                            of("list_queues", "null, null, null, null, false, true, 100, 0"),
                            4_000),
                    new Call(
                            of("list_queues", "null, null, null, null, false, false, 100, 0"), 200),
                    new Call(of("list_labels", "false, 100"), 200),
                    new Call(of("read_overview", ""), 3_000),
                    new Call("queen_store.dead_letter_depths(100)", 100),
                    // The same look, then 200 lanes.
                    new Call(of("read_depth", "'q', 'g', 100"), 5_000),
                    new Call("queen_store.list_lanes(1, null, null, 100, 0)", 4_000),
                    new Call("queen_store.list_lanes(1, null, 'p150000', 100, 0)", 4_000),
                    new Call(
                            of("find_messages", "'q', null, null, null, null, " + times(200)),
                            5_000),
                    new Call(
                            of("find_messages", "'q', 'p4711', null, null, null, " + times(200)),
                            200),
                    new Call(of("find_message", "4711, 't', null"), 100),
                    new Call(
                            "queen_store.read_messages(array[4711], array[0], array[0], 1000)",
                            400),
                    new Call("queen_store.message_groups(4711, 0, '\\x00', 100)", 200),
                    new Call(of("list_groups", "100, 0"), 3_000),
                    new Call(of("list_lagging", "1, 1000"), 3_000),
                    new Call(of("group_lanes", "'g', 100"), 4_000),
                    new Call(of("list_changes", "'q', null, null, 'p150000', 100"), 200),
                    new Call(
                            of("list_changes", "'q', (select at from middle), null, null, 100"),
                            200),
                    new Call("queen_store.safe_time()", 400),
                    // A message's worth of bytes, and 50 segments looked at.
                    new Call(of("find_segments", "'{q}', '{p1}', '{0}', '{1}', 67108864"), 200),
                    // 20 of its 100 lanes for each group.
                    new Call("queen_store.list_groups(" + OTHER_TENANT + ", 500, 0)", 150_000),
                    new Call(of("list_traces", "4711, 't', 10"), 60),
                    new Call(of("list_named_traces", "'n7', 10, 0"), 100),
                    // 100 of its 300 notes for each name.
                    new Call(of("list_trace_names", "100, 0, 10000"), 80_000));

    private static TestDatabase database;
    private static Connection connection;

    private static String of(String function, String arguments) {
        String separator = arguments.isEmpty() ? "" : ", ";
        return "queen_store." + function + "(" + TENANT + separator + arguments + ")";
    }

    private static String times(int limit) {
        return "'2000-01-01', '2100-01-01', null, null, null, " + limit;
    }

    @BeforeAll
    static void load() throws SQLException {
        database = TestDatabase.migrated();
        connection = database.connect();
        run("create temp table middle as select timestamptz '2026-01-01Z' as at");
        for (String table :
                List.of(
                        "queues",
                        "partitions",
                        "groups",
                        "cursors",
                        "counts",
                        "oldest_lanes",
                        "traces",
                        "trace_names")) {
            run("alter table queen_store." + table + " set (autovacuum_enabled = off)");
            run("vacuum analyze queen_store." + table);
        }
        run("alter table queen_store.segments_1 set (autovacuum_enabled = off)");
        run("vacuum analyze queen_store.segments");
        run("insert into queen_store.queues (tenant_id, name) values (" + TENANT + ", 'q')");
        run("insert into queen_store.groups (queue_id, name, start_rule) values (1, 'g', 'all')");
        for (Call call : CALLS) {
            for (int i = 0; i < 7; i++) {
                run("select * from " + call.sql());
            }
        }
        run(
                "insert into queen_store.partitions (queue_id, name, last_offset, last_write_at,"
                        + " last_created_at, oldest_live_at) select 1, 'p' || i, 0, t.at, t.at, t.at"
                        + " from generate_series(1, "
                        + ROWS
                        + ") i cross join lateral (select timestamptz '2026-01-01Z' + i * interval"
                        + " '10 ms' as at) t");
        run(
                "insert into queen_store.segments (epoch, partition_id, base_offset, end_offset,"
                        + " created_at, flush_id, keys, frames) select 1, p.id, 0, 0,"
                        + " p.last_created_at, 1, queen_store.key_of('t'), '\\x00000003007b7d'"
                        + " from queen_store.partitions p");
        run(
                "insert into queen_store.oldest_lanes (group_id, partition_id, unread_at) select 1,"
                        + " p.id, p.last_created_at from queen_store.partitions p where p.id <= 100");
        run(
                "insert into queen_store.counts (queue_id, group_id, lanes, stored, counted_at,"
                        + " walked_at) select 1, g, 200000, 200000, clock_timestamp(),"
                        + " clock_timestamp() from generate_series(0, 1) g");
        run("update middle set at = at + interval '1000 s'");
        run(
                "insert into queen_store.segments (epoch, partition_id, base_offset, end_offset,"
                        + " created_at, flush_id, keys, frames) select s.epoch, s.partition_id, n,"
                        + " n, s.created_at, n, s.keys, s.frames from queen_store.segments s,"
                        + " generate_series(1, 5000) n where s.partition_id = 1");
        run("update queen_store.partitions set last_offset = 5000 where id = 1");
        loadGroups();
        loadTraces();
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
                        + " t.tenant_id, t.names[1], t.created_at, t.id from queen_store.traces t");
    }

    @AfterAll
    static void drop() throws SQLException {
        connection.close();
        database.close();
    }

    private static List<@Nullable Object[]> run(String sql) throws SQLException {
        return TestDatabase.rows(connection, sql);
    }

    @Test
    void aQuestionTouchesFewBuffersHoweverManyLanesThereAre() throws SQLException {
        StringBuilder report = new StringBuilder();
        boolean within = true;
        for (Call call : CALLS) {
            int buffers = Buffers.of(connection, call.sql());
            within &= buffers <= call.buffersMax();
            report.append(buffers).append(" of ").append(call.buffersMax()).append("  ");
            report.append(call.sql()).append('\n');
        }
        assertTrue(within, report.toString());
    }
}
