package io.queenmq.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What was going on, as a broker tells it that has done one thing of everything. */
class StatusHttpTest {
    private static final String OTHER = "00000000-0000-0000-0000-00000000000f";
    private static final String ANALYTICS = "/api/v1/analytics/";

    private static TestDatabase database;
    private static TestBroker broker;
    private static Http http;

    @BeforeAll
    static void start() {
        database = TestDatabase.migrated();
        broker =
                TestBroker.withEnvironment(
                        database,
                        Map.of(
                                "STATS_INTERVAL_MS", "1000",
                                "METRICS_FLUSH_MS", "1000",
                                "QUEEN_SERVER_ID", "broker-1",
                                "QUEEN_TENANCY_HEADER", "true"));
        http = broker.http();
        http.push("shop.fulfil.orders", "x", "1", "2", "3");
        Json popped =
                http.pop("shop.fulfil.orders", "consumerGroup=g&subscriptionMode=all&batch=3")
                        .json();
        http.ackBatch(popped, "completed", 0, 1);
        http.ack(popped, 2, "dlq");
        http.as(OTHER).push("theirs", "x", "1");
        Await.until(
                "all of it is told",
                () -> {
                    Json status = status("");
                    return sum(status, "throughput", "ingested") == 4
                            && sum(status, "throughput", "processed") == 2
                            && sum(status, "throughput", "dlqCount") == 1
                            && status.at("messages").text("deadLetter").equals("1")
                            && status.size("workers") == 1;
                });
        Await.until(
                "a walk has come by",
                () ->
                        !analytics("partition-liveness?queue=shop.fulfil.orders")
                                .isNull("rows", 0, "live1h"));
    }

    @AfterAll
    static void stop() {
        broker.close();
        database.close();
    }

    private static Json status(String query) {
        return http.get("/api/v1/status" + query).json();
    }

    private static Json analytics(String path) {
        Http.Reply reply = http.get(ANALYTICS + path);
        assertEquals(200, reply.status(), reply.body());
        return reply.json();
    }

    private static long sum(Json json, String array, String field) {
        return json.each(array, field).stream()
                .filter(text -> !text.equals("null"))
                .mapToLong(Long::parseLong)
                .sum();
    }

    @Test
    @Contract("status-1")
    void theStatusHasWhatTheClusterDidAndHowItFares() {
        Json status = status("?namespace=shop");
        assertEquals(
                List.of(
                        "timeRange",
                        "bucketMinutes",
                        "pointCount",
                        "throughput",
                        "queues",
                        "messages",
                        "leases",
                        "deadLetterQueue",
                        "workers",
                        "errors",
                        "statsAge"),
                status.names());
        assertEquals("1", status.text("bucketMinutes"));
        assertEquals(3, sum(status, "throughput", "popMessages"));
        assertEquals("3", status.text("messages", "total"));
        assertEquals("1", status.text("deadLetterQueue", "affectedPartitions"));
        assertEquals("because", status.text("deadLetterQueue", "topErrors", 0, "error"));
        assertEquals("broker-1", status.text("workers", 0, "hostname"));
        assertTrue(Double.parseDouble(status.text("throughput", 0, "queenRssMb")) > 10);
        assertEquals("8", status.text("throughput", 0, "dbPoolSize"));
        assertTrue(
                status.text("throughput", 0, "timestamp")
                        .matches("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:00Z"));
        assertEquals(List.of("shop.fulfil.orders"), status.each("queues", "name"));
        assertTrue(status("").each("queues", "name").contains("theirs"));
    }

    @Test
    @Contract("status-1")
    void leasesAreCountedByGroupAndByPartition() {
        http.push("held", "x", "1");
        http.push("held", "y", "1");
        String all = "subscriptionMode=all&partitions=9&batch=9&consumerGroup=";
        Json popped = http.pop("held", all + "one").json();
        http.pop("held", all.replace("partitions=9", "partitions=1") + "two");
        Await.until("the groups are told", () -> leases("held").equals("3 2 0"));
        http.ackBatch(popped, "completed", 0, 1);
        assertEquals("1 1 0", leases("held"));
    }

    private static String leases(String queue) {
        Json leases = status("?queue=" + queue).at("leases");
        return "%s %s %s"
                .formatted(
                        leases.text("active"),
                        leases.text("partitionsWithLeases"),
                        leases.text("statsAge"));
    }

    @Test
    @Contract("status-1")
    void aFilterShowsTheTrafficOfItsQueuesAndTheMachinesOfAll() {
        Json status = status("?namespace=shop&task=fulfil");
        assertEquals(3, sum(status, "throughput", "ingested"));
        assertEquals(List.of("shop.fulfil.orders"), status.each("queues", "name"));
        assertEquals("broker-1", status.text("workers", 0, "hostname"));
        assertEquals(0, sum(status("?queue=none"), "throughput", "ingested"));
    }

    @ParameterizedTest
    @Contract("status-2")
    @ValueSource(
            strings = {
                "/api/v1/status?from=yesterday",
                "/api/v1/status?to=2026-01-01&from=2026-01-02",
                "/api/v1/status?from=2020-01-01",
                "/api/v1/status?from=0000-01-01&to=0000-01-02",
                "/api/v1/status/analytics?interval=minute&from=2026-01-01&to=2026-01-03",
                ANALYTICS + "queue-ops?from=x",
                ANALYTICS + "workload?groupBy=color",
                ANALYTICS + "retention?groupBy=color",
                ANALYTICS + "dlq-signatures"
            })
    void aTimeThatMakesNoSenseIsRefused(String path) {
        assertEquals(400, http.get(path).status());
    }

    @Test
    @Contract("status-2")
    void theLongerTheTimeTheWiderTheBuckets() {
        assertEquals("5", status("?from=" + hoursAgo(6)).text("bucketMinutes"));
        assertEquals("15", status("?from=" + hoursAgo(24)).text("bucketMinutes"));
        assertEquals("60", status("?from=" + hoursAgo(24 * 7)).text("bucketMinutes"));
        assertEquals("360", status("?from=" + hoursAgo(24 * 8)).text("bucketMinutes"));
        // Nobody keeps the minutes of three days ago.
        assertEquals(
                "15",
                status("?from=" + hoursAgo(72) + "&to=" + hoursAgo(71)).text("bucketMinutes"));
        assertEquals(
                3,
                sum(
                        status("?queue=shop.fulfil.orders&from=" + hoursAgo(24 * 8)),
                        "throughput",
                        "ingested"));
    }

    private static String hoursAgo(int hours) {
        return Instant.now().minusSeconds(3_600L * hours - 60).toString();
    }

    @Test
    @Contract("status-3")
    void theVolumeIsATenantsAndHasEveryBucket() {
        Json volume = http.get("/api/v1/status/analytics").json();
        assertEquals(List.of("dataPoints", "interval", "from", "to"), volume.names());
        assertEquals("hour", volume.text("interval"));
        assertEquals(25, volume.size("dataPoints"));
        assertEquals(3, sum(volume, "dataPoints", "messages"));
        assertEquals(
                1,
                sum(
                        http.as(OTHER).get("/api/v1/status/analytics?interval=day").json(),
                        "dataPoints",
                        "messages"));
        assertEquals(
                "hour",
                http.get(
                                "/api/v1/status/analytics?interval=minute&from="
                                        + hoursAgo(72)
                                        + "&to="
                                        + hoursAgo(60))
                        .json()
                        .text("interval"));
    }

    @Test
    @Contract("status-4")
    void nothingIsBufferedOnDisk() {
        assertEquals(
                "{\"pending\":0,\"failed\":0,\"dbHealthy\":true,\"worker\":0}",
                http.get("/api/v1/status/buffers").body());
    }

    @Test
    @Contract("analytics-1")
    void lagIsThatAtDelivery() {
        Json lag = analytics("queue-lag?queue=shop.fulfil.orders");
        assertEquals(
                List.of(
                        "queueName",
                        "popCount",
                        "avgLagMs",
                        "maxLagMs",
                        "bucketMinutes",
                        "bucketTime"),
                lag.names(0));
        assertEquals("shop.fulfil.orders", lag.text(0, "queueName"));
        assertEquals("1", lag.text(0, "popCount"));
        assertEquals("[]", http.as(OTHER).get(ANALYTICS + "queue-lag").body());
    }

    @Test
    @Contract("analytics-2")
    void opsHaveWhatWasDoneToAQueue() {
        Json ops = analytics("queue-ops?queue=shop.fulfil.orders");
        assertEquals(List.of("shop.fulfil.orders"), List.of(ops.text("queues", 0)));
        assertEquals(3, sum(ops, "series", "pushMessages"));
        assertEquals(1, sum(ops, "series", "pushRequests"));
        assertEquals(3, sum(ops, "series", "popMessages"));
        assertEquals(2, sum(ops, "series", "ackSuccess"));
        assertEquals(1, sum(ops, "series", "ackFailed"));
        assertEquals(2, sum(ops, "series", "ackRequests"));
        assertEquals(1, sum(ops, "series", "partitionsCreated"));
        assertEquals("false", ops.text("truncated"));
    }

    @Test
    @Contract("analytics-3")
    void whoWaitsIsCountedPerBrokerForAsLongAsItReports() {
        http.push("waited", "p", "1");
        http.pop("waited", "autoAck=true");
        CompletableFuture<Http.Reply> parked =
                http.getLater("/api/v1/pop/queue/waited?wait=true&timeout=60000");
        Await.until(
                "somebody waits",
                () -> analytics("queue-parked-replicas?queue=waited").size("series") > 0);
        Json replicas = analytics("queue-parked-replicas?queue=waited");
        assertEquals("broker-1", replicas.text("series", 0, "hostname"));
        assertEquals("broker-1", replicas.text("replicas", 0, "hostname"));
        http.push("waited", "p", "2");
        assertEquals(200, parked.join().status());
    }

    @Test
    @Contract("analytics-4")
    void retentionAddsUpWhatWasRemoved() throws SQLException {
        try (Connection connection = database.connect()) {
            TestDatabase.rows(
                    connection,
                    "insert into queen_store.retention_history select date_trunc('minute',"
                            + " clock_timestamp()), tenant_id, name, rule, 5, 1, 2 from"
                            + " queen_store.queues, unnest(array['retention',"
                            + " 'max_wait_time_eviction', 'partition_cleanup']) rule where name ="
                            + " 'shop.fulfil.orders'");
        }
        Json retention = analytics("retention?groupBy=namespace");
        assertEquals("5", retention.text("totals", "retentionMsgs"));
        assertEquals("0", retention.text("totals", "completedRetentionMsgs"));
        assertEquals("5", retention.text("series", 0, "evictionMsgs"));
        assertEquals("10", retention.text("series", 0, "totalMsgs"));
        assertEquals("shop", retention.text("rows", 0, "key"));
        assertEquals(
                List.of("timeRange", "bucketMinutes", "series", "totals"),
                analytics("retention").names());
    }

    @Test
    @Contract("analytics-5")
    void workloadComparesByLabelAndAddsUpTheTenant() {
        Json workload = analytics("workload?namespace=shop");
        assertEquals(
                List.of(
                        "timeRange",
                        "bucketMinutes",
                        "groupBy",
                        "buckets",
                        "rows",
                        "truncated",
                        "tenant"),
                workload.names());
        assertEquals("shop", workload.text("rows", 0, "key"));
        assertEquals(1, workload.size("rows"));
        assertEquals("3", workload.text("rows", 0, "window", "pushMessages"));
        assertEquals("2", workload.text("rows", 0, "window", "ackSuccess"));
        assertEquals("1", workload.text("rows", 0, "now", "deadLetter"));
        assertEquals("1", workload.text("rows", 0, "now", "groups"));
        assertEquals("1", workload.text("rows", 0, "now", "partitions"));
        assertTrue(Long.parseLong(workload.text("rows", 0, "now", "retainedBytes")) > 0);
        assertEquals(61, workload.size("buckets"));
        assertEquals(61, workload.size("rows", 0, "series", "push"));
        assertTrue(workload.isNull("rows", 0, "series", "push", 0));
        assertTrue(workload.isNull("tenant", "key"));
        Json nobody = http.as(UUID.randomUUID().toString()).get(ANALYTICS + "workload").json();
        assertEquals(0, nobody.size("rows"));
        assertEquals("0", nobody.text("tenant", "queues"));
        assertEquals("0", nobody.text("tenant", "window", "pushMessages"));
        assertEquals("0", nobody.text("tenant", "now", "queuesWithoutGroup"));
        assertEquals(61, nobody.size("tenant", "series", "push"));
        Json byQueue = analytics("workload?groupBy=queue&queue=shop.fulfil.orders");
        assertEquals("shop.fulfil.orders", byQueue.text("rows", 0, "key"));
        assertEquals("shop", byQueue.text("rows", 0, "namespace"));
    }

    @Test
    @Contract("analytics-6")
    void signaturesFoldWhatDiffersFromErrorToError() throws SQLException {
        http.push("signed", "p", "1");
        try (Connection connection = database.connect()) {
            TestDatabase.rows(
                    connection,
                    "insert into queen_store.dead_letters (queue_id, partition_id, group_name,"
                            + " \"offset\", message_id, transaction_id, key, payload, flags, error)"
                            + " select p.queue_id, p.id, 'g', 0, gen_random_uuid(), 't', '\\x00',"
                            + " '\\x0000', 0, e from queen_store.partitions p join queen_store.queues q on"
                            + " q.id = p.queue_id, unnest(array['order 12 of"
                            + " 2026-01-01T10:00:00Z  failed', 'order 7 of 2026-01-02 failed',"
                            + " 'lost "
                            + UUID.randomUUID()
                            + "']) e where q.name = 'signed'");
        }
        Json signatures = analytics("dlq-signatures?queue=signed");
        assertEquals("3", signatures.text("sample"));
        assertEquals("order <n> of <date> failed", signatures.text("signatures", 0, "text"));
        assertEquals("2", signatures.text("signatures", 0, "n"));
        assertEquals("lost <id>", signatures.text("signatures", 1, "text"));
        assertEquals("3", signatures.text("byDay", 0, "n"));
        assertEquals(404, http.get(ANALYTICS + "dlq-signatures?queue=nowhere").status());
        assertEquals(404, http.as(OTHER).get(ANALYTICS + "dlq-signatures?queue=signed").status());
    }

    @Test
    @Contract("analytics-7")
    void livenessCountsThePartitionsWrittenOfLate() {
        String path = "partition-liveness?queue=shop.fulfil.orders";
        Json liveness = analytics(path);
        assertEquals(List.of("capturedAt", "rows"), liveness.names());
        assertEquals(
                liveness.text("rows", 0, "oldestWriteAt"),
                liveness.text("rows", 0, "newestWriteAt"),
                "of its one partition");
        assertEquals("1", liveness.text("rows", 0, "partitions"));
        assertEquals("1", liveness.text("rows", 0, "live1h"));
        assertEquals("1", liveness.text("rows", 0, "live7d"));
        assertEquals("1", liveness.text("rows", 0, "created24h"));
        assertEquals(
                0,
                analytics("partition-liveness?namespace=&queue=shop.fulfil.orders").size("rows"));
    }

    @Test
    @Contract("analytics-8")
    void brokersTellWhatTheyUse() {
        Await.until(
                "it is in the answer",
                () -> analytics("system-metrics?hostname=broker-1").size("replicas") == 1);
        Json system = analytics("system-metrics?hostname=broker-1");
        assertEquals("1", system.text("replicaCount"));
        Json metrics = system.at("replicas", 0, "timeSeries", 0, "metrics");
        assertEquals(List.of("avg", "min", "max", "last"), metrics.names("cpu", "user_us"));
        assertTrue(Long.parseLong(metrics.text("memory", "rss_bytes", "last")) > 1_000_000);
        assertEquals("8", metrics.text("database", "pool_size", "max"));
        assertEquals("0", analytics("system-metrics?hostname=other").text("replicaCount"));
        assertEquals(1, analytics("system-metrics?workerId=0").size("replicas"));
        assertEquals(0, analytics("system-metrics?workerId=1").size("replicas"));
    }

    @Test
    @Contract("analytics-9")
    void workersTellWhatTheyDid() {
        // What was reported in the second that has just begun is not in it.
        Await.until(
                "it is in the answer",
                () ->
                        Long.parseLong(
                                        analytics("worker-metrics")
                                                .text("summary", "totalPushMessages"))
                                >= 4);
        Json workers = analytics("worker-metrics");
        assertEquals("broker-1", workers.text("workers", 0, "hostname"));
        assertEquals(1, analytics("worker-metrics?workerId=0").size("workers"));
        Json nobody = analytics("worker-metrics?workerId=1");
        assertEquals(0, nobody.size("workers"));
        assertEquals("0", nobody.text("summary", "totalPushMessages"));
        Json ofQueue = analytics("worker-metrics?queue=shop.fulfil.orders");
        assertEquals("3", ofQueue.text("summary", "totalPushMessages"));
        assertEquals("3", ofQueue.text("summary", "totalAckMessages"));
        assertEquals("1", ofQueue.text("summary", "totalAckFailed"));
        assertEquals("shop.fulfil.orders", ofQueue.text("queues", 0, "queueName"));
    }

    @Test
    @Contract("analytics-10")
    void theServerTellsHowItFaresWithThisDatabase() {
        Json server = analytics("postgres-stats");
        assertEquals(
                List.of(
                        "timestamp",
                        "database",
                        "databaseCache",
                        "tableCache",
                        "indexCache",
                        "cacheSummary",
                        "deadTuples",
                        "hotUpdates",
                        "activeQueries",
                        "autovacuumStatus",
                        "bufferConfig",
                        "bufferUsage",
                        "tableSizes"),
                server.names());
        assertEquals(database.name(), server.text("database"));
        assertTrue(server.size("tableSizes") > 10);
        assertTrue(Long.parseLong(server.text("bufferConfig", "sharedBuffersSize")) > 1_000_000);
    }
}
