package io.queenmq.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ResourceHttpTest {
    private static final String QUEUES = "/api/v1/resources/queues";

    private static TestDatabase database;
    private static TestBroker broker;

    private Http http;

    @BeforeAll
    static void start() {
        database = TestDatabase.migrated();
        broker =
                TestBroker.withEnvironment(
                        database,
                        Map.of(
                                "STATS_INTERVAL_MS", "1000",
                                "QUEEN_TENANCY_HEADER", "true"));
    }

    @AfterAll
    static void stop() {
        broker.close();
        database.close();
    }

    /** Each test is a tenant of its own, so that it sees nothing of the others. */
    @BeforeEach
    void setUp() {
        http = broker.http().as(UUID.randomUUID().toString());
    }

    private Json detail(String queue, String query) {
        return http.get(QUEUES + "/" + queue + query).json();
    }

    private Json depth(String query) {
        return http.get(QUEUES + "/orders/depth" + query).json();
    }

    /** Two partitions of three and one messages; group g holds two and has passed one of x. */
    private void someWork() {
        http.push("orders", "x", "1", "2", "3");
        Json first = http.pop("orders", "consumerGroup=g&subscriptionMode=all&batch=1").json();
        http.ack(first, 0, "completed");
        http.pop("orders", "consumerGroup=g&batch=2");
        http.push("orders", "y", "4");
    }

    @Test
    @Contract("resource-1")
    void theListHasWhatIsThereAtThisMoment() {
        http.push("shop.fulfil.b", "p", "1", "2");
        http.push("shop.fulfil.a", "p", "1");
        Json json = http.get(QUEUES).json();
        assertEquals(
                List.of("queues", "total", "kvRows", "kvBytes", "timerRows", "timerBytes"),
                json.names());
        assertEquals("2", json.text("total"));
        assertEquals(List.of("shop.fulfil.a", "shop.fulfil.b"), json.each("queues", "name"));
        Json queue = json.at("queues", 1);
        assertEquals(
                List.of(
                        "id",
                        "name",
                        "namespace",
                        "task",
                        "createdAt",
                        "partitions",
                        "retainedBytes",
                        "diskBytes",
                        "segments",
                        "messages",
                        "statsAge"),
                queue.names());
        assertEquals("shop", queue.text("namespace"));
        assertEquals("fulfil", queue.text("task"));
        assertEquals("1", queue.text("partitions"));
        assertEquals("2", queue.text("messages", "total"));
        assertEquals("2", queue.text("messages", "pending"));
        assertTrue(queue.text("createdAt").matches(".*T.*\\.\\d{3}Z"));
        String configured =
                http.post("/api/v1/configure", "{\"queue\":\"shop.fulfil.b\",\"mode\":\"merge\"}")
                        .json()
                        .text("queueId");
        assertEquals(configured, queue.text("id"));
    }

    @Test
    @Contract("resource-1")
    void theListIsFilteredAndPaged() {
        http.push("shop.fulfil", "p", "1");
        http.push("shop.bill", "p", "1");
        http.push("other.fulfil", "p", "1");
        assertEquals(
                List.of("shop.bill", "shop.fulfil"),
                http.get(QUEUES + "?namespace=shop").json().each("queues", "name"));
        assertEquals(
                List.of("other.fulfil", "shop.fulfil"),
                http.get(QUEUES + "?task=fulfil").json().each("queues", "name"));
        assertEquals(
                List.of("shop.bill"),
                http.get(QUEUES + "?search=.BILL").json().each("queues", "name"));
        Json page = http.get(QUEUES + "?limit=1&offset=1").json();
        assertEquals(List.of("shop.bill"), page.each("queues", "name"));
        assertEquals("3", page.text("total"));
        Json behind = http.get(QUEUES + "?offset=9").json();
        assertEquals(0, behind.size("queues"));
        assertEquals("3", behind.text("total"));
        assertEquals("0", http.get(QUEUES + "?namespace=none").json().text("total"));
    }

    @Test
    @Contract({"resource-1", "resource-7"})
    void whatIsToldIsAsOldAsItSays() {
        someWork();
        Await.until(
                "the counts are told and proved",
                () -> {
                    Json queue = http.get(QUEUES + "?stats=cached").json().at("queues", 0);
                    return queue.text("messages", "total").equals("4")
                            && queue.text("messages", "pending").equals("3")
                            && queue.text("messages", "processing").equals("2")
                            && Integer.parseInt(queue.text("statsAge")) >= 0
                            && Long.parseLong(queue.text("retainedBytes")) > 0;
                });
        Json status = http.get("/api/v1/status/queues?queue=orders").json();
        assertEquals(List.of("queues", "pagination", "total"), status.names());
        assertEquals(
                List.of("total", "pending", "processing", "completed", "deadLetter"),
                status.names("queues", 0, "messages"));
        assertEquals("1", status.text("queues", 0, "messages", "completed"));
        assertEquals("100", status.text("pagination", "limit"));
    }

    @Test
    @Contract("resource-2")
    void aQueueShowsItsOptionsAsConfigureTakesThem() {
        http.post(
                "/api/v1/configure",
                "{\"queue\":\"orders\",\"namespace\":\"n\",\"options\":{\"leaseTime\":17,"
                        + "\"deadLetterQueue\":false,\"retentionSinkHold\":\"s\"}}");
        Json queue = detail("orders", "");
        Json options = queue.at("options");
        assertEquals(21, options.names().size());
        assertEquals("17", options.text("leaseTime"));
        assertFalse(options.bool("deadLetterQueue"));
        assertEquals("s", options.text("retentionSinkHold"));
        assertEquals("n", options.text("namespace"));
        assertEquals("n", queue.text("namespace"));
        String body = http.get(QUEUES + "/orders").body();
        String bag =
                body.substring(body.indexOf("\"options\":") + 10, body.indexOf(",\"partitions"));
        Http.Reply again =
                http.post(
                        "/api/v1/configure",
                        "{\"queue\":\"orders\",\"mode\":\"replace\",\"options\":" + bag + "}");
        assertEquals(200, again.status(), again.body());
        assertEquals(
                bag,
                http.get(QUEUES + "/orders")
                        .body()
                        .substring(
                                body.indexOf("\"options\":") + 10, body.indexOf(",\"partitions")));
    }

    @Test
    @Contract({"resource-2", "resource-3"})
    void aQueueShowsItsPartitions() {
        someWork();
        Json queue = detail("orders", "");
        assertEquals(List.of("x", "y"), queue.each("partitions", "name"));
        Json lane = queue.at("partitions", 0);
        assertEquals(
                List.of("id", "name", "createdAt", "stats", "oldestMessage", "newestMessage"),
                lane.names());
        Json stats = lane.at("stats");
        assertEquals(
                List.of("total", "pending", "processing", "completed", "failed", "deadLetter"),
                stats.names());
        assertEquals("3", stats.text("total"));
        assertEquals("2", stats.text("pending"));
        assertEquals("2", stats.text("processing"));
        assertEquals("1", stats.text("completed"));
        assertTrue(stats.isNull("failed"));
        assertEquals("4", queue.text("totals", "total"));
        assertEquals("3", queue.text("totals", "pending"));
        assertEquals("0", queue.text("statsAge"));
        assertFalse(queue.bool("partitionsTruncated"));
        assertEquals("2", queue.text("partitionsTotal"));
        String popped =
                http.get("/api/v1/pop/queue/orders/partition/y?autoAck=true")
                        .json()
                        .text("messages", 0, "partitionId");
        assertEquals(popped, queue.text("partitions", 1, "id"));
    }

    @Test
    @Contract("resource-3")
    void partitionsArePagedAndSearched() {
        for (String lane : List.of("a1", "b1", "a2", "c1")) {
            http.push("orders", lane, "1");
        }
        Json first = detail("orders", "?partitionLimit=2");
        assertEquals(List.of("a1", "a2"), first.each("partitions", "name"));
        assertTrue(first.bool("partitionsTruncated"));
        Json rest = detail("orders", "?partitionLimit=2&partitionOffset=2");
        assertEquals(List.of("b1", "c1"), rest.each("partitions", "name"));
        assertFalse(rest.bool("partitionsTruncated"));
        assertEquals(
                List.of("b1", "c1"),
                detail("orders", "?partitionAfter=a2").each("partitions", "name"));
        assertEquals(
                List.of("a1", "b1", "c1"),
                detail("orders", "?partitionSearch=1").each("partitions", "name"));
        Json found = detail("orders", "?partitionSearch=A&partitionLimit=1");
        assertEquals(List.of("a1"), found.each("partitions", "name"));
        assertTrue(found.bool("partitionsTruncated"));
    }

    @Test
    @Contract("resource-3")
    void theStatusOfAQueueHasTheSameNumbers() {
        someWork();
        Json status = http.get("/api/v1/status/queues/orders").json();
        assertEquals(
                List.of("queue", "partitions", "partitionsTruncated", "totals", "statsAge"),
                status.names());
        assertEquals(
                List.of(
                        "leaseTime",
                        "retryLimit",
                        "retryDelay",
                        "ttl",
                        "maxQueueSize",
                        "deadLetterQueue"),
                status.names("queue", "config"));
        assertEquals("60", status.text("queue", "config", "leaseTime"));
        assertEquals("0", status.text("queue", "config", "maxQueueSize"));
        assertEquals("2", status.text("partitions", 0, "messages", "pending"));
        assertEquals("1", status.text("partitions", 0, "cursor", "totalConsumed"));
        assertEquals("3", status.text("totals", "pending"));
        assertEquals("3", status.text("totals", "messages", "pending"));
    }

    @Test
    @Contract("resource-4")
    void depthIsThatOfTheSlowestGroup() {
        someWork();
        http.pop("orders", "consumerGroup=h&subscriptionMode=all&partitions=2&autoAck=true");
        Json json = depth("");
        assertEquals(
                List.of(
                        "queue",
                        "group",
                        "pending",
                        "processing",
                        "ready",
                        "partitionsPending",
                        "partitionsReady",
                        "conflation",
                        "effectivePending",
                        "effectiveReady",
                        "partitions",
                        "partitionsTruncated",
                        "statsAge"),
                json.names());
        assertTrue(json.isNull("group"));
        assertEquals("3/2/1/2/1", numbers(json));
        assertEquals(List.of("x", "y"), json.each("partitions", "partition"));
        assertEquals(List.of("2", "1"), json.each("partitions", "pending"));
        assertEquals(List.of("0", "1"), json.each("partitions", "ready"));
    }

    /** Of a poll without a group that somebody made once nothing waits; of a consumer it does. */
    @Test
    @Contract({"resource-3", "resource-4"})
    void consumptionWithoutAGroupCountsBesideNamedGroups() {
        http.push("orders", "x", "1", "2", "3");
        http.pop("orders", "consumerGroup=g&subscriptionMode=all&batch=3&autoAck=true");
        Json polled = http.pop("orders", "batch=1").json();
        assertEquals("0/0/0/0/0", numbers(depth("")));
        http.ack(polled, 0, "completed");
        assertEquals("2/0/2/1/1", numbers(depth("")));
        assertEquals("0/0/0/0/0", numbers(depth("?group=g")));
        Json queue = detail("orders", "");
        assertEquals("2", queue.text("partitions", 0, "stats", "pending"));
        assertEquals("2", queue.text("totals", "pending"));
        Await.until(
                "the same is told",
                () ->
                        http.get(QUEUES + "?stats=cached")
                                .json()
                                .text("queues", 0, "messages", "pending")
                                .equals("2"));
        http.pop("orders", "batch=2&autoAck=true");
        assertEquals("0/0/0/0/0", numbers(depth("")));
    }

    private static String numbers(Json depth) {
        return String.join(
                "/",
                depth.text("pending"),
                depth.text("processing"),
                depth.text("ready"),
                depth.text("partitionsPending"),
                depth.text("partitionsReady"));
    }

    @Test
    @Contract("resource-4")
    void depthOfAGroupIsItsOwn() {
        someWork();
        http.pop("orders", "consumerGroup=h&subscriptionMode=all&partitions=2&autoAck=true");
        assertEquals("3/2/1/2/1", numbers(depth("?group=g")));
        assertEquals("0/0/0/0/0", numbers(depth("?group=h")));
        Json stranger = depth("?group=nobody");
        assertEquals("4/0/4/2/2", numbers(stranger), "all there is");
        assertEquals("nobody", stranger.text("group"));
        Json one = depth("?partitionLimit=1");
        assertEquals(List.of("x"), one.each("partitions", "partition"));
        assertTrue(one.bool("partitionsTruncated"));
    }

    @Test
    @Contract("resource-4")
    void aConflatingGroupCountsPartitions() {
        http.push("orders", "x", "1", "2", "3");
        http.push("orders", "y", "4");
        http.pop(
                "orders",
                "consumerGroup=c&subscriptionMode=all&conflation=true&partitions=1&batch=1");
        Json json = depth("?group=c");
        assertTrue(json.bool("conflation"));
        assertEquals("4", json.text("pending"));
        assertEquals("2", json.text("effectivePending"));
        assertEquals("1", json.text("effectiveReady"));
        assertFalse(depth("").bool("conflation"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                QUEUES + "/none",
                QUEUES + "/none/depth",
                QUEUES + "/",
                "/api/v1/status/queues/none"
            })
    @Contract("resource-5")
    void whatIsNoQueueIsNotFound(String path) {
        broker.http().push("none", "p", "1");
        Http.Reply reply = http.get(path);
        assertEquals(404, reply.status());
        assertEquals("{\"error\":\"Queue not found\"}", reply.body());
    }

    @Test
    @Contract("resource-6")
    void labelsAddUpTheirQueues() {
        http.push("shop.fulfil", "p", "1", "2");
        http.push("shop.bill", "p", "1");
        http.push("shop.bill", "q", "1");
        http.push("alone", "p", "1");
        Await.until(
                "all is told",
                () -> {
                    Json shop = http.get("/api/v1/resources/namespaces").json();
                    return shop.each("namespaces", "namespace").equals(List.of("alone", "shop"))
                            && shop.text("namespaces", 1, "queues").equals("2")
                            && shop.text("namespaces", 1, "partitions").equals("3")
                            && shop.text("namespaces", 1, "messages", "total").equals("4")
                            && shop.text("namespaces", 1, "messages", "pending").equals("4");
                });
        Json tasks = http.get("/api/v1/resources/tasks").json();
        assertEquals(List.of("bill", "fulfil"), tasks.each("tasks", "task"));
    }

    @Test
    @Contract("resource-7")
    void theOverviewAddsUpATenant() {
        someWork();
        Await.until(
                "all is told",
                () -> {
                    Json json = http.get("/api/v1/resources/overview").json();
                    return json.text("messages", "total").equals("4")
                            && json.text("messages", "pending").equals("1")
                            && json.text("messages", "processing").equals("2")
                            && json.text("messages", "completed").equals("1")
                            && json.text("partitions").equals("2")
                            && json.text("lag", "offset", "max").equals("3")
                            && !json.text("statsAge").equals("-1");
                });
        Json json = http.get("/api/v1/resources/overview").json();
        assertEquals(
                List.of(
                        "queues",
                        "partitions",
                        "namespaces",
                        "tasks",
                        "messages",
                        "lag",
                        "throughput",
                        "timestamp",
                        "statsAge"),
                json.names());
        assertEquals("1", json.text("queues"));
        assertEquals("1", json.text("namespaces"));
        assertEquals("0", json.text("tasks"));
        assertEquals(List.of("avg", "median", "min", "max"), json.names("lag", "time"));
        assertEquals(List.of("ingestedPerSecond", "processedPerSecond"), json.names("throughput"));
    }

    /** Brought into its range it would be the same page again, for ever. */
    @ParameterizedTest
    @Contract({"resource-1", "resource-3"})
    @ValueSource(
            strings = {
                "/api/v1/resources/queues?offset=1000001",
                "/api/v1/resources/queues/orders?partitionOffset=100001",
                "/api/v1/consumer-groups?offset=1000001",
                "/api/v1/dlq?offset=1000001",
                "/api/v1/traces/names?offset=100001",
            })
    void anOffsetThatIsTooFarIsRefused(String path) {
        http.push("orders", "p", "1");
        Http.Reply reply = http.get(path);
        assertEquals(400, reply.status(), reply.body());
        assertTrue(reply.json().text("error").contains("ffset must be at most 1"), reply.body());
    }

    @Test
    @Contract("resource-7")
    void theThroughputIsThatOfTheNewestFiveMinutesReported() throws SQLException {
        http.push("orders", "p", "1");
        String id = http.get(QUEUES + "/orders").json().text("partitions", 0, "id");
        try (Connection connection = database.connect()) {
            Lines.lines(
                    connection,
                    "select queen_store.add_buckets(clock_timestamp() - m * interval '1 minute',"
                            + " array[p.queue_id], null, array[600], null, null, null, null,"
                            + " array[150], null, null, null, null, null, null, null, null) from"
                            + " queen_store.partitions p, unnest(array[4, 60]) m where p.id ="
                            + " queen_store.partition_number('"
                            + id
                            + "')");
        }
        Json throughput = http.get("/api/v1/resources/overview").json().at("throughput");
        assertEquals("2", throughput.text("ingestedPerSecond"));
        assertEquals("0.5", throughput.text("processedPerSecond"));
    }
}
