package io.queenmq.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/** A queue for every test of dead letters, and a way to file some in it. */
abstract class DeadLetterScene {
    static final String NO_PARTITION = "00000000-0000-8000-8000-000fffffffff";

    static TestBroker broker;
    static Http http;

    String queue;

    @BeforeAll
    static void start() {
        broker = TestBroker.start();
        http = broker.http();
    }

    @AfterAll
    static void stop() {
        broker.close();
    }

    @BeforeEach
    void setUp() {
        queue = "dlq-" + UUID.randomUUID();
    }

    /** Gives up a message of its own lane and group; the row of the list that shows it. */
    Json file(String partition, String group, String transactionId, String payload) {
        http.pushItems(List.of(Http.item(queue, partition, transactionId, payload)));
        Json popped =
                http.get(
                                "/api/v1/pop/queue/"
                                        + queue
                                        + "/partition/"
                                        + partition
                                        + "?subscriptionMode=all&consumerGroup="
                                        + group)
                        .json();
        Json acked = http.ack(popped, popped.size("messages") - 1, "dlq");
        assertTrue(acked.bool(0, "dlq"), acked.toString());
        return list("").at("messages", 0);
    }

    Json file(String transactionId) {
        return file("p", "g", transactionId, "{\"n\" : 1.0}");
    }

    Json list(String more) {
        Http.Reply reply = http.get("/api/v1/dlq?queue=" + queue + "&" + more);
        assertEquals(200, reply.status(), reply.body());
        return reply.json();
    }

    List<String> listed(String more) {
        return list(more).each("messages", "transactionId");
    }

    List<String> stored() {
        Http.Reply reply = http.pop(queue, "consumerGroup=all&subscriptionMode=all&autoAck=true");
        return reply.status() == 204 ? List.of() : reply.json().each("messages", "transactionId");
    }

    static String address(Json row) {
        return "/api/v1/messages/"
                + row.text("partitionId")
                + "/"
                + Http.encode(row.text("transactionId"));
    }

    static void assertNotFound(Http.Reply reply, String partitionId, String transactionId) {
        assertEquals(404, reply.status());
        Json json = reply.json();
        assertEquals(
                List.of("success", "partitionId", "transactionId", "error", "message"),
                json.names());
        assertFalse(json.bool("success"));
        assertEquals(partitionId, json.text("partitionId"));
        assertEquals(transactionId, json.text("transactionId"));
        assertEquals("Message not found", json.text("error"));
    }
}
