package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.Json;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Operations on keys that ride in {@code POST /api/v1/transaction}. */
class TransactKvHttpTest extends TransactScene {
    private static final String NS = "tx";

    private String kv(String... ops) {
        StringBuilder all = new StringBuilder("\"kv\":[");
        for (String op : ops) {
            all.append(all.charAt(all.length() - 1) == '[' ? "" : ",");
            all.append("{\"ns\":\"" + NS + "\"," + op + "}");
        }
        return all + "],";
    }

    private String once(boolean required) {
        return "\"op\":\"putIfAbsent\",\"key\":\""
                + source
                + "\",\"value\":{\"by\":\"me\"},\"ttlSeconds\":60,\"required\":"
                + required;
    }

    private Json key() {
        return http.get("/api/v1/kv/" + NS + "/" + source).json();
    }

    @Contract({"tx-1", "tx-14", "tx-16"})
    @Test
    void keysAcksAndPushesCommitTogether() {
        Json popped = popped();
        Json json =
                committed(
                        sendWith(
                                kv(once(true), "\"op\":\"get\",\"key\":\"" + source + "\""),
                                ack(popped, 2, leaseOf(popped)),
                                push(target, "t1", "1")));
        assertEquals(List.of("ack", "push", "kv", "kv"), json.each("results", "type"));
        assertEquals(List.of("0", "1", "2", "3"), json.each("results", "index"));
        assertEquals(
                List.of("index", "type", "opIndex", "op", "applied", "key", "value", "version"),
                json.names("results", 2));
        assertEquals("1", json.text("results", 3, "opIndex"));
        assertTrue(json.bool("results", 3, "found"), "a get sees what was put before it");
        assertEquals(key().text("version"), json.text("results", 2, "version"));
        assertEquals(List.of("1"), stored(target));
        assertTrue(
                broker.metrics()
                        .contains(
                                "queen_kv_op_duration_milliseconds{op=\"put\",quantile=\"0.99\"}"));
    }

    @Contract({"tx-17", "tx-reason-10"})
    @Test
    void aRequiredKeyThatIsTakenUndoesEverything() {
        committed(sendWith(kv(once(true)), push(target, "t1", "1")));
        Reply reply = sendWith(kv(once(true)), push(target, "t2", "2"));
        assertEquals(200, reply.status(), reply.body());
        Json json = reply.json();
        assertEquals(
                List.of(
                        "transactionId",
                        "success",
                        "reason",
                        "error",
                        "ok",
                        "failedIndex",
                        "kvReason",
                        "version",
                        "value",
                        "results"),
                json.names());
        assertFalse(json.bool("success"));
        assertEquals("kv_precondition", json.text("reason"));
        assertEquals("1", json.text("failedIndex"), "among all results");
        assertEquals("exists", json.text("kvReason"));
        assertEquals(key().text("version"), json.text("version"));
        assertEquals("me", json.text("value", "by"));
        assertEquals(List.of("1"), stored(target));
        Json lenient = committed(sendWith(kv(once(false)), push(target, "t3", "3")));
        assertEquals("exists", lenient.text("results", 1, "reason"));
        assertEquals(List.of("1", "3"), stored(target));
        Reply guard =
                sendWith(
                        kv("\"op\":\"check\",\"key\":\"" + source + "\",\"expect\":1"),
                        push(target, "t4", "4"));
        assertEquals("version", guard.json().text("kvReason"), guard.body());
    }

    @Contract({"tx-1", "tx-16"})
    @Test
    void whatUndoesThePushesUndoesTheKeys() {
        committed(send(push(target, "t1", "1")));
        assertRolledBack(
                sendWith(kv(once(true)), push(target, "t1", "2")), 200, "duplicate", "QDUP");
        assertFalse(key().bool("found"));
    }

    @Contract({"tx-2", "tx-14", "tx-16"})
    @Test
    void keysMayBeAlone() {
        String keys = kv(once(true));
        Reply reply = http.post(PATH, "{" + keys.substring(0, keys.length() - 1) + "}");
        Json json = committed(reply);
        assertEquals("0", json.text("results", 0, "index"));
        assertTrue(key().bool("found"));
        assertEquals(
                "kv_precondition",
                http.post(PATH, "{" + keys + "\"operations\":null}").json().text("reason"));
    }

    @Contract({"tx-14", "tx-reason-11"})
    @Test
    void whatARouteOfKeysRefusesUndoesNothingBecauseNothingIsDone() {
        assertRolledBack(
                sendWith(kv("\"op\":\"getPrefix\",\"prefix\":\"a\""), push(target, "t1", "1")),
                400,
                "bad_request",
                "kv_get_prefix_not_allowed_in_transaction: ");
        assertRolledBack(
                sendWith(kv("\"op\":\"put\",\"key\":\"a\",\"value\":1"), push(target, "t1", "1")),
                400,
                "bad_request",
                "kv_expiry_not_specified: kv[0].");
        assertRolledBack(
                sendWith(
                        kv(
                                "\"op\":\"put\",\"key\":\"a\",\"forever\":true,\"value\":\""
                                        + "x".repeat(65_536)
                                        + "\""),
                        push(target, "t1", "1")),
                413,
                "payload_too_large",
                "kv_value_too_large: ");
        String[] many = new String[65];
        Arrays.fill(many, "\"op\":\"get\",\"key\":\"a\"");
        assertRolledBack(sendWith(kv(many)), 400, "bad_request", "kv_too_many_ops: ");
        String keys = "\"a\",".repeat(256) + "\"a\"";
        assertRolledBack(
                sendWith(kv("\"op\":\"getMany\",\"keys\":[" + keys + "]")),
                400,
                "bad_request",
                "kv_too_many_keys: ");
        assertEquals(List.of(), stored(target));
    }
}
