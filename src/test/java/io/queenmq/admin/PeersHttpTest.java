package io.queenmq.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** One broker is told, a consumer is parked at another over the same database. */
class PeersHttpTest {
    private static TestDatabase database;
    private static TestBroker told;
    private static TestBroker other;

    private String queue;

    @BeforeAll
    static void start() {
        database = TestDatabase.migrated();
        // First: of brokers in one process the first shows its gauges.
        other = TestBroker.on(database);
        told = TestBroker.on(database);
    }

    @AfterAll
    static void stop() {
        other.close();
        told.close();
        database.close();
    }

    /** Consumed by group g, at the other broker too, which therefore knows the group. */
    @BeforeEach
    void consumed() {
        queue = "peers-" + UUID.randomUUID();
        told.http().push(queue, "p", "1", "2", "3");
        assertEquals(List.of("1", "2", "3"), other.http().get(path("autoAck=true")).payloads());
    }

    private String path(String more) {
        return "/api/v1/pop/queue/" + queue + "?consumerGroup=g&subscriptionMode=all&" + more;
    }

    private CompletableFuture<Http.Reply> parked(String path) {
        CompletableFuture<Http.Reply> parked = other.http().getLater(path);
        other.awaitParked(1);
        return parked;
    }

    private void post(String path, String body) {
        Http.Reply reply = told.http().post("/api/v1/consumer-groups/g/" + path, body);
        assertEquals(200, reply.status(), reply.body());
    }

    @Test
    @Contract("seek-4")
    void aSeekOfTheQueueWakesThere() throws Exception {
        CompletableFuture<Http.Reply> parked = parked(path("wait=true&timeout=50000"));
        post("queues/" + queue + "/seek", "{\"toBeginning\":true}");
        assertEquals(List.of("1", "2", "3"), parked.get().payloads());
    }

    @Test
    void aSeekOfThePartitionWakesThere() throws Exception {
        CompletableFuture<Http.Reply> parked = parked(path("wait=true&timeout=50000"));
        post("queues/" + queue + "/partitions/p/seek", "{\"offset\":1}");
        assertEquals(List.of("2", "3"), parked.get().payloads());
    }

    @Test
    void aPinnedPollWakesThere() throws Exception {
        String pinned =
                "/api/v1/pop/queue/"
                        + queue
                        + "/partition/p?consumerGroup=g&wait=true&timeout=50000&autoAck=true";
        CompletableFuture<Http.Reply> parked = parked(pinned);
        post("queues/" + queue + "/seek", "{\"toBeginning\":true}");
        assertEquals(List.of("1", "2", "3"), parked.get().payloads());
        parked = parked(pinned);
        post("queues/" + queue + "/partitions/p/seek", "{\"offset\":2}");
        assertEquals(List.of("3"), parked.get().payloads());
    }

    @Test
    @Contract("seek-7")
    void aDeletionIsFirstContactThere() throws Exception {
        CompletableFuture<Http.Reply> parked = parked(path("wait=true&timeout=50000"));
        assertEquals(200, told.http().delete("/api/v1/consumer-groups/g/queues/" + queue).status());
        assertEquals(List.of("1", "2", "3"), parked.get().payloads());
    }

    @Test
    void aSubscriptionWakesThere() throws Exception {
        // Registered there as new: the message is behind its start.
        String fresh =
                "/api/v1/pop/queue/"
                        + queue
                        + "?consumerGroup=s&subscriptionMode=new&wait=true&timeout=50000";
        CompletableFuture<Http.Reply> parked = parked(fresh);
        Http.Reply reply =
                told.http()
                        .post(
                                "/api/v1/consumer-groups/s/subscription",
                                "{\"subscriptionTimestamp\":\"2000-01-01\"}");
        assertEquals(200, reply.status());
        assertEquals(List.of("1", "2", "3"), parked.get().payloads());
    }

    @Test
    void aReplayWakesThere() throws Exception {
        told.http().push(queue, "p", "4");
        Http.Reply leased = other.http().get(path("wait=true&timeout=50000"));
        other.http().ack(leased.json(), 0, "dlq");
        CompletableFuture<Http.Reply> parked = parked(path("wait=true&timeout=50000"));
        String id = told.http().get("/api/v1/dlq?queue=" + queue).json().text("messages", 0, "id");
        assertEquals(200, told.http().post("/api/v1/dlq/" + id + "/replay", "").status());
        assertEquals(List.of("4"), parked.get().payloads());
    }
}
