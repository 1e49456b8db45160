package io.queenmq.insight;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Lines;
import io.queenmq.testkit.PlanScene;
import io.queenmq.testkit.PlanScene.Call;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Goal: who looks back pays for what was going on in the queues of the question, and for nothing
 * else. Method: 2,000 queues of one tenant and 2 of another with buckets of two days each, a week
 * of samples, a queue of 10,000 lanes that a group holds and one of 40,000 of which 1 is known;
 * plans made while the tables were empty, buffers counted.
 */
class AnalyticsPlanTest {
    private static final String FEW = "'00000000-0000-0000-0000-000000000002'::uuid, ";
    private static final String LAST_DAY =
            "clock_timestamp() - interval '1 day', clock_timestamp()";
    private static final String LAST_WEEK =
            "clock_timestamp() - interval '7 days', clock_timestamp()";

    private static final List<Call> CALLS =
            List.of(
                    new Call(of("show_queue_lag", FEW + LAST_DAY + ", null, 1000"), 1_000),
                    new Call(of("show_queue_ops", FEW + LAST_DAY + ", null, 1000"), 1_500),
                    new Call(of("show_queue_ops", FEW + LAST_DAY + ", 'few-1', 1000"), 1_500),
                    new Call(of("show_parked", FEW + LAST_DAY + ", null, 1000"), 1_500),
                    new Call(of("show_retention", FEW + LAST_DAY + ", null, 'queue'"), 500),
                    new Call(
                            of("show_workload", FEW + LAST_DAY + ", 'queue', null, null, null"),
                            3_000),
                    new Call(
                            of("show_volume", FEW + LAST_DAY + ", 'hour', null, null, null"),
                            1_000),
                    new Call(of("show_partition_liveness", FEW + "null, null, null, 20"), 500),
                    new Call(of("show_dead_letter_signatures", FEW + "'few-1', 200"), 200),
                    new Call(of("show_system_metrics", LAST_WEEK + ", null"), 2_000),
                    new Call(of("show_workers", LAST_DAY + ", 'few-1', null"), 2_000),
                    new Call(of("show_status", LAST_DAY + ", 'few-1', null, null"), 2_500),
                    new Call(of("show_status", LAST_DAY + ", 'held', null, null"), 60_000),
                    new Call(of("show_status", LAST_DAY + ", 'grown', null, null"), 60_000),
                    new Call(of("last_samples", "interval '2 minutes'"), 50),
                    new Call(of("has_old_buckets", "clock_timestamp() - interval '90 days'"), 50),
                    new Call(
                            of("sweep_buckets", "clock_timestamp() - interval '90 days', 5000"),
                            100));

    private static PlanScene scene;

    private static String of(String function, String arguments) {
        return "queen_store." + function + "(" + arguments + ")";
    }

    @BeforeAll
    static void load() throws SQLException {
        scene =
                new PlanScene(
                        "queue_buckets", "broker_samples", "queue_parked", "partitions", "cursors");
        scene.vacuum();
        scene.plan(CALLS);
        run(
                "insert into queen_store.queues (tenant_id, name) select"
                        + " '00000000-0000-0000-0000-000000000001'::uuid, 'many-' || i from"
                        + " generate_series(1, 2000) i union all select"
                        + " '00000000-0000-0000-0000-000000000002', 'few-' || i from"
                        + " generate_series(1, 2) i");
        run(
                "insert into queen_store.queue_buckets select q.id, 15,"
                        + " queen_store.bucket_at(15, statement_timestamp()) - i * interval '15"
                        + " minutes', 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 from"
                        + " generate_series(0, 191) i, queen_store.queues q");
        run(
                "insert into queen_store.brokers (name, port, version, started_at) values ('b', 1,"
                        + " 'v', clock_timestamp() - interval '7 days')");
        run(
                "insert into queen_store.broker_samples select clock_timestamp() - i * interval '1"
                        + " minute', 1, 60000"
                        + ", 1".repeat(21)
                        + " from generate_series(0, 10079) i");
        run(
                "insert into queen_store.queue_parked select q.id, 1, clock_timestamp() - interval"
                        + " '3 days', 1 from queen_store.queues q");
        loadLanes();
    }

    /** Of a third tenant, for the whole cluster is asked about them. */
    private static void loadLanes() throws SQLException {
        run(
                "insert into queen_store.queues (tenant_id, name) select"
                        + " '00000000-0000-0000-0000-000000000003'::uuid, n from"
                        + " unnest(array['held', 'grown']) n");
        run(
                "insert into queen_store.groups (queue_id, name, start_rule) select q.id, 'g',"
                        + " 'all' from queen_store.queues q where q.name in ('held', 'grown')");
        run(
                "insert into queen_store.partitions (queue_id, name) select q.id, 'p' || i from"
                        + " queen_store.queues q, generate_series(1, case q.name when 'held' then"
                        + " 10000 else 40000 end) i where q.name in ('held', 'grown')");
        run(
                "insert into queen_store.cursors (partition_id, group_id, generation, committed,"
                        + " batch_end, lease_id, lease_expires_at) select p.id, g.id, 1, -1, 0,"
                        + " gen_random_uuid(), clock_timestamp() + interval '1 hour' from"
                        + " queen_store.partitions p join queen_store.groups g on g.queue_id ="
                        + " p.queue_id");
        run(
                "insert into queen_store.counts (queue_id, group_id, lanes, counted_at) select"
                        + " q.id, 0, case q.name when 'held' then 10000 else 1 end,"
                        + " clock_timestamp() from queen_store.queues q where q.name in ('held',"
                        + " 'grown')");
    }

    @AfterAll
    static void drop() throws SQLException {
        scene.close();
    }

    private static void run(String sql) throws SQLException {
        scene.run(sql);
    }

    @Test
    void lookingBackTouchesWhatTheQuestionIsAbout() throws SQLException {
        assertEquals("", scene.findings(CALLS));
    }

    /** Three brokers, some months: sums are kept by bucket, and nothing is put aside to sort it. */
    @Test
    void aLongTimeIsAddedUpInMemory() throws SQLException {
        run(
                "insert into queen_store.broker_samples select clock_timestamp() - interval '8 days'"
                        + " - i * interval '1 minute', b, 60000"
                        + ", 1".repeat(21)
                        + " from generate_series(0, 50000) i, generate_series(2, 4) b");
        run("analyze queen_store.broker_samples");
        String all = "clock_timestamp() - interval '90 days', clock_timestamp()";
        for (String call :
                List.of(
                        of("show_workers", all + ", null, null"),
                        of("show_status", all + ", null, null, null"),
                        of("show_system_metrics", all + ", null"))) {
            String plan =
                    String.join(
                            "\n",
                            Lines.lines(
                                    scene.connection(),
                                    "explain (analyze, buffers, timing off) select " + call));
            assertTrue(plan.contains("Buffers: shared"), plan);
            assertFalse(plan.contains("temp"), call + "\n" + plan);
        }
    }

    /** Whoever is told of one lane, and finds tens of thousands, says that it does not know. */
    @Test
    void leasesAreCountedInSoManyLanesAndNoMore() throws SQLException {
        assertEquals(
                "held|10000|0,grown|10001|-1",
                Lines.line(
                        scene.connection(),
                        "select string_agg(q.name || '|' || (s.leases ->> 'active') || '|' ||"
                                + " (s.leases ->> 'statsAge'), ',' order by q.name desc) from"
                                + " unnest(array['held', 'grown']) q (name) cross join lateral"
                                + " (select queen_store.show_status("
                                + LAST_DAY
                                + ", q.name, null, null) -> 'leases' as leases) s"));
    }

    /** Five hundred days in buckets of six hours, of two thousand queues: nobody draws that. */
    @Test
    void aComparisonHasSoManyPointsAndNoMore() throws SQLException {
        assertEquals(
                "t|t",
                Lines.line(
                        scene.connection(),
                        "select json_array_length(w -> 'rows') * json_array_length(w -> 'buckets')"
                                + " between 90000 and 100000, (w ->> 'truncated')::boolean from"
                                + " queen_store.show_workload("
                                + "'00000000-0000-0000-0000-000000000001', clock_timestamp() -"
                                + " interval '499 days', clock_timestamp(), 'queue', null, null,"
                                + " null) w"));
    }
}
