package io.queenmq.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.PostgresLink;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * One broker moves a group or a message and loses the answer after the commit; consumers are parked
 * there and at another broker.
 */
class LostMoveHttpTest {
    private static TestDatabase database;
    private static PostgresLink link;
    private static TestBroker told;
    private static TestBroker other;

    private String queue;

    @BeforeAll
    static void start() throws Exception {
        database = TestDatabase.migrated();
        link = new PostgresLink(database.host(), database.port());
        // First: of brokers in one process the first shows its gauges.
        other = TestBroker.on(database);
        told = TestBroker.over(link, database);
    }

    @AfterAll
    static void stop() throws Exception {
        other.close();
        told.close();
        link.close();
        database.close();
    }

    /** Consumed by group g, at both brokers, which therefore know it. */
    @BeforeEach
    void consumed() {
        queue = "lost-" + UUID.randomUUID();
        for (TestBroker broker : List.of(told, other)) {
            broker.http().push(queue, "p", "1");
            assertEquals(List.of("1"), broker.http().get(path("g", "autoAck=true")).payloads());
        }
    }

    private String path(String group, String more) {
        return "/api/v1/pop/queue/"
                + queue
                + "?consumerGroup="
                + group
                + "&subscriptionMode="
                + (group.equals("g") ? "all" : "new")
                + "&"
                + more;
    }

    private CompletableFuture<Http.Reply> parked(String group) {
        CompletableFuture<Http.Reply> parked =
                other.http().getLater(path(group, "wait=true&timeout=50000"));
        other.awaitParked(1);
        return parked;
    }

    /** The procedure commits and its answer never arrives. */
    private static void lose(String procedure, CompletableFuture<Http.Reply> parked, Call call)
            throws Exception {
        PostgresLink.Halt halt = link.haltAt(procedure, PostgresLink.Point.ANSWER);
        CompletableFuture<Http.Reply> lost = call.run();
        halt.awaitReached();
        assertFalse(parked.isDone());
        halt.cut();
        assertTrue(lost.get().status() >= 500, lost.get().body());
    }

    @FunctionalInterface
    private interface Call {
        CompletableFuture<Http.Reply> run();
    }

    private static CompletableFuture<Http.Reply> post(String path, String body) {
        return told.http().postLater("/api/v1/consumer-groups/" + path, body);
    }

    @Test
    @Contract("seek-4")
    void aSeekOfTheQueueWakes() throws Exception {
        CompletableFuture<Http.Reply> parked = parked("g");
        lose(
                "seek_queue",
                parked,
                () -> post("g/queues/" + queue + "/seek", "{\"toBeginning\":true}"));
        assertEquals(List.of("1", "1"), parked.get().payloads());
    }

    @Test
    void aSeekOfThePartitionWakes() throws Exception {
        CompletableFuture<Http.Reply> parked = parked("g");
        lose(
                "seek_lane",
                parked,
                () -> post("g/queues/" + queue + "/partitions/p/seek", "{\"offset\":1}"));
        assertEquals(List.of("1"), parked.get().payloads());
    }

    @Test
    void aSubscriptionWakes() throws Exception {
        CompletableFuture<Http.Reply> parked = parked("s");
        lose(
                "update_subscription",
                parked,
                () -> post("s/subscription", "{\"subscriptionTimestamp\":\"2000-01-01\"}"));
        assertEquals(List.of("1", "1"), parked.get().payloads());
    }

    @Test
    @Contract("seek-7")
    void aDeletionWakes() throws Exception {
        CompletableFuture<Http.Reply> parked = parked("g");
        String path = "/api/v1/consumer-groups/g/queues/" + queue;
        lose(
                "delete_group",
                parked,
                () -> CompletableFuture.supplyAsync(() -> told.http().delete(path)));
        assertEquals(List.of("1", "1"), parked.get().payloads());
    }

    @Test
    void aReplayWakes() throws Exception {
        told.http().push(queue, "p", "2");
        Http.Reply leased = other.http().get(path("g", "wait=true&timeout=50000"));
        other.http().ack(leased.json(), 0, "dlq");
        String id = told.http().get("/api/v1/dlq?queue=" + queue).json().text("messages", 0, "id");
        CompletableFuture<Http.Reply> parked = parked("g");
        lose(
                "replay_dead_letter",
                parked,
                () -> told.http().postLater("/api/v1/dlq/" + id + "/replay", ""));
        assertEquals(List.of("2"), parked.get().payloads());
    }

    @Test
    @Contract("dlq-7")
    void aBulkReplayStillSaysWhatItDidBefore() throws Exception {
        for (String payload : List.of("2", "3")) {
            told.http().push(queue, "p", payload);
            Http.Reply leased = told.http().get(path("g", "wait=true&timeout=50000"));
            told.http().ack(leased.json(), 0, "dlq");
        }
        PostgresLink.Halt first = link.haltAt("replay_dead_letter", PostgresLink.Point.ANSWER);
        PostgresLink.Halt second = link.haltAt("replay_dead_letter", PostgresLink.Point.ANSWER);
        String body = "{\"queue\":\"" + queue + "\"}";
        CompletableFuture<Http.Reply> bulk = told.http().postLater("/api/v1/dlq/replay", body);
        first.awaitReached();
        first.pass();
        second.awaitReached();
        second.cut();
        Http.Reply reply = bulk.get();
        assertEquals(200, reply.status(), reply.body());
        assertEquals("1", reply.json().text("moved"));
        assertEquals("outcome_unknown", reply.json().text("stopped"));
        String next = reply.json().text("next");
        assertEquals(
                "0",
                told.http()
                        .post(
                                "/api/v1/dlq/replay",
                                "{\"queue\":\"" + queue + "\",\"after\":\"" + next + "\"}")
                        .json()
                        .text("moved"));
    }

    @Test
    @Contract("dlq-5")
    void aLookUpThatFailsIsSaidToBeOne() throws Exception {
        PostgresLink.Halt halt = link.haltAt("dead_letters_of", PostgresLink.Point.REQUEST);
        CompletableFuture<Http.Reply> retry =
                told.http()
                        .postLater(
                                "/api/v1/messages/00000000-0000-8000-8000-000fffffffff/t/retry",
                                "");
        halt.awaitReached();
        halt.cut();
        assertEquals(500, retry.get().status());
        assertEquals("{\"error\":\"dlq lookup failed: outcome_unknown\"}", retry.get().body());
    }
}
