package io.queenmq.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TcpProxy;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class MetricsHttpTest {
    private static TestBroker broker;
    private static Http http;

    @BeforeAll
    static void start() {
        broker = TestBroker.start();
        http = broker.http();
    }

    @AfterAll
    static void stop() {
        broker.close();
    }

    private static String scrape() {
        Http.Reply reply = http.get("/metrics/prometheus");
        assertEquals(200, reply.status());
        return reply.body();
    }

    /** A sample as it is written, its labels included; -1 if it is not there. */
    private static double sample(String text, String name) {
        Matcher value =
                Pattern.compile("^" + Pattern.quote(name) + " (\\S+)$", Pattern.MULTILINE)
                        .matcher(text);
        return value.find() ? Double.parseDouble(value.group(1)) : -1;
    }

    private static double sample(String name) {
        return sample(scrape(), name);
    }

    @Test
    @Contract("metrics-1")
    void aGlanceHasEveryField() {
        Json json = http.get("/metrics").json();
        assertEquals(
                List.of("uptime", "requests", "messages", "database", "memory", "cpu"),
                json.names());
        assertEquals(List.of("total", "rate"), json.names("requests"));
        assertEquals(List.of("total", "rate"), json.names("messages"));
        assertEquals(
                List.of("poolSize", "idleConnections", "waitingRequests"), json.names("database"));
        assertEquals(
                List.of("rss", "heapTotal", "heapUsed", "external", "arrayBuffers"),
                json.names("memory"));
        assertEquals(List.of("user", "system"), json.names("cpu"));
        for (String used : List.of("rss", "heapTotal", "heapUsed", "external")) {
            assertTrue(Long.parseLong(json.text("memory", used)) > 1_000_000, used);
        }
        assertTrue(Long.parseLong(json.text("cpu", "user")) > 0);
    }

    @Test
    @Contract("metrics-1")
    void aGlanceAddsUpPushesPopsAndAcks() {
        Json before = http.get("/metrics").json();
        http.push("glance", "p", "1", "2", "3");
        Json popped = http.pop("glance", "batch=3").json();
        http.ackBatch(popped, "completed", 0, 1, 2);
        Json after = http.get("/metrics").json();
        assertTrue(total(after, "requests") >= total(before, "requests") + 3);
        assertTrue(total(after, "messages") >= total(before, "messages") + 9);
    }

    private static long total(Json glance, String what) {
        return Long.parseLong(glance.text(what, "total"));
    }

    @Test
    @Contract("metrics-2")
    void aScrapeIsPlainTextThatNobodyKeeps() {
        Http.Reply reply = http.get("/metrics/prometheus");
        assertEquals(
                "text/plain; version=0.0.4; charset=utf-8",
                reply.response().headers().firstValue("Content-Type").orElse(""));
        assertEquals("no-cache", reply.response().headers().firstValue("Cache-Control").orElse(""));
    }

    @Test
    @Contract("metrics-2")
    void aFamilyIsDescribedOnceAndBeforeItsSamples() {
        http.push("described", "p", "1");
        Set<String> described = new HashSet<>();
        String family = "";
        for (String line : scrape().lines().toList()) {
            Matcher type = Pattern.compile("# TYPE (\\S+) \\w+").matcher(line);
            if (type.matches()) {
                family = type.group(1);
                assertTrue(described.add(family), line);
            } else if (!line.startsWith("#")) {
                assertTrue(line.startsWith(family), line);
            }
        }
    }

    @Test
    @Contract("metrics-3")
    void everyFamilyOfAProcessIsThereFromTheStart() {
        try (TestBroker fresh = TestBroker.start()) {
            String text = fresh.http().get("/metrics/prometheus").body();
            for (String name :
                    List.of(
                            "queen_uptime_seconds",
                            "queen_process_resident_memory_bytes",
                            "queen_process_push_requests_total",
                            "queen_process_pop_requests_total",
                            "queen_process_ack_requests_total",
                            "queen_process_push_messages_total",
                            "queen_process_pop_messages_total",
                            "queen_process_ack_messages_total",
                            "queen_pop_targeted_total",
                            "queen_pop_wildcard_total",
                            "queen_batches_fired_total{op=\"push\"}",
                            "queen_batch_items_fired_total{op=\"ack\"}",
                            "queen_fusion_items_per_batch{op=\"pop\"}",
                            "queen_batch_rtt_milliseconds{op=\"push\",quantile=\"0.99\"}",
                            "queen_db_pool_size",
                            "queen_db_pool_active",
                            "queen_db_pool_idle",
                            "queen_db_pool_waiting",
                            "queen_jvm_heap_used_bytes",
                            "queen_dlq_depth{scope=\"cluster\"}")) {
                assertTrue(sample(text, name) >= 0, name);
            }
            assertTrue(text.contains("# TYPE queen_parked_long_polls gauge\n"));
            assertTrue(text.contains("# TYPE queen_dlq_depth_by_queue gauge\n"));
        }
    }

    @Test
    @Contract("metrics-3")
    void whatClientsDoIsCounted() {
        String before = scrape();
        http.push("counted", "p", "1", "2");
        Json popped = http.pop("counted", "batch=2").json();
        http.get("/api/v1/pop/queue/counted/partition/p");
        http.ackBatch(popped, "completed", 0, 1);
        String after = scrape();
        for (String rise :
                List.of(
                        "queen_process_push_requests_total 1",
                        "queen_process_push_messages_total 2",
                        "queen_process_pop_requests_total 2",
                        "queen_process_pop_messages_total 2",
                        "queen_pop_targeted_total 1",
                        "queen_pop_wildcard_total 1",
                        "queen_process_ack_requests_total 1",
                        "queen_process_ack_messages_total 2",
                        "queen_batches_fired_total{op=\"ack\"} 1",
                        "queen_batch_items_fired_total{op=\"push\"} 2")) {
            String name = rise.substring(0, rise.lastIndexOf(' '));
            double least = Double.parseDouble(rise.substring(rise.lastIndexOf(' ') + 1));
            assertTrue(sample(after, name) - sample(before, name) >= least, rise);
        }
        assertTrue(sample(after, "queen_batch_rtt_milliseconds{op=\"push\",quantile=\"0.5\"}") > 0);
    }

    @Test
    @Contract("metrics-4")
    void parkedPollsAreShownByQueueWhateverItsName() {
        String queue = "a\"b\\c\nd";
        CompletableFuture<Http.Reply> poll =
                http.getLater(
                        "/api/v1/pop/queue/" + Http.encode(queue) + "?wait=true&timeout=30000");
        String name = "queen_parked_long_polls{queue=\"a\\\"b\\\\c\\nd\"}";
        Await.until("the poll is shown", () -> sample(name) == 1);
        http.post("/api/v1/push", "{\"items\":[{\"queue\":\"a\\\"b\\\\c\\nd\",\"payload\":1}]}");
        assertEquals(200, poll.join().status());
        Await.until("it is not any more", () -> sample(name) == -1);
    }

    /** 100 queues have a line each; what is beyond them is not lost. */
    @Test
    @Contract("metrics-4")
    void theOthersAreShownAsOne() {
        List<CompletableFuture<Http.Reply>> polls = new ArrayList<>();
        for (int i = 0; i < 103; i++) {
            polls.add(http.getLater("/api/v1/pop/queue/crowd" + i + "?wait=true&timeout=30000"));
        }
        String others = "queen_parked_long_polls{queue=\"other\"}";
        Await.until("three are beyond the hundred", () -> sample(others) == 3);
        assertEquals(
                101,
                scrape().lines().filter(l -> l.startsWith("queen_parked_long_polls{")).count());
        for (int i = 0; i < polls.size(); i++) {
            http.push("crowd" + i, "p", "1");
        }
        polls.forEach(poll -> assertEquals(200, poll.join().status()));
        Await.until("nobody waits", () -> sample(others) == -1);
    }

    @Test
    @Contract("metrics-4")
    void deadLettersAreShownByQueue() {
        http.push("dead", "p", "1", "2");
        Json popped = http.pop("dead", "batch=2").json();
        http.ack(popped, 0, "dlq");
        Await.until(
                "it is counted and shown",
                () ->
                        sample("queen_dlq_depth_by_queue{queue=\"dead\"}") == 1
                                && sample("queen_dlq_depth{scope=\"cluster\"}") >= 1);
    }

    @Test
    @Contract("metrics-5")
    void withoutTheDatabaseTheRestIsShown() throws IOException {
        try (TestDatabase database = TestDatabase.migrated();
                TcpProxy link = new TcpProxy(database.host(), database.port());
                TestBroker cutOff = TestBroker.over(link, database)) {
            link.refuse(true);
            link.cut();
            Http.Reply reply = cutOff.http().get("/metrics/prometheus");
            assertEquals(200, reply.status());
            assertFalse(reply.body().contains("queen_dlq_depth"), reply.body());
            assertTrue(sample(reply.body(), "queen_uptime_seconds") > 0);
            assertEquals(200, cutOff.http().get("/metrics").status());
            link.refuse(false);
        }
    }
}
