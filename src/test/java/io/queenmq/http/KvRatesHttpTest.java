package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** How many calls on keys a tenant may make. */
class KvRatesHttpTest {
    private static final String OPS =
            "[{\"op\":\"get\",\"ns\":\"n\",\"key\":\"k\"},{\"op\":\"delete\",\"ns\":\"n\",\"key\":\"k\"}]";

    @Contract({"kv-27", "error-4"})
    @Test
    void aTenantThatAsksTooMuchIsRefusedAndOthersAreNot() {
        try (TestDatabase database = TestDatabase.migrated();
                TestBroker broker =
                        TestBroker.withEnvironment(
                                database,
                                Map.of(
                                        "QUEEN_TENANCY_HEADER", "true",
                                        "QUEEN_KV_REQUIRE_GRANT", "false",
                                        "QUEEN_KV_WRITE_RATE", "1",
                                        "QUEEN_KV_WRITE_BURST", "3"))) {
            Http one = broker.http().as("0199aaaa-0000-7000-8000-000000000001");
            Http two = broker.http().as("0199aaaa-0000-7000-8000-000000000002");
            int refused = 0;
            for (int i = 0; i < 100 && refused == 0; i++) {
                Reply reply = one.post("/api/v1/kv", OPS);
                if (reply.status() == 429) {
                    refused++;
                    assertEquals("rate_limited", reply.json().text("error"));
                    assertTrue(reply.response().headers().firstValue("Retry-After").isPresent());
                }
            }
            assertTrue(refused > 0, "a hundred calls in less than a hundred seconds");
            assertEquals(200, two.post("/api/v1/kv", OPS).status());
            refused = 0;
            for (int i = 0; i < 100; i++) {
                Reply reply =
                        one.post(
                                "/api/v1/timers",
                                "[{\"op\":\"schedule\",\"queue\":\"q\",\"timerKey\":\"k\",\"txn\":\"t\","
                                        + "\"delayMs\":3600000,\"payload\":\"MQ==\"}]");
                if (reply.status() == 429) {
                    refused++;
                    assertEquals("rate_limited", reply.json().text("error"));
                }
            }
            assertTrue(refused > 0, "a schedule is a write");
            assertEquals(200, one.delete("/api/v1/timers/q/k").status(), "a cancellation is not");
            assertEquals(200, one.get("/api/v1/kv/n/k").status(), "reads have tokens of their own");
            one.push("q", "p", "1");
        }
    }

    /** Or a lock would be held by nobody: taken, and its token lost with the refusal. */
    @Contract({"lock-1", "kv-27"})
    @Test
    void aCallOnLocksCountsOnceHoweverManyRoundsItTakes() {
        try (TestDatabase database = TestDatabase.migrated();
                TestBroker broker =
                        TestBroker.withEnvironment(
                                database,
                                Map.of(
                                        "QUEEN_KV_READ_RATE", "1",
                                        "QUEEN_KV_READ_BURST", "1",
                                        "QUEEN_KV_WRITE_RATE", "1",
                                        "QUEEN_KV_WRITE_BURST", "1"))) {
            Reply reply =
                    broker.http()
                            .post(
                                    "/api/v1/locks",
                                    """
                                    [{"op":"acquire","name":"a","ttlSeconds":60},
                                     {"op":"release","name":"b","token":1},
                                     {"op":"renew","name":"c","token":1,"ttlSeconds":60}]""");
            assertEquals(200, reply.status(), reply.body());
            assertTrue(reply.json().bool("results", 0, "acquired"));
            assertEquals("lost", reply.json().text("results", 1, "reason"));
            assertEquals("lost", reply.json().text("results", 2, "reason"));
            assertEquals(200, broker.http().get("/api/v1/kv/n/k").status(), "it was no read");
        }
    }
}
