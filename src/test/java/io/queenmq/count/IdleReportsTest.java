package io.queenmq.count;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.pop.Client;
import io.queenmq.pop.PopRequest;
import io.queenmq.pop.PopScope;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.ConsumeEngine;
import java.time.Duration;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What a broker without traffic writes. */
class IdleReportsTest {
    private static final int QUEUES = 10_000;

    private static PopRequest waiting(int queue) {
        return ConsumeEngine.waiting(
                ConsumeEngine.request(new PopScope.Queue("q" + queue), PopRequest.QUEUE_MODE),
                Duration.ofMinutes(5));
    }

    /** Every table of the broker but the samples, by what is in it. */
    private static Map<String, String> tables(ConsumeEngine engine) {
        Map<String, String> contents = new TreeMap<>();
        for (@Nullable Object[] name :
                engine.rows(
                        "select relname from pg_stat_user_tables where schemaname ="
                                + " 'queen_store' and relname <> 'broker_samples'")) {
            contents.put(
                    String.valueOf(name[0]),
                    String.valueOf(
                            engine.rows(
                                            "select concat_ws(' ', count(*),"
                                                    + " sum(hashtext(t::text || t.xmin::text)))"
                                                    + " from queen_store."
                                                    + name[0]
                                                    + " t")
                                    .getFirst()[0]));
        }
        return contents;
    }

    private static long count(ConsumeEngine engine, String table) {
        return Long.parseLong(
                String.valueOf(
                        engine.rows("select count(*) from queen_store." + table).getFirst()[0]));
    }

    /**
     * Goal: waiting costs no rows. Method: a consumer parked at each of 10,000 queues without a
     * message; what all tables hold before and after some reports.
     */
    @Test
    void writesASampleAndNothingElseHoweverManyConsumersWait() {
        try (ConsumeEngine engine = new ConsumeEngine();
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            engine.rows(
                    "insert into queen_store.queues (tenant_id, name) select"
                            + " '00000000-0000-0000-0000-000000000001', 'q' || i from"
                            + " generate_series(1, "
                            + QUEUES
                            + ") i");
            engine.rows(
                    "insert into queen_store.groups (queue_id, name, start_rule, conflation)"
                            + " select id, '"
                            + PopRequest.QUEUE_MODE
                            + "', 'all', false from queen_store.queues");
            for (int i = 1; i <= QUEUES; i++) {
                PopRequest request = waiting(i);
                threads.execute(() -> engine.pop.pop(request, Client.PRESENT));
            }
            Await.until(
                    "all of them park", () -> engine.metrics.value("queen_ready_polls") == QUEUES);
            Reports reports =
                    new Reports(
                            new ReportConfig(
                                    "idle", Duration.ofMillis(20), Duration.ofMinutes(1), 0),
                            engine.counts,
                            engine.database,
                            () -> 6632,
                            engine.metrics,
                            Clock.SYSTEM);
            try {
                Await.until("all of them are told", () -> count(engine, "queue_parked") == QUEUES);
                Map<String, String> before = tables(engine);
                long samples = count(engine, "broker_samples");
                Await.until("more reports", () -> count(engine, "broker_samples") >= samples + 5);
                assertEquals(before, tables(engine));
            } finally {
                reports.close();
                engine.pop.wakeAll();
            }
        }
    }

    private static void reportOnce(ConsumeEngine engine, int port) {
        new Reports(
                        new ReportConfig("early", Duration.ofHours(1), Duration.ofMinutes(1), 0),
                        engine.counts,
                        engine.database,
                        () -> port,
                        engine.metrics,
                        Clock.SYSTEM)
                .close();
    }

    /** By name and port it is one broker: before it listens it has no port. */
    @Test
    void whoDoesNotListenYetIsNoBroker() {
        try (ConsumeEngine engine = new ConsumeEngine()) {
            reportOnce(engine, 0);
            assertEquals(0, count(engine, "brokers"));
            reportOnce(engine, 6_632);
            assertEquals(1, count(engine, "brokers"));
        }
    }
}
