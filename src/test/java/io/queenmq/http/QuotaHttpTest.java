package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What tenants may do with keys and timers, and what is never refused for that. */
class QuotaHttpTest {
    private static final String QUOTA = "/api/v1/system/quota";
    private static final String KV = "/api/v1/kv";
    private static final String TIMERS = "/api/v1/timers";

    private static TestDatabase database;

    /** Measures all the time. */
    private static TestBroker broker;

    /** Knows no tenants. */
    private static TestBroker plain;

    private final String tenant = UUID.randomUUID().toString();
    private Http http;

    @BeforeAll
    static void start() {
        database = TestDatabase.migrated();
        broker =
                TestBroker.withEnvironment(
                        database,
                        Map.of(
                                "QUEEN_TENANCY_HEADER", "true",
                                "QUEEN_KV_READ_RATE", "0",
                                "QUEEN_KV_WRITE_RATE", "0",
                                "QUEEN_KV_CELL_RATE", "0",
                                "QUEEN_KV_USAGE_EVERY_MS", "100",
                                "QUEEN_KV_QUOTA_REFRESH_MS", "100"));
        plain = TestBroker.withEnvironment(database, Map.of("QUEEN_KV_USAGE_EVERY_MS", "100"));
    }

    @AfterAll
    static void stop() {
        plain.close();
        broker.close();
        database.close();
    }

    @BeforeEach
    void name() {
        http = broker.http().as(tenant);
    }

    private Json grant(String limits) {
        Reply reply =
                http.post(
                        QUOTA, "{\"kind\":\"kv\",\"tenant\":\"%s\",%s}".formatted(tenant, limits));
        assertEquals(200, reply.status(), reply.body());
        return reply.json();
    }

    private Reply put(String key, String value) {
        return http.put(KV + "/n/" + key, "{\"forever\":true,\"value\":" + value + "}");
    }

    private static String schedule(String key) {
        return """
        {"op":"schedule","queue":"q","timerKey":"%s","delayMs":3600000,"txn":"t","payload":"MQ=="}"""
                .formatted(key);
    }

    private static void assertRefused(Reply reply, String error, @Nullable String reason) {
        assertEquals(403, reply.status(), reply.body());
        assertEquals(error, reply.json().text("error"), reply.body());
        if (reason != null) {
            assertEquals(reason, reply.json().text("reason"), reply.body());
        }
        assertFalse(reply.json().text("detail").isEmpty());
        assertTrue(reply.response().headers().firstValue("Retry-After").isEmpty());
    }

    @Contract({"quota-1", "quota-2", "quota-6"})
    @Test
    void withoutAGrantNothingIsDoneButCancelsAndLooks() {
        for (String reason : List.of("not_granted", "grant_disabled")) {
            assertRefused(http.get(KV + "/n/k"), "feature_gated", reason);
            assertRefused(put("k", "1"), "feature_gated", reason);
            assertRefused(
                    http.post("/api/v1/locks", "[{\"op\":\"get\",\"name\":\"l\"}]"),
                    "feature_gated",
                    reason);
            assertRefused(http.post(TIMERS, "[" + schedule("a") + "]"), "feature_gated", reason);
            Reply bundle =
                    http.post(
                            "/api/v1/transaction",
                            "{\"kv\":[{\"op\":\"get\",\"ns\":\"n\",\"key\":\"k\"}]}");
            assertEquals(403, bundle.status(), bundle.body());
            assertEquals("feature_gated", bundle.json().text("reason"));
            assertEquals("absent", http.delete(TIMERS + "/q/a").json().text("status"));
            assertEquals(
                    200,
                    http.post(TIMERS, "[{\"op\":\"cancel\",\"queue\":\"q\",\"timerKey\":\"a\"}]")
                            .status());
            assertEquals(200, http.get(TIMERS + "/q/a").status());
            assertEquals(200, http.get(TIMERS + "/q").status());
            http.push("q", "p", "1");
            Json told = grant("\"enabled\":false,\"maxRows\":5");
            assertEquals(
                    List.of(
                            "tenant",
                            "kind",
                            "enabled",
                            "maxRows",
                            "maxBytes",
                            "maxTimers",
                            "maxTimerHorizonS",
                            "maxReadsPerSec",
                            "maxWritesPerSec"),
                    told.names());
            assertFalse(told.bool("enabled"));
            assertTrue(told.isNull("maxBytes"));
        }
        // What is left out stays.
        assertEquals("5", grant("\"enabled\":true,\"maxTimers\":7").text("maxRows"));
        assertEquals(200, put("k", "1").status());
        assertTrue(grant("\"maxRows\":null").isNull("maxRows"));
        // Whoever knows no tenants wants no grants, but what is said of its tenant holds.
        assertEquals(200, plain.http().get(KV + "/n/k").status());
    }

    @Contract({"quota-3", "quota-5"})
    @Test
    void keysBeyondTheQuotaAreRefusedAndDeletesMakeRoom() {
        grant("\"maxRows\":10");
        for (int i = 0; i < 10; i++) {
            String key = "k" + i;
            Await.until("there is room", () -> put(key, "1").status() == 200);
        }
        Await.until(
                "the list of queues tells",
                () -> "10".equals(http.get("/api/v1/resources/queues").json().text("kvRows")));
        Json list = http.get("/api/v1/resources/queues").json();
        assertEquals(
                "10 0 0",
                list.text("kvBytes")
                        + " "
                        + list.text("timerRows")
                        + " "
                        + list.text("timerBytes"));
        // A measurement that began before the last write may let one more pass.
        Await.until("it is used up", () -> put("more", "1").status() == 403);
        assertRefused(put("more", "1"), "kv_quota_exceeded", null);
        assertRefused(
                http.post(
                        KV,
                        "[{\"op\":\"incr\",\"ns\":\"n\",\"key\":\"c\",\"delta\":1,\"forever\":true}]"),
                "kv_quota_exceeded",
                null);
        assertRefused(
                http.post(
                        "/api/v1/locks", "[{\"op\":\"acquire\",\"name\":\"l\",\"ttlSeconds\":60}]"),
                "kv_quota_exceeded",
                null);
        Reply bundle =
                http.post(
                        "/api/v1/transaction",
                        "{\"kv\":[{\"op\":\"put\",\"ns\":\"n\",\"key\":\"x\",\"value\":1,\"forever\":true}]}");
        assertEquals("403 kv_quota_exceeded", bundle.status() + " " + bundle.json().text("reason"));
        Json read = http.get(KV + "/n/k1").json();
        assertTrue(read.bool("found"));
        // A version that is there makes no key.
        assertTrue(
                http.put(
                                KV + "/n/k1",
                                "{\"forever\":true,\"value\":2,\"expect\":"
                                        + read.text("version")
                                        + "}")
                        .json()
                        .bool("applied"));
        for (int i = 2; i < 5; i++) {
            assertTrue(http.delete(KV + "/n/k" + i).json().bool("applied"));
        }
        Await.until("there is room again", () -> put("more", "1").status() == 200);
    }

    @Contract("quota-4")
    @Test
    void whatOnlyReplacesUsesAQuotaUpForAMomentAtMost() {
        grant("\"maxRows\":3,\"maxBytes\":100");
        for (int i = 0; i < 30; i++) {
            String value = "\"" + "x".repeat(40) + i + "\"";
            Await.until("it is measured", () -> put("same", value).status() == 200);
        }
        assertRefused(put("same", "\"" + "x".repeat(120) + "\""), "kv_quota_exceeded", null);
        // What did not come about uses up nothing.
        for (int i = 0; i < 30; i++) {
            String exists = "{\"forever\":true,\"value\":\"0123456789\",\"expect\":0}";
            Await.until("it is measured", () -> http.put(KV + "/n/same", exists).status() == 200);
        }
    }

    @Contract({"quota-3", "quota-5", "quota-7", "timer-24"})
    @Test
    void timersBeyondTheQuotaAreRefusedAndCancelsAreNot() {
        grant("\"maxTimers\":3,\"maxTimerHorizonS\":7200");
        List<String> ops = new ArrayList<>();
        for (String key : List.of("a", "b", "c")) {
            ops.add(schedule(key));
        }
        assertEquals(200, http.post(TIMERS, ops.toString()).status());
        // A measurement that began before may let one more pass.
        Await.until(
                "it is used up",
                () -> http.post(TIMERS, "[" + schedule("d") + "]").status() == 403);
        Reply refused = http.post(TIMERS, "[" + schedule("d") + "]");
        assertRefused(refused, "timers_quota_exceeded", "timers_quota_exceeded");
        assertTrue(refused.response().headers().firstValue("x-queen-timers-hint").isEmpty());
        String cancel = "{\"op\":\"cancel\",\"queue\":\"q\",\"timerKey\":\"a\"}";
        Reply mixed = http.post(TIMERS, "[" + schedule("d") + "," + cancel + "]");
        assertRefused(mixed, "timers_quota_exceeded", null);
        String noJson = schedule("d").replace("MQ==", "Ww==");
        Reply unread = http.post(TIMERS, "[" + noJson + "," + cancel + "]");
        assertEquals(400, unread.status(), unread.body());
        for (Reply reply : List.of(mixed, unread)) {
            assertTrue(
                    reply.response()
                            .headers()
                            .firstValue("x-queen-timers-hint")
                            .orElse("")
                            .contains("DELETE /api/v1/timers/"));
        }
        assertTrue(http.get(TIMERS + "/q/a").json().bool("found"), "it was refused whole");
        assertEquals("cancelled", http.delete(TIMERS + "/q/a").json().text("status"));
        assertEquals("cancelled", http.delete(TIMERS + "/q/b").json().text("status"));
        Await.until(
                "there is room",
                () -> http.post(TIMERS, "[" + schedule("d") + "]").status() == 200);
        assertRefused(
                http.post(TIMERS, "[" + schedule("c").replace("3600000", "7300000") + "]"),
                "timer_horizon_exceeded",
                "timers_horizon");
        Json list = http.get("/api/v1/resources/queues").json();
        assertTrue(list.names().contains("timerBytes"), list.toString());
    }

    /** Nothing is measured meanwhile: what is not given back stays in the way for half a minute. */
    @Contract({"quota-3", "quota-4"})
    @Test
    void aTransactionThatDoesNothingUsesNothingUp() {
        Http one = plain.http();
        one.pushItems(List.of(Http.item("tx", "p", "taken", "1")));
        one.post(QUOTA, "{\"kind\":\"kv\",\"maxRows\":1,\"maxTimers\":1}");
        try {
            Map<String, String> bundles =
                    Map.of(
                            "duplicate",
                            bundle("", push("taken")),
                            "ack_rejected",
                            bundle(
                                    "",
                                    "{\"type\":\"ack\",\"transactionId\":\"x\",\"partitionId\":"
                                            + "\"00000000-0000-8000-8000-000fffffffff\"}"),
                            "kv_precondition",
                            bundle(
                                    ",{\"op\":\"check\",\"ns\":\"n\",\"key\":\"no\",\"expect\":7}",
                                    ""),
                            "bad_request",
                            bundle(",{\"op\":\"getPrefix\",\"ns\":\"n\",\"prefix\":\"a\"}", ""));
            bundles.forEach(
                    (reason, body) -> {
                        for (int i = 0; i < 2; i++) {
                            Reply reply = one.post("/api/v1/transaction", body);
                            assertEquals(reason, reply.json().text("reason"), reply.body());
                        }
                    });
            Reply done = one.post("/api/v1/transaction", bundle("", push("new")));
            assertTrue(done.json().bool("success"), done.body());
            Reply more = one.post("/api/v1/transaction", bundle("", push("more")));
            assertEquals("timers_quota_exceeded", more.json().text("reason"), more.body());
        } finally {
            one.post(QUOTA, "{\"kind\":\"kv\",\"maxRows\":null,\"maxTimers\":null}");
        }
    }

    /** A new key, a new timer, and more. */
    private static String bundle(String moreKeys, String operation) {
        String name = UUID.randomUUID().toString();
        return """
        {"kv":[{"op":"put","ns":"n","key":"%s","value":1,"forever":true}%s],"timers":[%s],\
        "operations":[%s]}"""
                .formatted(name, moreKeys, schedule(name), operation);
    }

    private static String push(String id) {
        return "{\"type\":\"push\",\"queue\":\"tx\",\"partition\":\"p\",\"transactionId\":\"%s\"}"
                .formatted(id);
    }

    @Contract("quota-8")
    @Test
    void aTenantMayHaveRatesOfItsOwn() {
        grant("\"maxWritesPerSec\":1");
        int refused = 0;
        for (int i = 0; i < 100; i++) {
            refused += put("k", "1").status() == 429 ? 1 : 0;
        }
        assertTrue(refused > 0, "a hundred calls in less than a hundred seconds");
        assertEquals(200, http.get(KV + "/n/k").status());
    }

    @Contract({"switch-1", "quota-9"})
    @Test
    void whatStandsInTheWayOfAllIsToldFirst() {
        Json state = http.get("/api/v1/system/kv-timers").json();
        assertEquals(
                List.of(
                        "kvEnabled",
                        "timersScheduleEnabled",
                        "timersFireEnabled",
                        "quotaTenants",
                        "quotaAgeMs",
                        "quotaHot"),
                state.names());
        grant("\"maxRows\":0");
        Json after = http.get("/api/v1/system/kv-timers").json();
        assertTrue(Integer.parseInt(after.text("quotaTenants")) >= 1);
        assertTrue(Integer.parseInt(after.text("quotaHot")) >= 1, after.toString());
        assertTrue(Long.parseLong(after.text("quotaAgeMs")) >= 0);
        assertRefused(put("k", "1"), "kv_quota_exceeded", null);
        try {
            http.post("/api/v1/system/kv-timers", "{\"kv\":false,\"timersSchedule\":false}");
            assertEquals(503, put("k", "1").status());
            Http stranger = broker.http().as(UUID.randomUUID().toString());
            assertEquals(503, stranger.get(KV + "/n/k").status());
            assertEquals(503, stranger.post(TIMERS, "[" + schedule("a") + "]").status());
        } finally {
            http.post("/api/v1/system/kv-timers", "{\"kv\":true,\"timersSchedule\":true}");
        }
    }

    @Test
    void whatHasNotChangedIsNotMeasuredAgain() {
        grant("\"maxRows\":5");
        assertEquals(200, put("k", "1").status());
        double before = skipped();
        Await.until("it is left out", () -> skipped() > before);
    }

    private static double skipped() {
        return broker.metrics()
                .lines()
                .filter(
                        line ->
                                line.startsWith(
                                        "queen_sweeper_phase_skipped_total{phase=\"usage\""))
                .mapToDouble(line -> Double.parseDouble(line.substring(line.lastIndexOf(' ') + 1)))
                .sum();
    }

    @Contract("quota-9")
    @ParameterizedTest
    @ValueSource(
            strings = {
                "{}",
                "{\"kind\":\"kv\"}",
                "{\"kind\":\"streams\",\"enabled\":true}",
                "{\"kind\":\"kv\",\"tenant\":\"x\",\"enabled\":true}",
                "{\"kind\":\"kv\",\"tenant\":null,\"enabled\":true}",
                "{\"kind\":\"kv\",\"enabled\":1}",
                "{\"kind\":\"kv\",\"maxRows\":-1}",
                "{\"kind\":\"kv\",\"maxRows\":1.5}",
                "{\"kind\":\"kv\",\"maxRows\":\"1\"}",
                "{\"kind\":\"kv\",\"maxRows\":9223372036854775808}",
                "{\"kind\":\"kv\",\"maxReadsPerSec\":0}",
                "{\"kind\":\"kv\",\"maxReadsPerSec\":2147483648}"
            })
    void aQuotaThatMakesNoSenseIsRefused(String body) {
        Reply reply = plain.http().post(QUOTA, body);
        assertEquals(400, reply.status(), reply.body());
        assertEquals(List.of("error"), reply.json().names());
    }
}
