package io.queenmq.insight;

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
 * Goal: who looks back pays for what was going on in the queues of the question, and for nothing
 * else. Method: 2,000 queues of one tenant and 2 of another with buckets of two days each, a week
 * of samples, plans made while the tables were empty, buffers counted.
 */
class AnalyticsPlanTest {
    private static final String FEW = "'00000000-0000-0000-0000-000000000002'::uuid, ";
    private static final String LAST_DAY =
            "clock_timestamp() - interval '1 day', clock_timestamp()";
    private static final String LAST_WEEK =
            "clock_timestamp() - interval '7 days', clock_timestamp()";

    private record Call(String function, String arguments, int buffersMax) {}

    private static final List<Call> CALLS =
            List.of(
                    new Call("show_queue_lag", FEW + LAST_DAY + ", null, 1000", 1_000),
                    new Call("show_queue_ops", FEW + LAST_DAY + ", null, 1000", 1_500),
                    new Call("show_queue_ops", FEW + LAST_DAY + ", 'few-1', 1000", 1_500),
                    new Call("show_parked", FEW + LAST_DAY + ", null, 1000", 1_500),
                    new Call("show_retention", FEW + LAST_DAY + ", null, 'queue'", 500),
                    new Call(
                            "show_workload", FEW + LAST_DAY + ", 'queue', null, null, null", 3_000),
                    new Call("show_volume", FEW + LAST_DAY + ", 'hour', null, null, null", 1_000),
                    new Call("show_partition_liveness", FEW + "null, null, null, 20", 500),
                    new Call("show_dead_letter_signatures", FEW + "'few-1', 200", 200),
                    new Call("show_system_metrics", LAST_WEEK + ", null", 2_000),
                    new Call("show_workers", LAST_DAY + ", 'few-1', null", 2_000),
                    new Call("show_status", LAST_DAY + ", 'few-1', null, null", 2_500),
                    new Call("last_samples", "interval '2 minutes'", 50),
                    new Call("has_old_buckets", "clock_timestamp() - interval '90 days'", 50),
                    new Call("sweep_buckets", "clock_timestamp() - interval '90 days', 5000", 100));

    private static TestDatabase database;
    private static Connection connection;

    @BeforeAll
    static void load() throws SQLException {
        database = TestDatabase.migrated();
        connection = database.connect();
        for (Call call : CALLS) {
            for (int i = 0; i < 7; i++) {
                run("select * from queen_store." + call.function() + "(" + call.arguments() + ")");
            }
        }
        run(
                "insert into queen_store.queues (tenant_id, name) select"
                        + " '00000000-0000-0000-0000-000000000001'::uuid, 'many-' || i from"
                        + " generate_series(1, 2000) i union all select"
                        + " '00000000-0000-0000-0000-000000000002', 'few-' || i from"
                        + " generate_series(1, 2) i");
        run(
                "insert into queen_store.queue_buckets select q.id, 15,"
                        + " queen_store.bucket_at(15, clock_timestamp()) - i * interval '15"
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
    void lookingBackTouchesWhatTheQuestionIsAbout() throws SQLException {
        StringBuilder report = new StringBuilder();
        boolean within = true;
        for (Call call : CALLS) {
            int buffers = buffers(call.function() + "(" + call.arguments() + ")");
            within &= buffers <= call.buffersMax();
            report.append(buffers).append(" of ").append(call.buffersMax()).append("  ");
            report.append(call.function()).append('\n');
        }
        assertTrue(within, report.toString());
    }

    /** Of the whole call, as the outermost plan node reports it. */
    private static int buffers(String call) throws SQLException {
        StringBuilder plan = new StringBuilder();
        for (@Nullable Object[] row :
                run(
                        "explain (analyze, buffers, timing off, summary off) select * from"
                                + " queen_store."
                                + call)) {
            plan.append(row[0]).append('\n');
        }
        Matcher matcher =
                Pattern.compile("Buffers: shared(?: hit=(\\d+))?(?: read=(\\d+))?").matcher(plan);
        return matcher.find() ? number(matcher.group(1)) + number(matcher.group(2)) : 0;
    }

    private static int number(@Nullable String digits) {
        return digits == null ? 0 : Integer.parseInt(digits);
    }
}
