package io.queenmq.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What one tenant cannot do to the groups and dead letters of another. */
class TenancyHttpTest {
    private static TestBroker broker;

    private Http owner;
    private Http stranger;
    private Json letter;

    @BeforeAll
    static void start() {
        broker = TestBroker.withTenancy();
    }

    @AfterAll
    static void stop() {
        broker.close();
    }

    @BeforeEach
    void file() {
        owner = broker.http().as(UUID.randomUUID().toString());
        stranger = broker.http().as(UUID.randomUUID().toString());
        owner.push("q", "p", "1");
        Json popped = owner.pop("q", "consumerGroup=g&subscriptionMode=all").json();
        owner.ack(popped, 0, "dlq");
        letter = owner.get("/api/v1/dlq").json().at("messages", 0);
    }

    private String address() {
        return "/api/v1/messages/"
                + letter.text("partitionId")
                + "/"
                + letter.text("transactionId");
    }

    private void assertUntouched() {
        assertEquals("1", owner.get("/api/v1/dlq").json().text("total"));
        assertEquals(204, owner.pop("q", "consumerGroup=g").status());
    }

    @Test
    void theListIsTheTenantsOwn() {
        Json foreign = stranger.get("/api/v1/dlq?queue=q").json();
        assertEquals("0", foreign.text("total"));
        assertEquals(0, foreign.size("messages"));
    }

    @Test
    @Contract({"dlq-4", "dlq-5", "dlq-6"})
    void aForeignDeadLetterAnswersLikeOneThatNeverExisted() {
        Http.Reply guessed = stranger.post("/api/v1/dlq/" + letter.text("id") + "/replay", "");
        Http.Reply never = stranger.post("/api/v1/dlq/999999999/replay", "");
        assertEquals(404, guessed.status());
        assertEquals(never.body().replace("999999999", letter.text("id")), guessed.body());
        assertEquals(404, stranger.post(address() + "/retry", "").status());
        assertEquals(404, stranger.delete(address()).status());
        assertEquals("0", stranger.delete("/api/v1/dlq?queue=q").json().text("deleted"));
        assertEquals(
                "0", stranger.post("/api/v1/dlq/replay", "{\"queue\":\"q\"}").json().text("moved"));
        assertUntouched();
    }

    @Test
    void aForeignGroupIsNotMoved() {
        String group = "/api/v1/consumer-groups/g";
        Http.Reply sought = stranger.post(group + "/queues/q/seek", "{\"toBeginning\":true}");
        assertEquals(404, sought.status());
        assertEquals(
                404,
                stranger.post(group + "/queues/q/partitions/p/seek", "{\"toBeginning\":true}")
                        .status());
        assertEquals("0", stranger.delete(group).json().text("deletedPartitions"));
        assertEquals("0", stranger.delete(group + "/queues/q").json().text("deletedPartitions"));
        assertEquals(
                "0",
                stranger.post(group + "/subscription", "{\"subscriptionTimestamp\":\"2000-01-01\"}")
                        .json()
                        .text("rowsUpdated"));
        assertUntouched();
    }

    @Test
    void aReplayElsewhereStaysWithTheTenant() {
        stranger.push("target", "p", "9");
        Json json =
                owner.post(
                                "/api/v1/dlq/" + letter.text("id") + "/replay",
                                "{\"queue\":\"target\",\"partition\":\"p\"}")
                        .json();
        assertEquals("0", json.text("replayedAs", "offset"), "a queue of its own");
        assertEquals(List.of("9"), stranger.pop("target", "").payloads());
        assertFalse(owner.pop("target", "").payloads().isEmpty());
    }
}
