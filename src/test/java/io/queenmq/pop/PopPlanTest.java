package io.queenmq.pop;

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
 * Goal: the consuming procedures probe keys whatever the planner believed when their plans were
 * made. Method: one connection calls each of them while the tables hold next to nothing, and were
 * vacuumed as empty, which is what makes a scan look cheapest; then 200,000 lanes are loaded
 * without an analyze, and the same connection, with the same plans, may touch only so many buffers.
 */
class PopPlanTest {
    private static final int LANES = 200_000;
    private static final String TENANT = "'00000000-0000-0000-0000-000000000001'::uuid";
    private static final String TWENTY =
            "array(select (i * 9973 % 200000 + 1)::bigint from generate_series(1, 20) i)";

    private static final String SEGMENT_OF_EACH =
            "insert into queen_store.segments (epoch, partition_id, base_offset, end_offset,"
                    + " created_at, flush_id, keys, frames) select 1, i, 0, 0, clock_timestamp(), 1,"
                    + " decode(lpad(to_hex(i), 32, '0'), 'hex'), '\\x00000003007b7d' from ";
    private static final String CURSOR_IN_EACH =
            "insert into queen_store.cursors (partition_id, group_id, generation, committed)"
                    + " select i, 1, 1, -1 from ";

    /**
     * For a call of one lane: the first in a session reads some of the catalogue as well, a scan of
     * any of the tables would be over a thousand.
     */
    private static final int ONE_LANE = 300;

    /** For a claim of twenty: 765 in the first call as in every other, 38 for each lane. */
    private static final int TWENTY_LANES = 900;

    /** A call with the buffers it may touch: hits and reads, those inside the function too. */
    private record Call(String sql, int buffersMax) {}

    private static final List<Call> CALLS =
            List.of(
                    new Call(
                            "queen_store.claim_leased(array[gen_random_uuid()], array[2000], array[0],"
                                    + " array[60], array[true], 1000000, array_fill(1, array[20]), "
                                    + TWENTY
                                    + ", array_fill(1, array[20]))",
                            TWENTY_LANES),
                    new Call(
                            "queen_store.claim_auto(array[1], array[1], 1000, array[1],"
                                    + " array[77777::bigint], array[1])",
                            ONE_LANE),
                    new Call(
                            "queen_store.claim_first(array[gen_random_uuid()], array[1], array[1],"
                                    + " array[0], array[false], 1000, array[1], array[88888::bigint],"
                                    + " array[2], array['all'], array[null::timestamptz])",
                            ONE_LANE),
                    new Call(
                            "queen_store.read_segments(array[5::bigint, 150000], array[0::bigint, 0])",
                            ONE_LANE),
                    new Call(
                            "queen_store.release_lease(gen_random_uuid(), "
                                    + TWENTY
                                    + ", array_fill(1,"
                                    + " array[20]))",
                            ONE_LANE),
                    new Call(
                            "queen_store.ack_batches("
                                    + TWENTY
                                    + ", array_fill(1, array[20]), array_fill(gen_random_uuid(),"
                                    + " array[20]), array_fill(0::bigint, array[20]))",
                            400),
                    new Call(
                            "queen_store.ack_messages(array["
                                    + TENANT
                                    + "], array[123456::bigint], array['g'], array[null::uuid], array[1,"
                                    + " 1], array[decode('00', 'hex'), decode('01', 'hex')], array[0,"
                                    + " 1]::smallint[], array[null, 'x'], false)",
                            ONE_LANE),
                    new Call(
                            "queen_store.extend_lease("
                                    + TENANT
                                    + ", queen_store.lease_uuid(gen_random_uuid(), 4711), 60)",
                            ONE_LANE),
                    new Call("queen_store.lanes_with_work(1, 1, null, null, 0, 100)", 1_000),
                    new Call("queen_store.effective_cursor(199999, 1)", ONE_LANE),
                    new Call(
                            "queen_store.start_committed(199999, 0, 0, clock_timestamp(), 'instant',"
                                    + " clock_timestamp())",
                            ONE_LANE),
                    new Call("queen_store.mark_consumed(array[1])", ONE_LANE));

    private static TestDatabase database;
    private static Connection connection;

    @BeforeAll
    static void load() throws SQLException {
        database = TestDatabase.migrated();
        connection = database.connect();
        for (String table : List.of("queues", "partitions", "groups", "cursors", "leases")) {
            run("alter table queen_store." + table + " set (autovacuum_enabled = off)");
            run("vacuum analyze queen_store." + table);
        }
        for (String table : List.of("segments_0", "segments_1")) {
            run("alter table queen_store." + table + " set (autovacuum_enabled = off)");
            run("vacuum analyze queen_store." + table);
        }
        prepare();
        run(
                "insert into queen_store.queues (tenant_id, name) select "
                        + TENANT
                        + ", 'q' || i from generate_series(1, 2000) i");
        run(
                "insert into queen_store.groups (queue_id, name, start_rule) select 1, case i when 1"
                        + " then 'g' else 'g' || i end, 'all' from generate_series(1, 2000) i");
        run(
                "insert into queen_store.partitions (queue_id, name, last_offset) select 1, 'p' || i,"
                        + " 0 from generate_series(1, "
                        + LANES
                        + ") i");
        run(SEGMENT_OF_EACH + "generate_series(1, " + LANES + ") i");
        run(CURSOR_IN_EACH + "generate_series(1, " + LANES + ") i");
    }

    /**
     * Calls everything over the few lanes that the claims name: a claim that finds no lane ends
     * before its second statement, whose plan would then be made by the first call that is measured
     * and cost it 150 buffers of the catalogue.
     */
    private static void prepare() throws SQLException {
        String lanes = "unnest(" + TWENTY + " || array[77777::bigint, 88888]) i";
        run(
                "insert into queen_store.queues (id, tenant_id, name) overriding system value"
                        + " values (1, "
                        + TENANT
                        + ", 'q')");
        run(
                "insert into queen_store.groups (id, queue_id, name, start_rule) overriding system"
                        + " value values (1, 1, 'g', 'all'), (2, 1, 'h', 'all')");
        run(
                "insert into queen_store.partitions (id, queue_id, name, last_offset) overriding"
                        + " system value select i, 1, 'p' || i, 0 from "
                        + lanes);
        run(SEGMENT_OF_EACH + lanes);
        run(CURSOR_IN_EACH + lanes);
        for (Call call : CALLS) {
            for (int i = 0; i < 7; i++) {
                run("select * from " + call.sql());
            }
        }
        for (String table :
                List.of("leases", "cursors", "segments", "partitions", "groups", "queues")) {
            run("delete from queen_store." + table);
        }
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
    void everyCallTouchesAFewBuffersPerLaneAndScansNoTable() throws SQLException {
        long scans = sequentialScans();
        StringBuilder report = new StringBuilder();
        boolean within = true;
        for (Call call : CALLS) {
            int buffers = Buffers.of(connection, call.sql());
            within &= buffers <= call.buffersMax();
            report.append(buffers).append(" of ").append(call.buffersMax()).append("  ");
            report.append(call.sql(), 0, 30).append('\n');
        }
        assertTrue(within, report.toString());
        assertEquals(scans, sequentialScans(), report.toString());
    }

    /** Of the tables that grow; epochs has two rows and is read whole. */
    private static long sequentialScans() throws SQLException {
        run("select pg_stat_force_next_flush()");
        Object scans =
                run("select sum(seq_scan)::bigint from pg_stat_user_tables where schemaname ="
                                + " 'queen_store' and relname in ('queues', 'partitions', 'groups',"
                                + " 'cursors', 'leases', 'segments_0', 'segments_1')")
                        .getFirst()[0];
        return scans instanceof Long count ? count : -1;
    }
}
