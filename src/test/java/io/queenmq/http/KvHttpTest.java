package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** {@code /api/v1/kv} and the console's view of it. */
class KvHttpTest {
    private static final String PATH = "/api/v1/kv";

    private static TestBroker broker;
    private static Http http;

    /** A namespace of the test's own. */
    private String ns;

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
    void name() {
        ns = "n" + UUID.randomUUID();
    }

    /** Operations without their namespace; the results. */
    private Json run(String... ops) {
        Reply reply = http.post(PATH, batch(ops));
        assertEquals(200, reply.status(), reply.body());
        return reply.json();
    }

    private String batch(String... ops) {
        List<String> all = new ArrayList<>();
        for (String op : ops) {
            all.add("{\"ns\":\"" + ns + "\"," + op + "}");
        }
        return "{\"operations\":[" + String.join(",", all) + "]}";
    }

    private static String put(String key, String value) {
        return put(key, value, "\"forever\":true");
    }

    private static String put(String key, String value, String more) {
        return "\"op\":\"put\",\"key\":\"" + key + "\",\"value\":" + value + "," + more;
    }

    private static String get(String key) {
        return "\"op\":\"get\",\"key\":\"" + key + "\"";
    }

    private void expire(String key) {
        String sql =
                "update queen_store.kv set expires_at = clock_timestamp() - interval '1 s'"
                        + " where namespace = ? and key = ? returning 1";
        try (Connection connection = broker.database().connect()) {
            assertEquals(1, TestDatabase.rows(connection, sql, ns, key).size());
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    private static void assertRefused(Reply reply, int status, String error, String reason) {
        assertEquals(status, reply.status(), reply.body());
        assertEquals(error, reply.json().text("error"), reply.body());
        assertEquals(reason, reply.json().text("reason"), reply.body());
        assertFalse(reply.json().text("detail").isEmpty());
    }

    @Contract({"kv-1", "kv-4", "kv-5", "kv-10", "kv-13", "kv-16"})
    @Test
    void aBatchAnswersOperationByOperation() {
        Json json =
                run(
                        get("a"),
                        put("a", "1"),
                        get("a"),
                        "\"op\":\"delete\",\"key\":\"no\"",
                        "\"op\":\"getMany\",\"keys\":[\"z\",\"b\",\"a\",\"z\"]",
                        put("b", "[2]"));
        assertEquals(List.of("results"), json.names());
        assertEquals(List.of("0", "1", "2", "3", "4", "5"), json.each("results", "index"));
        assertEquals(List.of("index", "op", "found", "key"), json.names("results", 0));
        assertEquals(
                List.of("index", "op", "applied", "key", "value", "version"),
                json.names("results", 1));
        assertEquals(
                List.of(
                        "index",
                        "op",
                        "found",
                        "key",
                        "value",
                        "version",
                        "expiresAt",
                        "updatedAt"),
                json.names("results", 2));
        assertEquals(json.text("results", 1, "version"), json.text("results", 2, "version"));
        assertTrue(json.isNull("results", 2, "expiresAt"));
        assertTrue(json.text("results", 2, "updatedAt").endsWith("Z"));
        assertEquals("absent", json.text("results", 3, "reason"));
        assertEquals("0", json.text("results", 3, "version"));
        assertTrue(json.isNull("results", 3, "value"));
        assertEquals("a", json.text("results", 4, "rows", 0, "key"));
        assertEquals("b", json.text("results", 4, "rows", 1, "key"));
        assertEquals("z", json.text("results", 4, "missing", 0));
        assertEquals(1, json.size("results", 4, "missing"));
        assertFalse(json.bool("results", 4, "truncated"));
        assertEquals("{\"results\":[]}", http.post(PATH, "[]").body());
        assertEquals("{\"results\":[]}", http.post(PATH, "{\"operations\":[]}").body());
        Json removed = run("\"op\":\"delete\",\"key\":\"b\"");
        assertTrue(removed.bool("results", 0, "applied"));
        assertEquals(1, removed.size("results", 0, "value"));
    }

    @Contract({"kv-2", "kv-3", "kv-19"})
    @Test
    void valuesAndKeysComeBackByteForByte() {
        String value =
                "{ \"b\":1.50, \"a\":[1e3,\"\\u0000\\ud800\"], \"a\":null , \"n\":12345678901234567890}";
        String key = "a/b%2F c%/\u00e9/";
        String path = PATH + "/" + ns + "/a/b%252F%20c%25/%C3%A9/";
        assertEquals(200, http.put(path, "{\"forever\":true,\"value\":" + value + "}").status());
        Reply reply = http.get(path);
        assertTrue(reply.body().contains("\"value\":" + value + ","), reply.body());
        assertEquals(key, reply.json().text("key"));
        assertTrue(run(get(key)).bool("results", 0, "found"));
        assertEquals(
                "\"" + reply.json().text("version") + "\"",
                reply.response().headers().firstValue("ETag").orElse(""));
        assertFalse(http.get(path + "x").response().headers().firstValue("ETag").isPresent());
        assertEquals(404, http.get(PATH + "/" + ns + "/a/../b").status());
        assertTrue(run(put("null", "null"), get("null")).isNull("results", 1, "value"));
        String deep = "[".repeat(1_000) + "]".repeat(1_000);
        assertTrue(http.post(PATH, batch(put("deep", deep))).body().contains("\"applied\":true"));
    }

    @Contract({"kv-6", "kv-7", "kv-8"})
    @Test
    void aPrefixIsReadInPages() {
        run(
                put("a1", "1"),
                put("a%", "2"),
                put("a2", "3", "\"ttlSeconds\":60.0"),
                put("b", "4"),
                put("a3", "5", "\"ttlSeconds\":60"));
        expire("a3");
        Json first = run("\"op\":\"getPrefix\",\"prefix\":\"a\",\"limit\":2");
        assertEquals(
                List.of("index", "op", "rows", "truncated", "nextAfter"),
                first.names("results", 0));
        assertEquals("a%", first.text("results", 0, "rows", 0, "key"));
        assertEquals("a1", first.text("results", 0, "nextAfter"));
        Json rest =
                run(
                        "\"op\":\"getPrefix\",\"prefix\":\"a\",\"after\":\"a1\",\"keysOnly\":true,"
                                + "\"limit\":99999999999");
        assertEquals(1, rest.size("results", 0, "rows"));
        assertEquals(
                List.of("key", "version", "expiresAt", "updatedAt"),
                rest.names("results", 0, "rows", 0));
        assertTrue(rest.isNull("results", 0, "nextAfter"));
        assertFalse(rest.bool("results", 0, "truncated"));
        assertEquals(
                1,
                run("\"op\":\"getPrefix\",\"prefix\":\"a%\",\"limit\":-5")
                        .size("results", 0, "rows"));
    }

    @Contract({"kv-9", "kv-10", "kv-11", "kv-13"})
    @Test
    void whatIsExpectedDecides() {
        String version = run(put("k", "1")).text("results", 0, "version");
        Json json =
                run(
                        "\"op\":\"putIfAbsent\",\"key\":\"k\",\"value\":2,\"forever\":true,\"expect\":0");
        assertEquals("putIfAbsent", json.text("results", 0, "op"));
        assertEquals("exists", json.text("results", 0, "reason"));
        assertEquals(version, json.text("results", 0, "version"));
        assertEquals("1", json.text("results", 0, "value"));
        String put = put("k", "3", "\"forever\":true,\"expect\":");
        assertEquals("version", run(put + "7").text("results", 0, "reason"));
        assertTrue(run(put + version).bool("results", 0, "applied"));
        assertEquals("version", run(put + version).text("results", 0, "reason"));
        assertEquals(
                "absent",
                run(put("no", "3", "\"forever\":true,\"expect\":7")).text("results", 0, "reason"));
        String delete = "\"op\":\"delete\",\"key\":\"k\",\"expect\":";
        assertEquals("version", run(delete + version).text("results", 0, "reason"));
        assertEquals("exists", run(delete + "0").text("results", 0, "reason"));
        List<CompletableFuture<Reply>> racers = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            racers.add(
                    http.postLater(
                            PATH,
                            batch(
                                    "\"op\":\"putIfAbsent\",\"key\":\"race\",\"value\":"
                                            + i
                                            + ",\"ttlSeconds\":60")));
        }
        assertEquals(
                1,
                racers.stream()
                        .filter(racer -> racer.join().json().bool("results", 0, "applied"))
                        .count());
    }

    @Contract({"kv-7", "kv-12"})
    @Test
    void aCounterIsAnAdmissionDecision() {
        String incr = "\"op\":\"incr\",\"key\":\"c\",\"delta\":1,\"ttlSeconds\":60,\"max\":2";
        assertEquals("1", run(incr).text("results", 0, "value"));
        String end = run(get("c")).text("results", 0, "expiresAt");
        assertEquals("2", run(incr).text("results", 0, "value"));
        Json refused = run(incr);
        assertEquals("limit", refused.text("results", 0, "reason"));
        assertEquals("2", refused.text("results", 0, "value"));
        assertEquals(end, run(get("c")).text("results", 0, "expiresAt"));
        assertEquals(
                "0",
                run("\"op\":\"incr\",\"key\":\"new\",\"delta\":3,\"forever\":true,\"max\":2")
                        .text("results", 0, "value"));
        run(put("text", "\"t\""));
        Json type = run("\"op\":\"incr\",\"key\":\"text\",\"delta\":0.10,\"forever\":true");
        assertEquals("type", type.text("results", 0, "reason"));
        assertEquals("t", type.text("results", 0, "value"));
    }

    @Contract({"kv-14", "kv-15"})
    @Test
    void aRequiredOperationTakesTheWholeCallBack() {
        String version = run(put("k", "1")).text("results", 0, "version");
        Json json =
                run(
                        put("other", "1"),
                        put("k", "2", "\"forever\":true,\"expect\":0,\"required\":true"));
        assertEquals(
                List.of("ok", "reason", "failedIndex", "kvReason", "version", "value"),
                json.names());
        assertFalse(json.bool("ok"));
        assertEquals("kv_precondition", json.text("reason"));
        assertEquals("1", json.text("failedIndex"));
        assertEquals("exists", json.text("kvReason"));
        assertEquals(version, json.text("version"));
        assertEquals("1", json.text("value"));
        assertFalse(run(get("other")).bool("results", 0, "found"));
        String check = "\"op\":\"check\",\"key\":\"k\",\"expect\":";
        assertEquals("version", run(check + "7").text("kvReason"));
        Json lenient = run(check + "7,\"required\":false");
        assertEquals("version", lenient.text("results", 0, "reason"));
        Json passed = run(check + version, put("k", "2"));
        assertEquals(
                List.of("index", "op", "applied", "key", "version"), passed.names("results", 0));
        assertTrue(passed.bool("results", 0, "applied"));
        assertEquals("version", run(check + version).text("kvReason"));
    }

    @Contract({"kv-2", "kv-3", "kv-6", "kv-7", "kv-9", "kv-12", "kv-16", "kv-17", "kv-18", "kv-24"})
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{\"op\":\"get\",\"ns\":\"A\",\"key\":\"k\"}|kv_bad_namespace",
                "{\"op\":\"get\",\"key\":\"k\"}|kv_bad_namespace",
                "{\"op\":\"get\",\"ns\":\"a\",\"key\":\"\"}|kv_bad_key",
                "{\"op\":\"get\",\"ns\":\"a\",\"key\":5}|kv_bad_key",
                "{\"op\":\"get\",\"ns\":\"a\",\"key\":\"\\u0000\"}|kv_bad_key",
                "{\"op\":\"get\",\"ns\":\"a\",\"key\":\"\\ud800\"}|kv_bad_key",
                "{\"op\":\"put\",\"ns\":\"a\",\"key\":\"k\",\"value\":1}|kv_expiry_not_specified",
                "{\"op\":\"put\",\"ns\":\"a\",\"key\":\"k\",\"value\":1,\"forever\":true,"
                        + "\"ttlSeconds\":1}|kv_expiry_not_specified",
                "{\"op\":\"put\",\"ns\":\"a\",\"key\":\"k\",\"value\":1,\"ttlSeconds\":0}|kv_bad_ttl",
                "{\"op\":\"put\",\"ns\":\"a\",\"key\":\"k\",\"value\":1,\"ttlSeconds\":1.5}|kv_bad_ttl",
                "{\"op\":\"put\",\"ns\":\"a\",\"key\":\"k\",\"value\":1,\"ttlSeconds\":1e18}"
                        + "|kv_bad_ttl",
                "{\"op\":\"put\",\"ns\":\"a\",\"key\":\"k\",\"forever\":true}|kv_bad_request",
                "{\"op\":\"put\",\"ns\":\"a\",\"key\":\"k\",\"value\":1,\"forever\":true,"
                        + "\"expect\":null}|kv_bad_expect",
                "{\"op\":\"delete\",\"ns\":\"a\",\"key\":\"k\",\"expect\":-1}|kv_bad_expect",
                "{\"op\":\"delete\",\"ns\":\"a\",\"key\":\"k\",\"expect\":1.5}|kv_bad_expect",
                "{\"op\":\"check\",\"ns\":\"a\",\"key\":\"k\",\"expect\":0}|kv_bad_expect",
                "{\"op\":\"putIfAbsent\",\"ns\":\"a\",\"key\":\"k\",\"value\":1,\"forever\":true,"
                        + "\"expect\":1}|kv_bad_expect",
                "{\"op\":\"delete\",\"ns\":\"a\",\"key\":\"k\",\"required\":1}|kv_bad_request",
                "{\"op\":\"incr\",\"ns\":\"a\",\"key\":\"k\",\"forever\":true}|kv_bad_request",
                "{\"op\":\"incr\",\"ns\":\"a\",\"key\":\"k\",\"forever\":true,\"delta\":\"1\"}"
                        + "|kv_bad_request",
                "{\"op\":\"incr\",\"ns\":\"a\",\"key\":\"k\",\"forever\":true,\"delta\":1e1001}"
                        + "|kv_bad_request",
                "{\"op\":\"getMany\",\"ns\":\"a\",\"keys\":\"k\"}|kv_bad_request",
                "{\"op\":\"getPrefix\",\"ns\":\"a\"}|kv_prefix_required",
                "{\"op\":\"getPrefix\",\"ns\":\"a\",\"prefix\":\"p\",\"limit\":1.5}|kv_bad_limit",
                "{\"op\":\"take\",\"ns\":\"a\",\"key\":\"k\"}|kv_unknown_op",
                "{\"ns\":\"a\",\"key\":\"k\"}|kv_unknown_op",
                "{\"op\":\"get\",\"ns\":\"a\",\"key\":\"k\",\"tenantId\":1}|kv_tenant_not_an_input",
                "7|kv_bad_request",
                "{\"op\":\"delete\",\"ns\":\"a\",\"key\":\"k\"},{\"op\":\"delete\",\"ns\":\"a\","
                        + "\"key\":\"k\"}|kv_duplicate_key_in_call",
                "{\"op\":\"getPrefix\",\"ns\":\"a\",\"prefix\":\"p\",\"limit\":1000},"
                        + "{\"op\":\"getPrefix\",\"ns\":\"a\",\"prefix\":\"p\"}|kv_too_many_keys",
            })
    void aCallThatCannotBeRightIsRefusedWhole(String ops, String reason) {
        String marked = put("mark", "1");
        assertRefused(
                http.post(PATH, "[{\"ns\":\"" + ns + "\"," + marked + "}," + ops + "]"),
                400,
                "kv_bad_request",
                reason);
        assertFalse(run(get("mark")).bool("results", 0, "found"));
    }

    @Contract({"kv-2", "kv-3", "kv-17", "kv-18", "kv-24"})
    @Test
    void whatIsTooLargeIsRefused() {
        assertRefused(
                http.post(PATH, batch(put("k", "\"" + "x".repeat(65_535) + "\""))),
                413,
                "payload_too_large",
                "kv_value_too_large");
        assertRefused(
                http.post(PATH, batch(get("x".repeat(513)))),
                413,
                "payload_too_large",
                "kv_key_too_large");
        assertTrue(
                run(put("x".repeat(512), "\"" + "x".repeat(65_534) + "\""))
                        .bool("results", 0, "applied"));
        String[] many = new String[257];
        Arrays.fill(many, get("k"));
        assertRefused(http.post(PATH, batch(many)), 400, "kv_bad_request", "kv_too_many_ops");
        assertRefused(
                http.post(PATH, batch(put("k", "[".repeat(1_001) + "]".repeat(1_001)))),
                400,
                "kv_bad_request",
                "kv_bad_request");
        assertRefused(http.post(PATH, "{\"ops\":[]}"), 400, "kv_bad_request", "kv_bad_body");
        assertRefused(http.post(PATH, "[{"), 400, "kv_bad_request", "kv_bad_body");
        assertRefused(http.post(PATH, "nope"), 400, "kv_bad_request", "kv_bad_body");
    }

    @Contract({"kv-6", "kv-17"})
    @Test
    void anAnswerThatIsFullLeavesOutTheRest() {
        String value = "\"" + "x".repeat(65_000) + "\"";
        List<String> keys = new ArrayList<>();
        for (int i = 100; i < 180; i++) {
            keys.add("k" + i);
            run(put("k" + i, value));
        }
        Json json =
                run(
                        "\"op\":\"getMany\",\"keys\":[\"" + String.join("\",\"", keys) + "\"]",
                        "\"op\":\"getPrefix\",\"prefix\":\"k\"",
                        "\"op\":\"getPrefix\",\"prefix\":\"k\",\"after\":\"k178\"",
                        "\"op\":\"getPrefix\",\"prefix\":\"l\"",
                        get("k179"));
        assertEquals(64, json.size("results", 0, "rows"), "the get has taken its part");
        assertTrue(json.bool("results", 0, "truncated"));
        assertEquals(0, json.size("results", 0, "missing"));
        for (int full : new int[] {1, 2}) {
            assertEquals(0, json.size("results", full, "rows"), "there is no room for any");
            assertTrue(json.bool("results", full, "truncated"));
        }
        assertEquals("k178", json.text("results", 2, "nextAfter"), "where it was to begin");
        assertFalse(json.bool("results", 3, "truncated"));
        assertTrue(json.isNull("results", 3, "nextAfter"));
        assertTrue(json.bool("results", 4, "found"));
        Json next =
                run(
                        "\"op\":\"getPrefix\",\"prefix\":\"k\",\"limit\":1,\"after\":\"%s\""
                                .formatted(json.text("results", 1, "nextAfter")));
        assertEquals("k100", next.text("results", 0, "rows", 0, "key"), "from the first one on");
        Json page = run("\"op\":\"getPrefix\",\"prefix\":\"k\"");
        assertEquals(65, page.size("results", 0, "rows"));
        assertEquals("k164", page.text("results", 0, "nextAfter"));
        Json listed =
                http.post("/api/v1/resources/kv/list", "{\"namespace\":\"" + ns + "\"}").json();
        assertEquals(65, listed.size("rows"));
        assertTrue(listed.bool("truncated"));
        assertEquals("k164", listed.text("nextAfter"));
    }

    @Contract({"kv-20", "kv-21", "kv-24"})
    @Test
    void aKeyHasAPathOfItsOwn() {
        String path = PATH + "/" + ns + "/k";
        Json put = http.put(path, "{\"value\":{\"a\":1},\"ttlSeconds\":60,\"expect\":0}").json();
        assertEquals(List.of("index", "op", "applied", "key", "value", "version"), put.names());
        assertEquals("put", put.text("op"));
        Json again =
                http.put(path, "{\"value\":2,\"forever\":true,\"expect\":0,\"required\":true}")
                        .json();
        assertEquals("kv_precondition", again.text("reason"));
        assertRefused(http.put(path, "7"), 400, "kv_bad_request", "kv_bad_body");
        for (String field : List.of("op", "ns", "namespace", "key")) {
            assertRefused(
                    http.put(path, "{\"" + field + "\":\"x\"}"),
                    400,
                    "kv_bad_request",
                    "kv_field_in_path");
        }
        assertRefused(http.get(path + "?a=1"), 400, "kv_bad_request", "kv_no_query_string");
        assertRefused(http.delete(path + "?a=1"), 400, "kv_bad_request", "kv_no_query_string");
        assertEquals("version", http.delete(path, "{\"expect\":5}").json().text("reason"));
        Json deleted = http.delete(path, "null").json();
        assertTrue(deleted.bool("applied"));
        assertEquals(put.text("version"), deleted.text("version"));
        assertEquals("absent", http.delete(path).json().text("reason"));
        assertFalse(http.get(path).json().bool("found"));
    }

    @Contract("kv-23")
    @Test
    void batchesInAnyOrderNeverWaitInACircle() {
        run(put("a", "1"), put("b", "1"));
        String deadlocks = "queen_db_retries_total\\{reason=\"deadlock\"}";
        double before = broker.metric(deadlocks);
        String one = batch(put("a", "2"), put("b", "2"));
        String other = batch(put("b", "3"), "\"op\":\"delete\",\"key\":\"a\"");
        // No more at once than have room, or some are told to come again.
        for (int i = 0; i < 15; i++) {
            Stream.of(one, other, one, other)
                    .map(body -> http.postLater(PATH, body))
                    .toList()
                    .forEach(call -> assertEquals(200, call.join().status(), call.join().body()));
        }
        assertEquals(before, broker.metric(deadlocks));
    }

    @Contract("kv-22")
    @Test
    void keysAreTheTenantsOwn() {
        try (TestBroker tenants = TestBroker.withTenancy()) {
            Http one = tenants.http().as("0199aaaa-0000-7000-8000-000000000001");
            Http two = tenants.http().as("0199aaaa-0000-7000-8000-000000000002");
            String path = PATH + "/shared/k";
            assertEquals(200, one.put(path, "{\"value\":1,\"forever\":true}").status());
            assertFalse(two.get(path).json().bool("found"));
            assertEquals("absent", two.delete(path).json().text("reason"));
            assertEquals(0, two.get("/api/v1/resources/kv/namespaces").json().size("namespaces"));
            assertTrue(one.get(path).json().bool("found"));
        }
    }
}
