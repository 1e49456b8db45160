package io.queenmq.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class GroupListHttpTest {
    private static final String GROUPS = "/api/v1/consumer-groups";

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

    private Json get(String path) {
        Http.Reply reply = http.get(GROUPS + path);
        assertEquals(200, reply.status(), reply.body());
        return Json.parse("{\"all\":" + reply.body() + "}");
    }

    @Test
    @Contract("group-list-1")
    void everyGroupOfEveryQueueIsListedWithItsLag() {
        http.push("orders", "x", "1", "2", "3");
        // While there is no other: which of two a pop takes first is not said.
        http.pop("orders", "consumerGroup=g&subscriptionMode=all&batch=1&autoAck=true");
        http.push("orders", "y", "4");
        http.push("bills", "x", "5");
        http.pop("orders", "consumerGroup=h&subscriptionMode=new&conflation=true");
        http.pop("bills", "consumerGroup=g&subscriptionMode=all&batch=1");
        Await.until(
                "all is counted",
                () -> {
                    Json json = get("");
                    return json.each("all", "name").equals(List.of("g", "g", "h"))
                            && json.each("all", "queueName")
                                    .equals(List.of("bills", "orders", "orders"))
                            && json.each("all", "totalLag").equals(List.of("1", "3", "0"))
                            && json.each("all", "members").equals(List.of("1", "1", "0"))
                            && json.each("all", "partitionsWithLag").equals(List.of("1", "2", "0"))
                            && !json.each("all", "statsAge").contains("-1");
                });
        Json json = get("");
        assertEquals(
                List.of(
                        "name",
                        "topics",
                        "queueName",
                        "members",
                        "partitionCursors",
                        "partitionsWithLag",
                        "totalLag",
                        "maxTimeLag",
                        "state",
                        "storage",
                        "subscriptionMode",
                        "subscriptionTimestamp",
                        "subscriptionCreatedAt",
                        "conflation",
                        "statsAge"),
                json.names("all", 0));
        assertEquals(List.of("Dead", "Stable", "Dead"), json.each("all", "state"));
        assertEquals(List.of("all", "all", "new"), json.each("all", "subscriptionMode"));
        assertTrue(json.isNull("all", 0, "subscriptionTimestamp"));
        assertFalse(json.isNull("all", 2, "subscriptionTimestamp"));
        assertTrue(json.bool("all", 2, "conflation"));
        assertEquals("bills", json.text("all", 0, "topics", 0));
        assertEquals(List.of("orders"), get("?limit=1&offset=1").each("all", "queueName"));
    }

    /** Lets the oldest message of a queue be an hour and a half old. */
    private static void age(String queue) throws SQLException {
        try (Connection connection = database.connect();
                Statement run = connection.createStatement()) {
            run.execute(
                    "with aged as (update queen_store.segments s set created_at ="
                            + " statement_timestamp() - interval '90 minutes'"
                            + " from queen.partitions p where p.number = s.partition_id"
                            + " and s.base_offset = 0 and p.queue = '"
                            + queue
                            + "' returning s.partition_id, s.created_at)"
                            + " update queen_store.partitions p set oldest_live_at = a.created_at"
                            + " from aged a where a.partition_id = p.id");
        }
    }

    @Test
    @Contract({"group-list-1", "group-list-2"})
    void whatWaitsForLongIsListedUntilItIsRead() throws SQLException {
        http.push("waiting", "x", "1", "2");
        http.push("waiting", "y", "3");
        http.get("/api/v1/pop/queue/waiting/partition/y?consumerGroup=g&subscriptionMode=all");
        age("waiting");
        http.pop("waiting", "consumerGroup=g&subscriptionMode=all&batch=1");
        Await.until("the walk has found both", () -> get("/lagging").size("all") == 2);
        Json row = get("/lagging?minLagSeconds=5000");
        assertEquals(List.of("x", "y"), row.each("all", "partition_name"));
        assertEquals(
                List.of(
                        "consumer_group",
                        "queue_name",
                        "partition_name",
                        "partition_id",
                        "worker_id",
                        "offset_lag",
                        "time_lag_seconds",
                        "lag_hours",
                        "oldest_unconsumed_at",
                        "last_consumed_at"),
                row.names("all", 0));
        assertEquals("2", row.text("all", 0, "offset_lag"));
        assertEquals("1.5", row.text("all", 0, "lag_hours"));
        assertTrue(Integer.parseInt(row.text("all", 0, "time_lag_seconds")) >= 5_400);
        assertEquals(0, get("/lagging?minLagSeconds=6000").size("all"));
        assertEquals(List.of("Lagging"), get("").each("all", "state"));
        http.post(GROUPS + "/g/queues/waiting/seek", "{\"toEnd\":true}");
        assertEquals(0, get("/lagging").size("all"), "each is looked at again");
        assertEquals(List.of("0"), get("").each("all", "maxTimeLag"));
    }

    @Test
    @Contract("group-list-3")
    void aGroupIsShownByQueueAndPartition() {
        http.push("orders", "x", "1", "2", "3");
        http.push("orders", "y", "4");
        http.push("bills", "x", "5");
        String pinned = "/api/v1/pop/queue/orders/partition/x?consumerGroup=g&batch=1";
        http.ack(http.get(pinned + "&subscriptionMode=all").json(), 0, "completed");
        http.get(pinned);
        http.pop("bills", "consumerGroup=g&subscriptionMode=all&autoAck=true");
        Json json = get("/g");
        assertEquals(List.of("bills", "orders"), json.names("all"));
        assertEquals(
                List.of("conflation", "partitions", "partitionsTruncated"),
                json.names("all", "orders"));
        Json x = json.at("all", "orders", "partitions", 0);
        assertEquals(
                List.of(
                        "partition",
                        "workerId",
                        "lastConsumedAt",
                        "totalConsumed",
                        "offsetLag",
                        "timeLagSeconds",
                        "leaseActive"),
                x.names());
        assertEquals("x", x.text("partition"));
        assertEquals("1", x.text("totalConsumed"));
        assertEquals("2", x.text("offsetLag"));
        assertTrue(x.bool("leaseActive"));
        Json y = json.at("all", "orders", "partitions", 1);
        assertEquals("1", y.text("offsetLag"));
        assertFalse(y.bool("leaseActive"));
        assertEquals("0", json.text("all", "bills", "partitions", 0, "offsetLag"));
        assertEquals("{}", http.get(GROUPS + "/nobody").body());
    }

    /** Goal: a deleted group is nowhere any more, until something is done in its name again. */
    @Test
    @Contract({"group-list-1", "group-list-3", "seek-7"})
    void aDeletedGroupIsNowhere() {
        http.push("orders", "x", "1");
        Json read = http.pop("orders", "consumerGroup=h&subscriptionMode=all").json();
        http.ack(read, 0, "completed");
        http.pop("orders", "consumerGroup=g&subscriptionMode=all&batch=1&leaseTime=3600");
        String partition = read.text("messages", 0, "partitionId");
        String detail =
                "/api/v1/messages/" + partition + "/" + read.text("messages", 0, "transactionId");
        assertEquals(List.of("g", "h"), http.get(detail).json().each("consumerGroups", "name"));

        assertEquals(200, http.delete(GROUPS + "/g").status());
        assertEquals(List.of("h"), get("").each("all", "name"));
        assertEquals("{}", http.get(GROUPS + "/g").body());
        assertEquals(List.of("h"), http.get(detail).json().each("consumerGroups", "name"));
        Json listed = http.get("/api/v1/messages?queue=orders").json();
        assertEquals("1", listed.text("messages", 0, "busStatus", "totalGroups"));
        assertEquals("completed", listed.text("messages", 0, "status"));

        http.pop("orders", "consumerGroup=g&subscriptionMode=all");
        assertEquals(List.of("g", "h"), get("").each("all", "name"));
        assertEquals(
                "2",
                http.get("/api/v1/messages?queue=orders")
                        .json()
                        .text("messages", 0, "busStatus", "totalGroups"));
    }

    @Test
    @Contract("group-list-2")
    void aGroupOfThatNameCanStillBeMoved() {
        http.push("orders", "x", "1");
        http.pop("orders", "consumerGroup=lagging&subscriptionMode=all&autoAck=true");
        Http.Reply moved =
                http.post(GROUPS + "/lagging/queues/orders/seek", "{\"toBeginning\":true}");
        assertEquals(200, moved.status(), moved.body());
        assertEquals(200, http.delete(GROUPS + "/lagging").status());
    }
}
