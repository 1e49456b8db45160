package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Timers that ride in {@code POST /api/v1/transaction}. */
class TransactTimerHttpTest extends TransactScene {
    private static final String SWITCHES = "/api/v1/system/kv-timers";
    private static final long HOUR_MS = 3_600_000;

    private static String timers(String... ops) {
        return "\"timers\":[" + String.join(",", ops) + "],";
    }

    private String schedule(String key, long delayMs, String more) {
        return """
        {"op":"schedule","queue":"%s","timerKey":"%s","delayMs":%d,"txn":"txn-%s","payload":"%s"%s}"""
                .formatted(target, key, delayMs, key, base64("{\"n\":1.00}"), more);
    }

    private static String base64(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }

    private String cancel(String key) {
        return "{\"op\":\"cancel\",\"queue\":\"%s\",\"timerKey\":\"%s\",\"txn\":\"mine\"}"
                .formatted(target, key);
    }

    private Json timer(String key) {
        return http.get("/api/v1/timers/" + target + "/" + key).json();
    }

    private String once() {
        return "\"kv\":[{\"op\":\"putIfAbsent\",\"ns\":\"tx\",\"key\":\""
                + source
                + "\",\"value\":1,\"ttlSeconds\":60,\"required\":true}],";
    }

    @Contract({"tx-1", "tx-16", "tx-18", "tx-19"})
    @Test
    void acksPushesKeysAndTimersCommitTogether() {
        Json popped = popped();
        Json json =
                committed(
                        sendWith(
                                timers(schedule("b", HOUR_MS, ""), cancel("none")) + once(),
                                ack(popped, 2, leaseOf(popped)),
                                push(source, "t1", "1")));
        assertEquals(List.of("ack", "push", "kv", "timer", "timer"), json.each("results", "type"));
        assertEquals(List.of("0", "1", "2", "3", "4"), json.each("results", "index"));
        assertEquals(
                List.of(
                        "index",
                        "type",
                        "opIndex",
                        "ok",
                        "status",
                        "queue",
                        "timerKey",
                        "txn",
                        "messageId",
                        "deliverAt"),
                json.names("results", 3));
        assertEquals("0", json.text("results", 3, "opIndex"));
        assertEquals("scheduled", json.text("results", 3, "status"));
        assertEquals(timer("b").text("messageId"), json.text("results", 3, "messageId"));
        assertEquals(timer("b").text("deliverAt"), json.text("results", 3, "deliverAt"));
        assertEquals("1", json.text("results", 4, "opIndex"));
        assertFalse(json.bool("results", 4, "ok"), "what is absent undoes nothing");
        assertEquals("absent", json.text("results", 4, "status"));
        assertEquals("mine", json.text("results", 4, "txn"));
        Json again =
                committed(
                        sendWith(
                                timers(
                                        "{\"op\":\"reschedule\",\"queue\":\""
                                                + target
                                                + "\",\"key\":\"c\",\"delaySeconds\":3600,"
                                                + "\"payload\":{\"n\":1.0}}",
                                        cancel("b"))));
        assertEquals(List.of("scheduled", "cancelled"), again.each("results", "status"));
        assertEquals("txn-b", again.text("results", 1, "txn"));
        assertEquals(
                List.of("rescheduled"),
                committed(sendWith(timers(schedule("c", HOUR_MS, "")))).each("results", "status"));
        assertFalse(timer("b").bool("found"));
    }

    @Contract({"tx-18", "timer-15", "timer-16"})
    @Test
    void theMessageComesWhenItsTimeHasComeAndWakesWaitingPops() {
        CompletableFuture<Reply> waiting =
                http.getLater("/api/v1/pop/queue/" + target + "?wait=true&timeout=30000");
        broker.awaitParked(1);
        Json json = committed(sendWith(timers(schedule("k", 0, "")), push(source, "t1", "1")));
        Json message = waiting.join().json().at("messages", 0);
        assertEquals("1.00", message.text("data", "n"));
        assertEquals("txn-k", message.text("transactionId"));
        assertEquals(json.text("results", 1, "messageId"), message.text("id"));
    }

    @Contract({"tx-1", "tx-18", "tx-19", "tx-reason-1", "tx-reason-2", "tx-reason-10"})
    @Test
    void whatUndoesThePushesUndoesTheTimers() {
        committed(
                sendWith(timers(schedule("stays", HOUR_MS, "")) + once(), push(source, "t1", "1")));
        String promised = timer("stays").text("messageId");
        String change =
                timers(cancel("stays"), schedule("none", 0, ""), schedule("later", HOUR_MS, ""));
        assertRolledBack(sendWith(change, push(source, "t1", "2")), 200, "duplicate", "QDUP");
        Json popped = popped();
        assertRolledBack(
                sendWith(
                        change,
                        ack(popped, 0, leaseOf(popped)),
                        push(source, "t2", "2"),
                        ack(popped, 1, leaseOf(popped))
                                .replaceAll(
                                        "\"transactionId\":\"[^\"]*\"",
                                        "\"transactionId\":\"unheard of\"")),
                200,
                "ack_rejected",
                "QTXN");
        Reply lost = sendWith(change + once(), push(source, "t2", "2"));
        assertEquals("kv_precondition", lost.json().text("reason"), lost.body());
        assertEquals("1", lost.json().text("failedIndex"), "timers stand behind keys");
        assertEquals(promised, timer("stays").text("messageId"));
        assertFalse(timer("later").bool("found"));
        assertEquals(List.of(), stored(target), "nor has any fired");
    }

    @Contract("tx-19")
    @Test
    void oneThatABrokerIsAboutToDeliverIsTooLateAndUndoesNothing() {
        committed(sendWith(timers(schedule("a", HOUR_MS, ""), schedule("b", HOUR_MS, ""))));
        lines(
                "update queen_store.timers set claim_token = gen_random_uuid(), held_until ="
                        + " clock_timestamp() + interval '1 hour' where queue = ? returning"
                        + " timer_key",
                target);
        Json json =
                committed(
                        sendWith(
                                timers(cancel("a"), schedule("b", HOUR_MS, "")),
                                push(source, "t1", "1")));
        assertEquals(List.of("too_late", "too_late"), statuses(json, 1));
        assertFalse(json.bool("results", 2, "ok"));
        assertEquals(List.of("1"), stored(source));
    }

    private static List<String> statuses(Json json, int from) {
        return IntStream.range(from, json.size("results"))
                .mapToObj(i -> json.text("results", i, "status"))
                .toList();
    }

    @Contract({"tx-2", "tx-18"})
    @Test
    void timersMayBeAlone() {
        String timers = timers(schedule("a", HOUR_MS, ""));
        Json json =
                committed(http.post(PATH, "{" + timers.substring(0, timers.length() - 1) + "}"));
        assertEquals("0", json.text("results", 0, "index"));
        assertEquals(
                "rescheduled",
                committed(http.post(PATH, "{" + timers + "\"operations\":null,\"kv\":null}"))
                        .text("results", 0, "status"));
        assertEquals(
                List.of(),
                lines("select queue from queen.queues where queue = ?", target),
                "the queue is made at the delivery");
    }

    @Contract({"tx-18", "tx-reason-12"})
    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "400; bad_request; timers_bad_op: timers[0] must be an object; 5",
                "400; bad_request; timers_bad_op: timers[0].op must be; {}",
                "400; bad_request; timers_server_owned_field: timers[0]._x cannot; {S,'_x':1}",
                "400; bad_request; timers_txn_required: timers[0].txn; {S,'delayMs':1,'payload':''}",
                "400; bad_request; timers_payload_not_base64: ; {S,'delayMs':1,'txn':'t','payload':{}}",
                "400; bad_request; timers_duplicate_key: ; C,C",
                "400; bad_request; timers_too_many_ops: ; MANY",
                "413; payload_too_large; timers_payload_too_large: timers[0].payload must be; {S,'delaySeconds':1,'payload':'LONG'}",
                "403; timer_horizon_exceeded; timers_horizon: timer k: ; {S,'delaySeconds':7776001,'payload':1}",
            })
    void whatTheRouteOfTimersRefusesUndoesNothingBecauseNothingIsDone(
            int status, String reason, String error, String ops) {
        String json =
                ops.replace("S,", "'op':'schedule','queue':'q','timerKey':'k',")
                        .replace("C", "{'op':'cancel','queue':'q','timerKey':'k'}")
                        .replace(
                                "MANY",
                                String.join(
                                        ",",
                                        IntStream.range(0, 257)
                                                .mapToObj(i -> cancel("" + i))
                                                .toList()))
                        .replace("LONG", "x".repeat(1 << 20))
                        .replace('\'', '"');
        assertRolledBack(
                sendWith(timers(json), push(target, "t1", "1")), status, reason, error.strip());
        assertEquals(List.of(), stored(target));
    }

    @Contract({"tx-18", "timer-10"})
    @Test
    void aQueueThatEncryptsRefusesAnEnvelope() {
        lines(
                "insert into queen_store.queues (tenant_id, name, encryption_enabled) values"
                        + " ('00000000-0000-0000-0000-000000000001', ?, true) returning name",
                target);
        assertRolledBack(
                sendWith(timers(schedule("k", 1, ",\"encrypted\":true"))),
                400,
                "bad_request",
                "timers_encrypted_conflict: ");
        assertRolledBack(sendWith(timers(schedule("k", 1, ""))), 409, "queue_encrypted", "");
    }

    @Contract({"tx-reason-13", "timer-22"})
    @Test
    void newTimersThatAreSwitchedOffAreForbiddenAndCancellationsPass() {
        committed(sendWith(timers(schedule("old", HOUR_MS, ""))));
        http.post(SWITCHES, "{\"timersSchedule\":false}");
        try {
            assertRolledBack(
                    sendWith(
                            timers(cancel("old"), schedule("new", 1, "")), push(target, "t1", "1")),
                    403,
                    "timers_disabled",
                    "new timers are switched off");
            assertTrue(timer("old").bool("found"));
            Json json = committed(sendWith(timers(cancel("old")), push(target, "t1", "1")));
            assertEquals("cancelled", json.text("results", 1, "status"));
            assertEquals(List.of("1"), stored(target));
        } finally {
            http.post(SWITCHES, "{\"timersSchedule\":true}");
        }
        assertFalse(
                broker.metrics()
                        .contains("queen_timers_schedule_rejected_total{reason=\"disabled\"} 0"));
    }

    @Test
    @Contract("tx-14")
    void aTransactionTakes256TimersWhateverACallOfTheirOwnMay() {
        try (TestDatabase own = TestDatabase.migrated();
                TestBroker roomy =
                        TestBroker.withEnvironment(
                                own, Map.of("QUEEN_TIMERS_MAX_OPS_PER_CALL", "10000"))) {
            List<String> cancels = new ArrayList<>();
            for (int i = 0; i < 256; i++) {
                cancels.add(
                        "{\"op\":\"cancel\",\"queue\":\"q\",\"timerKey\":\"k%d\"}".formatted(i));
            }
            String bundle = "{\"operations\":[],\"timers\":[%s]}";
            assertEquals(
                    200,
                    roomy.http()
                            .post(
                                    "/api/v1/transaction",
                                    bundle.formatted(String.join(",", cancels)))
                            .status());
            cancels.add("{\"op\":\"cancel\",\"queue\":\"q\",\"timerKey\":\"more\"}");
            String all = String.join(",", cancels);
            Json refusal = roomy.http().post("/api/v1/transaction", bundle.formatted(all)).json();
            assertEquals(
                    "timers_too_many_ops: a call takes at most 256 timer operations, got 257",
                    refusal.text("error"));
            assertEquals(200, roomy.http().post("/api/v1/timers", "[" + all + "]").status());
        }
    }
}
