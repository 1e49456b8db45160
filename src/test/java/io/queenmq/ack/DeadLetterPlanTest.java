package io.queenmq.ack;

import static org.junit.jupiter.api.Assertions.assertEquals;
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
 * Goal: what is asked of dead letters, and moving a group, costs the same however many there are.
 * Method: 200,000 dead letters in a queue of 200,000 lanes, plans made while the tables were empty,
 * buffers counted.
 */
class DeadLetterPlanTest {
    private static final String TENANT = "'00000000-0000-0000-0000-000000000001'::uuid";
    private static final int ROWS = 200_000;

    /** A call that changes nothing the others rely on, and how many buffers it may touch. */
    private record Call(String sql, int buffersMax) {}

    private static final List<Call> CALLS =
            List.of(
                    new Call(list("null", "null", "null", 100, 0), 400),
                    new Call(
                            "queen_store.read_dead_letters(array(select generate_series(5001,"
                                    + " 5100)))",
                            1_500),
                    new Call(list("'nobody'", "null", "null", 100, 0), 1_500),
                    new Call(
                            "queen_store.count_dead_letters("
                                    + TENANT
                                    + ", 'q', 'nobody', null, null, null, null, 5000)",
                            1_500),
                    new Call(list("'g'", "null", "null", 100, 1_000), 3_000),
                    new Call(
                            list("null", "(select failed_at from middle)", "100000", 100, 0),
                            1_000),
                    new Call("queen_store.dead_letters_of(" + TENANT + ", 4711, 'txn-4711')", 60),
                    new Call(
                            "queen_store.delete_dead_letter(" + TENANT + ", 4712, 'txn-4712')",
                            100),
                    new Call(
                            "queen_store.oldest_dead_letters("
                                    + TENANT
                                    + ", 'q', null, null, null, 100)",
                            200),
                    new Call(
                            "queen_store.delete_dead_letters("
                                    + TENANT
                                    + ", 'q', 'nobody', clock_timestamp(), null, null, 1000)",
                            5_000),
                    new Call(
                            "queen_store.seek_lane("
                                    + TENANT
                                    + ", 'q', 'p199999', 'g', 'beginning', null, null)",
                            200),
                    new Call(
                            "queen_store.update_subscription("
                                    + TENANT
                                    + ", 'g', clock_timestamp())",
                            100),
                    new Call("queen_store.groups_named(" + TENANT + ", 'q', 'g')", 60));

    private static TestDatabase database;
    private static Connection connection;

    private static String list(String group, String at, String id, int limit, int offset) {
        return ("queen_store.find_dead_letters(%s, 'q', %s, null, null, null, null, %s, %s, %d, %d,"
                        + " 5000)")
                .formatted(TENANT, group, at, id, limit, offset);
    }

    @BeforeAll
    static void load() throws SQLException {
        database = TestDatabase.migrated();
        connection = database.connect();
        run("create temp table middle as select clock_timestamp() as failed_at");
        for (String table : List.of("queues", "partitions", "groups", "cursors", "dead_letters")) {
            run("alter table queen_store." + table + " set (autovacuum_enabled = off)");
            run("vacuum analyze queen_store." + table);
        }
        run("insert into queen_store.queues (tenant_id, name) values (" + TENANT + ", 'q')");
        run("insert into queen_store.groups (queue_id, name, start_rule) values (1, 'g', 'all')");
        for (Call call : CALLS) {
            for (int i = 0; i < 7; i++) {
                run("select * from " + call.sql());
            }
        }
        run(
                "insert into queen_store.partitions (queue_id, name) select 1, 'p' || i from"
                        + " generate_series(1, "
                        + ROWS
                        + ") i");
        run(
                "insert into queen_store.dead_letters (queue_id, partition_id, group_name,"
                        + " \"offset\", message_id, transaction_id, key, flags, error, payload,"
                        + " failed_at) select 1, p.id, case p.id % 2 when 0 then 'g' else 'h' end, 0,"
                        + " gen_random_uuid(), 'txn-' || p.id, queen_store.key_of('txn-' || p.id), 0,"
                        + " 'because', '{}', clock_timestamp() - interval '1 day' + p.id * interval '1"
                        + " millisecond' from queen_store.partitions p");
        run(
                "insert into queen_store.counts (queue_id, group_id, lanes, counted_at) values (1,"
                        + " 0, "
                        + ROWS
                        + ", clock_timestamp())");
        run(
                "update middle set failed_at = (select failed_at from queen_store.dead_letters"
                        + " where transaction_id = 'txn-100000')");
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
    void aCallTouchesFewBuffersHoweverManyRowsThereAre() throws SQLException {
        StringBuilder report = new StringBuilder();
        boolean within = true;
        for (Call call : CALLS) {
            int buffers = Buffers.of(connection, call.sql());
            within &= buffers <= call.buffersMax();
            report.append(buffers).append(" of ").append(call.buffersMax()).append("  ");
            report.append(call.sql(), 0, 40).append('\n');
        }
        assertTrue(within, report.toString());
    }

    /** That of the group, and one that says so to the statistics. */
    @Test
    void movingOrDeletingAGroupWritesTwoRows() throws SQLException {
        long before = written();
        run(
                "select from queen_store.seek_queue("
                        + TENANT
                        + ", 'q', 'g', 'instant', clock_timestamp())");
        run("select from queen_store.delete_group(" + TENANT + ", 'q', 'g', false)");
        assertEquals(4, written() - before);
    }

    /** As many as were told: nobody adds them up. */
    @Test
    void movingOrDeletingAGroupReadsNoLanes() throws SQLException {
        String seek = "queen_store.seek_queue(" + TENANT + ", 'q', 'g', 'beginning', null)";
        String delete = "queen_store.delete_group(" + TENANT + ", 'q', 'g', false)";
        for (String call : List.of(seek, delete)) {
            int buffers = Buffers.of(connection, call);
            assertTrue(buffers <= 400, buffers + " " + call);
            assertEquals(200_000L, run("select lane_count from " + call).getFirst()[0]);
        }
    }

    /** Rows written, of whatever table. */
    private static long written() throws SQLException {
        run("select pg_stat_force_next_flush()");
        Object rows =
                run("select sum(n_tup_ins + n_tup_upd + n_tup_del)::bigint from pg_stat_user_tables"
                                + " where schemaname = 'queen_store'")
                        .getFirst()[0];
        return rows instanceof Long count ? count : -1;
    }
}
