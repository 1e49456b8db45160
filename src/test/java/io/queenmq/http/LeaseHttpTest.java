package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Extending a lease. */
class LeaseHttpTest {
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

    private static Json extend(String leaseId, String body) {
        Http.Reply reply = http.post("/api/v1/lease/" + Http.encode(leaseId) + "/extend", body);
        assertEquals(200, reply.status());
        return reply.json();
    }

    private static void assertNothing(Json extension, String leaseId) {
        assertEquals(leaseId, extension.text("leaseId"));
        assertFalse(extension.bool("success"));
        assertEquals("0", extension.text("renewed"));
        for (String field : List.of("newExpiresAt", "expiresAt", "lease_expires_at")) {
            assertTrue(extension.isNull(field));
        }
    }

    @Test
    @Contract({"lease-1", "lease-4"})
    void everyLaneOfThePopIsExtended() {
        String queue = "lease-" + UUID.randomUUID();
        http.push(queue, "a", "1");
        http.push(queue, "b", "2");
        String leaseId = http.pop(queue, "partitions=0").json().text("leaseId");
        Instant before = Instant.now();
        Json extension = extend(leaseId, "{\"seconds\":500}");
        assertEquals(
                List.of(
                        "leaseId",
                        "success",
                        "renewed",
                        "newExpiresAt",
                        "expiresAt",
                        "lease_expires_at"),
                extension.names());
        assertTrue(extension.bool("success"));
        assertEquals("2", extension.text("renewed"));
        Instant expires = Instant.parse(extension.text("newExpiresAt"));
        assertFalse(expires.isBefore(before.plusSeconds(499)), expires.toString());
        assertEquals(extension.text("newExpiresAt"), extension.text("expiresAt"));
        assertEquals(extension.text("newExpiresAt"), extension.text("lease_expires_at"));
    }

    @Test
    @Contract({"http-20", "lease-1"})
    void aLeaseIsNeverShortened() {
        String queue = "lease-" + UUID.randomUUID();
        http.push(queue, "p", "1");
        String leaseId = http.pop(queue, "leaseSeconds=900").json().text("leaseId");
        String first = extend(leaseId, "{\"seconds\":1}").text("newExpiresAt");
        assertEquals(first, extend(leaseId, "{}").text("newExpiresAt"));
        assertTrue(Instant.parse(first).isAfter(Instant.now().plusSeconds(600)));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "{}", "nonsense", "[]", "{\"seconds\":\"x\"}"})
    @Contract("lease-2")
    void aBodyThatSaysNothingExtendsByAMinute(String body) {
        String queue = "lease-" + UUID.randomUUID();
        http.push(queue, "p", "1");
        String leaseId = http.pop(queue, "leaseSeconds=1").json().text("leaseId");
        Instant before = Instant.now();
        Json extension = extend(leaseId, body);
        Instant expires = Instant.parse(extension.text("expiresAt"));
        assertFalse(expires.isBefore(before.plusSeconds(59)));
        assertFalse(expires.isAfter(Instant.now().plusSeconds(61)));
    }

    @Test
    @Contract("lease-5")
    void anAcknowledgedLeaseIsNotExtended() {
        String queue = "lease-" + UUID.randomUUID();
        http.push(queue, "p", "1");
        Json popped = http.pop(queue, "").json();
        http.ack(popped, 0, "completed");
        assertNothing(extend(popped.text("leaseId"), "{}"), popped.text("leaseId"));
    }

    @Test
    @Contract("lease-3")
    void anExpiredLeaseIsNotRevived() {
        String queue = "lease-" + UUID.randomUUID();
        http.push(queue, "p", "1");
        Json first = http.pop(queue, "leaseSeconds=1").json();
        http.pop(queue, "wait=true&timeout=30000");
        assertNothing(extend(first.text("leaseId"), "{}"), first.text("leaseId"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "01990000-0000-7000-8000-000000000001",
                "00000000-0000-0000-0000-000000000000",
                "no uuid",
                "a/b"
            })
    @Contract("lease-5")
    void anUnknownLeaseIsNoError(String leaseId) {
        assertNothing(extend(leaseId, "{\"seconds\":5}"), leaseId);
    }
}
