package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import io.queenmq.web.RawClient;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/**
 * Whatever is sent, the answer is clear or the connection closes, nothing is stored by halves, no
 * lease is taken for a client that is gone, and the broker lives on.
 */
class HostileInputHttpTest {
    private static final int MIB = 1 << 20;
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

    @AfterEach
    void theBrokerLivesOn() {
        String queue = "alive-" + UUID.randomUUID();
        http.push(queue, "p", "1");
        assertEquals(List.of("1"), http.pop(queue, "autoAck=true").payloads());
    }

    private static byte[] padded(String queue, int bytes) {
        String head = "{\"items\":[{\"queue\":\"" + queue + "\",\"payload\":\"";
        byte[] body = new byte[bytes];
        Arrays.fill(body, (byte) 'x');
        byte[] start = head.getBytes(StandardCharsets.UTF_8);
        byte[] end = "\"}]}".getBytes(StandardCharsets.UTF_8);
        System.arraycopy(start, 0, body, 0, start.length);
        System.arraycopy(end, 0, body, bytes - end.length, end.length);
        return body;
    }

    @Test
    @Contract("http-7")
    void aBodyOf65MiBIsRefusedAndNothingOfItStored() {
        Http.Reply reply = http.post("/api/v1/push", padded("huge", 65 * MIB));
        assertEquals(413, reply.status());
        assertEquals("{\"error\":\"request body exceeds 67108864 bytes\"}", reply.body());
        assertEquals(204, http.pop("huge", "").status());
    }

    @Test
    @Contract({"model-11", "push-8"})
    void aPayloadOfManyMiBComesBackWhole() {
        Http.Reply pushed = http.post("/api/v1/push", padded("large", 20 * MIB));
        assertEquals(201, pushed.status());
        assertEquals("queued", pushed.json().text(0, "status"));
        String body = http.pop("large", "autoAck=true").body();
        assertTrue(body.length() > 20 * MIB, "got " + body.length());
    }

    @Test
    @Contract("http-1")
    void invalidUtf8IsRefusedWherever() throws IOException {
        for (String body :
                List.of(
                        "{\"items\":[{\"queue\":\"utf\",\"payload\":\"\u0001\"}]}",
                        "{\"items\":[{\"queue\":\"utf\u0001\",\"payload\":1}]}",
                        "{\"items\":[{\"queue\":\"utf\",\"payload\":1}],\"\u0001\":1}")) {
            byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
            for (int i = 0; i < bytes.length; i++) {
                if (bytes[i] == 1) {
                    bytes[i] = (byte) 0xff;
                }
            }
            Http.Reply reply = http.post("/api/v1/push", bytes);
            assertEquals(400, reply.status());
            assertTrue(reply.json().text("error").startsWith("bad body: invalid UTF-8"));
        }
        assertEquals(204, http.pop("utf", "").status());
    }

    @Test
    @Contract("http-17")
    void aHalfSentPushStoresNothing() throws IOException {
        byte[] body = padded("half", 10_000);
        try (RawClient client = new RawClient(broker.port())) {
            client.send("POST /api/v1/push HTTP/1.1\r\nHost: q\r\nContent-Length: 10000\r\n\r\n");
            client.send(Arrays.copyOf(body, 9_990));
            client.halfClose();
            client.awaitClose();
        }
        assertEquals(204, http.pop("half", "").status());
    }

    @Test
    @Contract({"http-5", "http-17"})
    void aTruncatedJsonStoresNothing() {
        byte[] body = padded("cut", 10_000);
        assertEquals(400, http.post("/api/v1/push", Arrays.copyOf(body, 9_998)).status());
        assertEquals(204, http.pop("cut", "").status());
    }

    @Test
    @Contract("http-6")
    void deepNestingIsRefusedNotFatal() {
        String deep = "[".repeat(1_000_000);
        Http.Reply reply =
                http.post(
                        "/api/v1/push",
                        "{\"items\":[{\"queue\":\"deep\",\"payload\":" + deep + "}]}");
        assertEquals(400, reply.status());
    }

    @Test
    @Contract("pop-claim-9")
    void aVanishedPollTakesNoLease() throws IOException {
        for (String way : List.of("close", "reset", "half")) {
            String queue = "vanished-" + way + "-" + UUID.randomUUID();
            http.push(queue, "p", "0");
            http.pop(queue, "autoAck=true");
            RawClient gone = new RawClient(broker.port());
            gone.request("GET", "/api/v1/pop/queue/" + queue + "?wait=true&timeout=30000");
            broker.awaitParked(1);
            switch (way) {
                case "close" -> gone.close();
                case "reset" -> gone.reset();
                default -> gone.halfClose();
            }
            broker.awaitParked(0);
            http.push(queue, "p", "1");
            Json json = http.pop(queue, "wait=true&timeout=10000").json();
            assertEquals(List.of("1"), json.each("messages", "data"), way);
            assertEquals("1", json.text("messages", 0, "deliveryAttempt"));
            gone.close();
        }
    }

    @Test
    @Contract("http-16")
    void manyBadRequestsOnOneConnectionLeaveItUsable() throws IOException {
        try (RawClient client = new RawClient(broker.port())) {
            for (int i = 0; i < 200; i++) {
                assertEquals(400, client.post("/api/v1/push", "{\"items\":[{}]}").status());
                assertEquals(400, client.get("/api/v1/pop/queue/q?batch=x").status());
            }
            assertEquals(200, client.get("/livez").status());
        }
    }
}
