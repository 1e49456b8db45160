package io.queenmq.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class SystemHttpTest {
    private static final String SYSTEM = "/api/v1/system";

    private static TestDatabase database;
    private static TestBroker broker;
    private static Http http;

    @BeforeAll
    static void start() {
        database = TestDatabase.migrated();
        // Nothing is told or reported by itself while the tests run, but for one report.
        broker =
                TestBroker.withEnvironment(
                        database,
                        Map.of("STATS_INTERVAL_MS", "3600000", "METRICS_FLUSH_MS", "1000"));
        http = broker.http();
    }

    @AfterAll
    static void stop() {
        broker.close();
        database.close();
    }

    private static Json job(String name) {
        Json jobs = http.get(SYSTEM + "/jobs").json();
        return jobs.at("jobs", jobs.each("jobs", "name").indexOf(name));
    }

    @Test
    @Contract("system-1")
    void aJobIsPausedAndMadeDueByHand() {
        Await.until(
                "jobs are there",
                () -> http.get(SYSTEM + "/jobs").json().each("jobs", "name").contains("sweep"));
        assertEquals(200, http.post(SYSTEM + "/jobs/sweep", "{\"enabled\":false}").status());
        assertEquals("paused", job("sweep").text("state"));
        String due = job("sweep").text("nextDueAt");
        assertEquals(
                200,
                http.post(SYSTEM + "/jobs/sweep", "{\"enabled\":true,\"runNow\":true}").status());
        assertEquals("at rest", job("sweep").text("state"));
        assertTrue(job("sweep").text("nextDueAt").compareTo(due) > 0);
        assertEquals(404, http.post(SYSTEM + "/jobs/none", "{\"runNow\":true}").status());
        assertEquals(400, http.post(SYSTEM + "/jobs/sweep", "{}").status());
        assertEquals(400, http.post(SYSTEM + "/jobs/sweep", "{\"enabled\":1}").status());
    }

    @Test
    @Contract("system-1")
    void theCleanUpBehindADeletedQueueShowsHowFarItIs() {
        Await.until(
                "jobs are there",
                () -> http.get(SYSTEM + "/jobs").json().each("jobs", "name").contains("cleanup"));
        assertEquals(200, http.post(SYSTEM + "/jobs/cleanup", "{\"enabled\":false}").status());
        for (String partition : List.of("a", "b", "c")) {
            http.push("left", partition, "1");
        }
        long runs = Long.parseLong(job("cleanup").text("runs"));
        assertEquals(200, http.delete("/api/v1/resources/queues/left").status());
        Json progress = job("cleanup").at("progress");
        assertEquals("1", progress.text("queues"));
        assertEquals("3", progress.text("partitions"));
        assertFalse(progress.isNull("deletedAt"));
        assertTrue(job("sweep").isNull("progress"));
        assertEquals(
                200,
                http.post(SYSTEM + "/jobs/cleanup", "{\"enabled\":true,\"runNow\":true}").status());
        Await.until("nothing is left", () -> job("cleanup").text("progress", "queues").equals("0"));
        Json job = job("cleanup");
        assertEquals("0", job.text("progress", "partitions"));
        assertTrue(job.isNull("progress", "deletedAt"));
        Await.until("the run has ended", () -> Long.parseLong(job("cleanup").text("runs")) > runs);
        assertTrue(job("cleanup").isNull("lastError"));
    }

    @Test
    @Contract("system-2")
    void whoHoldsPartitionsIsNamedAndEnded() throws SQLException {
        http.push("held", "p", "0");
        try (Connection holder = database.connect()) {
            holder.setAutoCommit(false);
            String pid =
                    String.valueOf(
                            TestDatabase.rows(
                                            holder,
                                            "select pg_backend_pid() from queen.push('held', 'p',"
                                                    + " '{}')")
                                    .getFirst()[0]);
            Await.until(
                    "it holds for a second",
                    () -> {
                        Json blocked = http.get(SYSTEM + "/blocked").json();
                        return blocked.each("holders", "pid").contains(pid);
                    });
            Json blocked = http.get(SYSTEM + "/blocked").json();
            int at = blocked.each("holders", "pid").indexOf(pid);
            assertEquals("held", blocked.text("holders", at, "partitions", 0, "queue"));
            assertEquals("p", blocked.text("holders", at, "partitions", 0, "partition"));
            assertEquals("true", blocked.text("holders", at, "partitionsComplete"));
            assertEquals(404, http.post(SYSTEM + "/blocked/1/terminate", "").status());
            assertEquals(404, http.post(SYSTEM + "/blocked/me/terminate", "").status());
            assertEquals(
                    "{\"success\":true,\"pid\":" + pid + "}",
                    http.post(SYSTEM + "/blocked/" + pid + "/terminate", "").body());
            assertThrows(SQLException.class, () -> TestDatabase.rows(holder, "select 1"));
        }
    }

    @Test
    @Contract("system-2")
    void whoHoldsNothingIsLeftAlone() throws SQLException {
        try (Connection reader = database.connect()) {
            reader.setAutoCommit(false);
            String pid =
                    String.valueOf(
                            TestDatabase.rows(
                                            reader,
                                            "select pg_backend_pid() from queen_store.partitions"
                                                    + " union all select pg_backend_pid()")
                                    .getFirst()[0]);
            assertEquals(404, http.post(SYSTEM + "/blocked/" + pid + "/terminate", "").status());
            assertEquals(1, TestDatabase.rows(reader, "select 1").size());
        }
    }

    @Test
    @Contract("system-3")
    void storageNamesTheEpochsAndWhoFillsThem() {
        http.push("stored", "p", "1");
        http.post("/api/v1/stats/refresh", "");
        Json storage = http.get(SYSTEM + "/storage").json();
        assertEquals("open", storage.text("epochs", 1, "state"));
        assertTrue(Long.parseLong(storage.text("epochs", 1, "bytes")) > 0);
        assertTrue(storage.each("queues", "queue").contains("stored"));
    }

    @Test
    @Contract("system-4")
    void whatIsCountedIsToldAndAddedUpAtOnce() {
        AtomicInteger pushed = new AtomicInteger();
        // The job may come first, and add up what this refresh was to find.
        Await.until(
                "a refresh that finds changes",
                () -> {
                    http.push("counted", "p", Integer.toString(pushed.incrementAndGet()));
                    Json refreshed = http.post("/api/v1/stats/refresh", "").json();
                    assertEquals("segments", refreshed.text("engine"));
                    assertTrue(Long.parseLong(refreshed.text("segPartitions")) > 0);
                    return Long.parseLong(refreshed.text("changes")) > 0;
                });
        assertEquals(
                Integer.toString(pushed.get()),
                http.get("/api/v1/resources/queues?stats=cached&search=counted")
                        .json()
                        .text("queues", 0, "messages", "total"));
    }

    @Test
    @Contract("system-5")
    void aBrokerTellsWhetherItHearsTheOthers() {
        broker.awaitListening();
        Await.until(
                "it has reported",
                () ->
                        http.get("/internal/api/inter-instance/stats")
                                .json()
                                .text("servers_alive")
                                .equals("1"));
        Json stats = http.get("/internal/api/shared-state/stats").json();
        assertEquals("pg-notify", stats.text("transport"));
        assertEquals("0", stats.text("peer_count"));
        assertEquals("true", stats.text("running"));
        Json shared = http.get(SYSTEM + "/shared-state").json();
        assertEquals("true", shared.text("enabled"));
        assertEquals("false", shared.text("pop_maintenance_mode"));
    }

    @Test
    @Contract("system-6")
    void aWakeFromOutsideLetsParkedPopsLookAgain() throws SQLException {
        http.push("woken", "p", "1");
        http.pop("woken", "autoAck=true");
        CompletableFuture<Http.Reply> parked =
                http.getLater("/api/v1/pop/queue/woken?wait=true&timeout=60000");
        broker.awaitParked(1);
        try (Connection quiet = database.connect()) {
            TestDatabase.rows(quiet, "set queen.notify = off");
            TestDatabase.rows(quiet, "select status from queen.push('woken', 'p', '{\"n\":2}')");
        }
        assertEquals(
                "{\"status\":\"ok\"}",
                http.post("/internal/api/notify", "{\"queue\":\"woken\"}").body());
        assertEquals(1, parked.join().payloads().size());
        assertEquals(200, http.post("/internal/api/notify", "{\"queue\":\"nowhere\"}").status());
        assertEquals(400, http.post("/internal/api/notify", "{\"queue\":\"\"}").status());
        assertEquals(400, http.post("/internal/api/notify", "{}").status());
    }

    @Test
    @Contract("metrics-6")
    void totalsAreOfAllBrokersAndOutliveQueues() {
        http.push("gone", "p", "1", "2", "3");
        http.post("/api/v1/stats/refresh", "");
        http.delete("/api/v1/resources/queues/gone");
        Await.until(
                "it is told",
                () ->
                        number("queen_cluster_push_messages_total{scope=\"cluster\"}") >= 3
                                && number("queen_cluster_push_requests_total{scope=\"cluster\"}")
                                        >= 1);
        assertTrue(number("queen_cluster_ack_total{scope=\"cluster\",result=\"failed\"}") >= 0);
    }

    @Test
    @Contract("metrics-7")
    void aMinuteOfAQueueIsShownOnceAllHaveToldIt() throws SQLException {
        http.push("told", "p", "1");
        String minute = "queen_store.bucket_at(1, clock_timestamp()) - interval '3 minutes'";
        try (Connection connection = database.connect()) {
            TestDatabase.rows(
                    connection,
                    "insert into queen_store.queue_buckets select queue_id, 1, "
                            + minute
                            + ", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 0, 0, 0, 80, 50 from queen.queues"
                            + " where queue = 'told'");
        }
        Await.until(
                "it is shown",
                () -> number("queen_queue_push_messages_per_minute{queue=\"told\"}") == 2);
        assertEquals(8, number("queen_queue_ack_per_minute{queue=\"told\",result=\"failed\"}"));
        assertEquals(20, number("queen_queue_pop_lag_milliseconds{queue=\"told\",stat=\"avg\"}"));
        assertEquals(50, number("queen_queue_pop_lag_milliseconds{queue=\"told\",stat=\"max\"}"));
        assertTrue(number("queen_queue_metrics_age_seconds{queue=\"told\"}") >= 120);
    }

    /** A sample as it is scraped; -1 = it is not there. */
    private static double number(String sample) {
        return http.get("/metrics/prometheus")
                .body()
                .lines()
                .filter(line -> line.startsWith(sample + " "))
                .mapToDouble(line -> Double.parseDouble(line.substring(sample.length() + 1)))
                .findFirst()
                .orElse(-1);
    }
}
