package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TcpProxy;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/**
 * While the database cannot be reached every route says so at once, nothing is called stored that
 * is not, and the broker goes on by itself when the database is back.
 */
class DatabaseAwayHttpTest {
    private static final long RECOVERY_NANOS_MAX = TimeUnit.SECONDS.toNanos(30);

    @Test
    @Contract({"http-18", "push-19", "pop-answer-4", "pop-wait-5", "ack-error-8", "error-7"})
    void everyRouteIsHonestAndTheBrokerRecovers() throws Exception {
        try (TestDatabase database = TestDatabase.migrated();
                TcpProxy link = new TcpProxy(database.host(), database.port());
                TestBroker broker = TestBroker.over(link, database)) {
            Http http = broker.http();
            http.push("q", "p", "1", "2");
            Json popped = http.pop("q", "batch=1").json();
            CompletableFuture<Http.Reply> poll =
                    http.getLater("/api/v1/pop/queue/other?wait=true&timeout=50000");
            broker.awaitParked(1);

            link.refuse(true);
            link.cut();
            Http.Reply health = http.get("/health");
            assertEquals(503, health.status());
            assertEquals("unhealthy", health.json().text("status"));
            assertEquals("disconnected", health.json().text("database"));
            assertEquals(200, http.get("/livez").status());
            assertEquals(200, http.get("/status").status());

            assertUnavailable(http.pop("unknown", ""));
            assertUnavailable(http.post("/api/v1/configure", "{\"queue\":\"q\"}"));
            assertUnavailable(http.post("/api/v1/lease/" + popped.text("leaseId") + "/extend", ""));
            assertUnavailable(http.delete("/api/v1/resources/queues/q"));
            // Only now: a push that met a connection not yet known to be broken would be in doubt,
            // held until its deadline and then answered with 503.
            Json pushed = http.pushItems(List.of(Http.item("q", "p", "t-3", "3"))).json();
            assertEquals("failed", pushed.text(0, "status"));
            assertEquals("t-3", pushed.text(0, "transaction_id"));
            Json acked = http.ack(popped, 0, "completed");
            assertEquals("false", acked.text(0, "success"));
            assertEquals("pool", acked.text(0, "error"));

            link.refuse(false);
            pushUntilStored(http);
            assertEquals("true", http.ack(popped, 0, "completed").text(0, "success"));
            assertEquals(List.of("2", "3"), http.pop("q", "").payloads());
            http.push("other", "p", "4");
            assertEquals(List.of("4"), poll.get().payloads(), "the parked poll has outlived it");
        }
    }

    private static void assertUnavailable(Http.Reply reply) {
        assertEquals(503, reply.status(), reply.body());
        assertEquals(List.of("error"), reply.json().names());
        assertFalse(
                reply.body().contains("127.0.0.1") || reply.body().contains("total="),
                () -> "where the database is, is no client's business: " + reply.body());
        assertTrue(reply.response().headers().firstValue("retry-after").isPresent());
    }

    // As a client does: the same id again until it is stored.
    private static void pushUntilStored(Http http) {
        long end = System.nanoTime() + RECOVERY_NANOS_MAX;
        while (System.nanoTime() < end) {
            String status =
                    http.pushItems(List.of(Http.item("q", "p", "t-3", "3")))
                            .json()
                            .text(0, "status");
            if (status.equals("queued")) {
                return;
            }
            assertEquals("failed", status);
        }
        throw new AssertionError("the broker did not recover");
    }
}
