package io.queenmq.count;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.db.Database;
import io.queenmq.metrics.ProcessUse;
import io.queenmq.runtime.TickLag;
import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Rows that reports become, and for how long. */
class ReportProceduresTest {
    private static final long MINUTE_MILLIS = 60_000;

    private CountScene scene;
    private Database database;
    private ReportProcedures procedures;
    private final Activities activities = new Activities();

    @BeforeEach
    void open() throws SQLException {
        scene = new CountScene();
        database = scene.database.pool();
        procedures = new ReportProcedures(database);
    }

    @AfterEach
    void close() throws SQLException {
        database.close();
        scene.close();
    }

    private @Nullable Object value(String sql) throws SQLException {
        return scene.log.value(sql);
    }

    private static Sample sample(long requests) {
        return new Sample(
                MINUTE_MILLIS,
                new long[] {requests, 7, requests, 6, requests, 5, 1, 0, 2, 900},
                400,
                3,
                new TickLag.Lag(10, 20),
                new ProcessUse.Cpu(600_000, 60_000),
                1 << 20,
                new int[] {8, 1, 2, 0});
    }

    private void fold() throws SQLException {
        value("select queen_store.fold_counts(10000)");
    }

    @Test
    void aBrokerNobodyKnowsRegistersAnew() throws SQLException {
        assertFalse(procedures.reportBroker(4_711, sample(1), List.of()));
        assertEquals(0L, value("select count(*) from queen_store.broker_samples"));
        int broker = procedures.register("b", 6_632);
        assertTrue(procedures.reportBroker(broker, sample(1), List.of()));
        assertTrue(procedures.register("b", 6_632) > broker);
        assertEquals(
                "b 6632 18 3 0.01 1.10 1048576 8 1 2 0",
                value(
                        "select concat_ws(' ', broker, port, messages, parked, tick_lag_ms,"
                                + " cpu_percent, resident_bytes, pool_size, pool_active, pool_idle,"
                                + " pool_waiting) from queen.brokers"));
    }

    /** One field of what brokers used of their machines in the last hour. */
    private @Nullable Object machines(String field) throws SQLException {
        return value(
                "select (queen_store.show_system_metrics(clock_timestamp() - interval '1 hour',"
                        + " clock_timestamp(), null)::jsonb #> '{"
                        + field
                        + "}')::text");
    }

    private void start(String name, int port) throws SQLException {
        procedures.reportBroker(procedures.register(name, port), sample(1), List.of());
    }

    @Test
    void aBrokerThatWasStartedAgainIsOne() throws SQLException {
        start("b", 6_632);
        start("b", 6_632);
        start("b", 6_632);
        assertEquals(1L, value("select count(*) from queen.brokers"));
        assertEquals("1", machines("replicaCount"));
        assertEquals("3", machines("replicas,0,timeSeries,0,sampleCount"));
        assertEquals("8", machines("replicas,0,timeSeries,0,metrics,database,pool_size,max"));
        assertEquals(
                "8",
                value(
                        "select queen_store.show_status(clock_timestamp() - interval '1 hour',"
                                + " clock_timestamp(), null, null, null)::jsonb #>>"
                                + " '{throughput,0,dbPoolSize}'"));
    }

    @Test
    void anotherPortOrNameIsAnotherBroker() throws SQLException {
        start("b", 6_632);
        start("b", 6_633);
        start("c", 6_632);
        assertEquals(3L, value("select count(*) from queen.brokers"));
        assertEquals("3", machines("replicaCount"));
    }

    /** Two that were given one name are seen as two while both report. */
    @Test
    void aProcessThatReportsBehindTheNextOneIsStillThere() throws SQLException {
        int first = procedures.register("b", 6_632);
        procedures.reportBroker(first, sample(1), List.of());
        start("b", 6_632);
        procedures.reportBroker(first, sample(1), List.of());
        assertEquals(2L, value("select count(*) from queen.brokers"));
    }

    @Test
    void aBrokerThatReportsNoMoreIsHistoryAndCountsNoMore() throws SQLException {
        start("gone", 6_632);
        scene.log.run(
                "update queen_store.broker_samples set sampled_at = sampled_at - interval '10"
                        + " minutes'");
        start("b", 6_632);
        assertEquals("b", value("select string_agg(broker, ' ') from queen.brokers"));
        assertEquals("1", machines("replicaCount"));
        assertEquals("\"gone\"", machines("replicas,0,hostname"));
        assertEquals("false", machines("replicas,0,alive"));
        assertEquals("1", machines("replicas,0,timeSeries,0,sampleCount"));
        assertEquals("true", machines("replicas,1,alive"));
        // At the end of the time that is asked for it was there.
        assertEquals(
                "1/true",
                value(
                        "select concat_ws('/', m -> 'replicaCount', m #> '{replicas,0,alive}')"
                                + " from (select queen_store.show_system_metrics("
                                + "clock_timestamp() - interval '1 hour', clock_timestamp() -"
                                + " interval '9 minutes', null)::jsonb as m) s"));
    }

    @Test
    void totalsChangeOnlyWhereSomethingWasDone() throws SQLException {
        int broker = procedures.register("b", 6_632);
        Object before = value("select xmin::text from queen_store.totals");
        procedures.reportBroker(
                broker,
                new Sample(
                        1,
                        new long[10],
                        0,
                        0,
                        new TickLag.Lag(0, 0),
                        new ProcessUse.Cpu(0, 0),
                        0,
                        new int[4]),
                List.of());
        assertEquals(before, value("select xmin::text from queen_store.totals"));
        procedures.reportBroker(broker, sample(1), List.of());
        procedures.reportBroker(broker, sample(2), List.of());
        assertEquals(
                "3 0 3 12 3 10 4 2 0",
                value(
                        "select concat_ws(' ', push_requests, push_messages, pop_requests,"
                                + " pop_messages, ack_requests, ack_messages, ack_failed,"
                                + " transactions, database_errors) from queen_store.totals"));
    }

    @Test
    void whatHappenedGoesToTheBucketsOfAllWidths() throws SQLException {
        int queue = scene.log.queue();
        activities.popped(queue);
        activities.delivered(queue, 3, 100, false);
        activities.delivered(queue, 1, 500, true);
        activities.acknowledged(queue, 2, 1, 4);
        activities.poppedNothing(queue);
        procedures.reportQueues(MINUTE_MILLIS, activities.take());
        activities.popped(queue);
        activities.delivered(queue, 1, 50, false);
        procedures.reportQueues(MINUTE_MILLIS, activities.take());
        for (int minutes : List.of(1, 15, 360)) {
            // The two may have come in different minutes.
            assertEquals(
                    "2 5 1 1 3 1 4 850 500",
                    value(
                            "select concat_ws(' ', sum(pops), sum(pop_messages), sum(empty_pops),"
                                    + " sum(ack_requests), sum(acks), sum(failed_acks),"
                                    + " sum(conflated), sum(lag_ms_sum), max(lag_ms_max)) from"
                                    + " queen_store.queue_buckets where minutes = "
                                    + minutes));
        }
        assertEquals(
                0L,
                value(
                        "select count(*) from queen_store.queue_buckets where bucket <>"
                                + " queen_store.bucket_at(minutes, bucket)"));
    }

    @Test
    void popsThatGetNothingAloneAreNoTraffic() throws SQLException {
        int queue = scene.log.queue();
        activities.poppedNothing(queue);
        assertEquals(List.of(), activities.take());
        activities.popped(queue);
        assertEquals(1, activities.take().size());
    }

    @Test
    void whatWasStoredOrGivenUpComesFromTheCountsWhoeverDidIt() throws SQLException {
        value("select status from queen.push('q', 'p', '{}', 't')");
        value("select status from queen.push('q', 'p', '{}', 'u')");
        fold();
        value(
                "select queen_store.add_counts(array[queue_id], array[1], null, null, null, null,"
                        + " null, array[1::bigint], null, false) from queen.queues");
        value(
                "select queen_store.add_counts(array[queue_id], array[0], array[-1::bigint], null,"
                        + " null, null, null, array[-1::bigint], null, false) from queen.queues");
        fold();
        assertEquals(
                "2 1 1 1",
                value(
                        "select concat_ws(' ', sum(push_messages), sum(lanes_made),"
                                + " sum(lanes_removed), sum(dead_letters)) from"
                                + " queen_store.queue_buckets where minutes = 360"));
        assertEquals(
                "2 1",
                value(
                        "select concat_ws(' ', push_messages, dead_letters) from queen_store.totals"));
        fold();
        assertEquals(
                2L,
                value(
                        "select sum(push_messages)::bigint from queen_store.queue_buckets where"
                                + " minutes = 15"));
    }

    @Test
    void narrowBucketsGoFirstAndParkedPopsStayWhileTheyHold() throws SQLException {
        int queue = scene.log.queue();
        int broker = procedures.register("b", 6_632);
        int gone = procedures.register("b", 6_632);
        scene.log.run("update queen_store.brokers set started_at = '2020-01-01Z'");
        String zeros = ", 0".repeat(15);
        scene.log.run(
                "insert into queen_store.queue_buckets select "
                        + queue
                        + ", m, queen_store.bucket_at(m, clock_timestamp() - make_interval(days =>"
                        + " d))"
                        + zeros
                        + " from unnest(array[1, 15, 360]) m, unnest(array[1, 3, 15, 40]) d");
        scene.log.run(
                "insert into queen_store.queue_parked select "
                        + queue
                        + ", b, clock_timestamp() - make_interval(days => d), d from unnest(array["
                        + broker
                        + ", "
                        + gone
                        + "]) b, unnest(array[1, 40, 50]) d");
        procedures.reportBroker(broker, sample(0), List.of());
        assertEquals(
                true,
                value("select queen_store.has_old_buckets(clock_timestamp() - interval '30 d')"));
        assertEquals(
                6,
                value(
                        "select queen_store.sweep_buckets(clock_timestamp() - interval '30 d', 100)"));
        assertEquals(
                false,
                value("select queen_store.has_old_buckets(clock_timestamp() - interval '30 d')"));
        assertEquals(
                "1/1 15/2 360/3",
                value(
                        "select string_agg(minutes || '/' || n, ' ' order by minutes) from (select"
                                + " minutes, count(*) as n from queen_store.queue_buckets group by"
                                + " minutes) b"));
        // Of a broker that is gone nothing is left.
        assertEquals(broker, value("select min(id) from queen_store.brokers"));
        assertEquals(broker, value("select max(id) from queen_store.brokers"));
        assertEquals("1 40 50", parked());
        // What was told 40 days ago was the number there was until yesterday.
        procedures.reportBroker(
                broker, sample(0), List.of(new Activities.Parked(new Activity(queue), 7)));
        assertEquals("1 7 40", parked());
    }

    /** Goal: who is gone waits no more. Method: the one report of a broker, seen in six hours. */
    @Test
    void popsParkedAtABrokerThatIsGoneWaitNoMore() throws SQLException {
        int queue = scene.log.queue();
        int broker = procedures.register("b", 6_632);
        procedures.reportBroker(
                broker, sample(0), List.of(new Activities.Parked(new Activity(queue), 9)));
        scene.log.run("update queen_store.broker_samples set sampled_at = '2026-01-01 00:10Z'");
        scene.log.run("update queen_store.queue_parked set since = '2026-01-01 00:10Z'");
        assertEquals(
                "0.05",
                value(
                        "select round(sum(parked), 2)::text from queen_store.read_parked(null, null,"
                                + " null, null, '2026-01-01Z', '2026-01-01 05:59Z', 360)"),
                "9 for two minutes");
    }

    private String parked() throws SQLException {
        return String.valueOf(
                value(
                        "select string_agg(parked::text, ' ' order by parked) from"
                                + " queen_store.queue_parked"));
    }
}
