package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Scheduled messages over HTTP, from the request to the consumer. */
class TimerHttpTest {
    private static final String KEY = "0123456789abcdef".repeat(4);
    private static final long HOUR_MS = 3_600_000;

    private static TestDatabase database;
    private static TestBroker broker;
    private static Http http;

    /** Has no sweeper. */
    private static TestBroker front;

    private final String queue = "timer-" + UUID.randomUUID();

    @BeforeAll
    static void start() {
        database = TestDatabase.migrated();
        broker = TestBroker.withEnvironment(database, Map.of("QUEEN_ENCRYPTION_KEY", KEY));
        front =
                TestBroker.withEnvironment(
                        database,
                        Map.of(
                                "QUEEN_SWEEPER", "false",
                                "QUEEN_TIMERS_MAX_PAYLOAD_BYTES", "100",
                                "QUEEN_TIMERS_MAX_HORIZON_S", "7200"));
        http = broker.http();
    }

    @AfterAll
    static void stop() {
        front.close();
        broker.close();
        database.close();
    }

    private static String base64(String text) {
        return Base64.getEncoder().encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }

    private String schedule(String key, long delayMs, String payload) {
        return """
        {"op":"schedule","queue":"%s","timerKey":"%s","delayMs":%d,"txn":"txn-%s","payload":"%s"}"""
                .formatted(queue, key, delayMs, key, base64(payload));
    }

    private String cancel(String key) {
        return "{\"op\":\"cancel\",\"queue\":\"%s\",\"timerKey\":\"%s\",\"txn\":\"mine\"}"
                .formatted(queue, key);
    }

    private static Json change(String... ops) {
        Reply reply = http.post("/api/v1/timers", "[" + String.join(",", ops) + "]");
        assertEquals(200, reply.status(), reply.body());
        return reply.json().at("results");
    }

    private static void assertRefused(Reply reply, int status, String error, String reason) {
        assertEquals(status, reply.status(), reply.body());
        assertEquals(List.of("error", "reason", "detail"), reply.json().names());
        assertEquals(error, reply.json().text("error"), reply.body());
        assertEquals(reason, reply.json().text("reason"), reply.body());
    }

    private String path(String key) {
        return "/api/v1/timers/" + queue + "/" + key;
    }

    @Test
    @Contract({"timer-1", "timer-5", "timer-6"})
    void resultsStandInTheOrderOfTheOperations() {
        Json results =
                change(schedule("b", HOUR_MS, "1"), cancel("none"), schedule("a", HOUR_MS, "2"));
        assertEquals(
                List.of("ok", "status", "queue", "timerKey", "txn", "messageId", "deliverAt"),
                results.at(0).names());
        assertTrue(results.bool(0, "ok"));
        assertEquals("scheduled", results.text(0, "status"));
        assertEquals("txn-b", results.text(0, "txn"));
        assertTrue(results.text(0, "deliverAt").matches("....-..-..T..:..:..\\.\\d{6}Z"));
        assertEquals("false absent", results.bool(1, "ok") + " " + results.text(1, "status"));
        assertEquals("mine", results.text(1, "txn"));
        assertEquals("a", results.text(2, "timerKey"));

        Json again = change(schedule("b", 2 * HOUR_MS, "3"), cancel("a"));
        assertEquals("rescheduled", again.text(0, "status"));
        assertFalse(again.text(0, "messageId").equals(results.text(0, "messageId")));
        assertEquals("cancelled", again.text(1, "status"));
        assertEquals("txn-a", again.text(1, "txn"));

        String object = "{\"operations\":[" + cancel("b") + "],\"more\":1}";
        Json answer = http.post("/api/v1/timers", object).json();
        assertEquals("cancelled", answer.text("results", 0, "status"));
        assertEquals("{\"results\":[]}", http.post("/api/v1/timers", "[]").body());
    }

    @Test
    @Contract("timer-1")
    void oneBadOperationRefusesAll() {
        Reply reply =
                http.post(
                        "/api/v1/timers",
                        "[" + schedule("good", HOUR_MS, "1") + ",{\"op\":\"x\"}]");
        assertRefused(reply, 400, "timers_bad_request", "timers_bad_op");
        assertFalse(http.get(path("good")).json().bool("found"));
        String many =
                IntStream.range(0, 257)
                        .mapToObj(i -> schedule("k" + i, HOUR_MS, "1"))
                        .collect(Collectors.joining(",", "[", "]"));
        assertRefused(
                http.post("/api/v1/timers", many),
                400,
                "timers_bad_request",
                "timers_too_many_ops");
        assertRefused(
                http.post("/api/v1/timers", "[" + cancel("k") + "," + cancel("k") + "]"),
                400,
                "timers_bad_request",
                "timers_duplicate_key");
    }

    @ParameterizedTest
    @Contract({"timer-2", "timer-4", "timer-7", "timer-8"})
    @CsvSource(
            delimiter = ';',
            value = {
                "timers_bad_body; 5",
                "timers_bad_body; {}",
                "timers_bad_body; {'operations':5}",
                "timers_bad_body; [{'op':'cancel']",
                "timers_bad_body; []}",
                "timers_bad_op; [5]",
                "timers_bad_op; [{'queue':'q','timerKey':'k'}]",
                "timers_queue_required; [{'op':'cancel','timerKey':'k'}]",
                "timers_queue_required; [{'op':'cancel','queue':'','timerKey':'k'}]",
                "timers_queue_invalid; [{'op':'cancel','queue':5,'timerKey':'k'}]",
                "timers_key_required; [{'op':'cancel','queue':'q'}]",
                "timers_key_too_large; [{'op':'cancel','queue':'q','timerKey':'LONG'}]",
                "timers_txn_required; [{S,'delayMs':1,'payload':'MQ=='}]",
                "timers_delay_required; [{S,'delayMs':'1','txn':'t','payload':'MQ=='}]",
                "timers_delay_required; [{S,'txn':'t','payload':'MQ=='}]",
                "timers_delay_required; [{S,'delaySeconds':1,'deliverAt':'2026-01-01T00:00:00Z'}]",
                "timers_delay_required; [{S,'deliverAt':'tomorrow','payload':1}]",
                "timers_payload_required; [{S,'delayMs':1,'txn':'t'}]",
                "timers_payload_required; [{S,'delayMs':1,'txn':'t','payload':null}]",
                "timers_payload_required; [{S,'delaySeconds':1}]",
                "timers_payload_not_base64; [{S,'delayMs':1,'txn':'t','payload':{}}]",
                "timers_payload_not_base64; [{S,'delayMs':1,'txn':'t','payload':'???'}]",
                "timers_payload_not_json; [{S,'delayMs':1,'txn':'t','payload':'eHg='}]",
                "timers_payload_not_json; [{S,'delayMs':1,'txn':'t','payload':''}]",
                "timers_payload_not_json; [{S,'delayMs':1,'txn':'t','payload':'MSwieCI6Mg=='}]",
                "timers_payload_zstd; [{S,'delayMs':1,'txn':'t','payload':'MQ==','payloadZstd':true}]",
                "timers_partition_invalid; [{S,'delayMs':1,'txn':'t','payload':'MQ==','partition':''}]",
                "timers_bad_op; [{S,'delayMs':1,'txn':'t','payload':'MQ==','dedup':'yes'}]",
                "timers_server_owned_field; [{S,'delayMs':1,'txn':'t','payload':'MQ==','_x':1}]",
                "timers_server_owned_field; [{S,'delayMs':1,'payload':'MQ==','messageId':'x'}]",
                "timers_server_owned_field; [{S,'delayMs':1,'payload':'MQ==','deliverAt':'x'}]",
                "timers_server_owned_field; [{S,'delayMs':1,'payload':'MQ==','delaySeconds':2}]",
                "timers_server_owned_field; [{'op':'cancel','queue':'q','timerKey':'k','attempts':0}]",
            })
    void whatIsNoOperationIsRefusedWithAReason(String reason, String body) {
        String json =
                body.replace("S,", "'op':'schedule','queue':'q','timerKey':'k',")
                        .replace("LONG", "x".repeat(513))
                        .replace('\'', '"');
        assertRefused(http.post("/api/v1/timers", json), 400, "timers_bad_request", reason);
    }

    @Test
    @Contract({"timer-8", "timer-9"})
    void longPayloadsAndFarTimesAreRefused() {
        Http small = front.http();
        assertEquals(
                200,
                small.post("/api/v1/timers", "[" + schedule("a", 7_200_000, "1") + "]").status());
        assertRefused(
                small.post("/api/v1/timers", "[" + schedule("b", 7_200_001, "1") + "]"),
                403,
                "timer_horizon_exceeded",
                "timers_horizon");
        assertRefused(
                small.post(
                        "/api/v1/timers",
                        """
                        [{"op":"schedule","queue":"q","key":"k","deliverAt":"9999-01-01T00:00:00Z",
                          "payload":1}]"""),
                403,
                "timer_horizon_exceeded",
                "timers_horizon");
        assertRefused(
                small.post(
                        "/api/v1/timers",
                        "[" + schedule("c", 1, "\"" + "x".repeat(99) + "\"") + "]"),
                413,
                "payload_too_large",
                "timers_payload_too_large");
    }

    @Test
    @Contract({"timer-11", "timer-12", "http-3"})
    void aKeyMayHoldSlashesWhicheverWayTheyAreWritten() {
        change(schedule("a/b c", HOUR_MS, "{\"n\": 1.0}"));
        Json peek = http.get(path("a/b%20c")).json();
        assertEquals(
                List.of(
                        "found",
                        "queue",
                        "timerKey",
                        "partition",
                        "deliverAt",
                        "txn",
                        "messageId",
                        "payloadZstd",
                        "encrypted",
                        "dedup",
                        "producerSub",
                        "attempts",
                        "lastError",
                        "claimed",
                        "createdAt",
                        "updatedAt",
                        "payload"),
                peek.names());
        assertTrue(peek.bool("found"));
        assertEquals("a/b c", peek.text("timerKey"));
        assertEquals("Default", peek.text("partition"));
        assertEquals(base64("{\"n\": 1.0}"), peek.text("payload"));
        assertFalse(peek.bool("claimed"));
        assertEquals(peek.text("createdAt"), peek.text("updatedAt"));

        Json cancelled = http.delete(path("a%2Fb%20c")).json();
        assertEquals("cancelled", cancelled.text("status"));
        Json absent = http.delete(path("a/b%20c") + "?txn=mine").json();
        assertEquals("absent", absent.text("status"));
        assertEquals("mine", absent.text("txn"));
        assertEquals(
                "{\"found\":false,\"queue\":\"" + queue + "\",\"timerKey\":\"a/b c\"}",
                http.get(path("a%2Fb%20c")).body());
        assertEquals(404, http.get(path("")).status(), "no key is no route");
    }

    @Test
    @Contract({"timer-13", "timer-14"})
    void whatIsScheduledIsListedInPagesAndCounted() {
        change(
                schedule("a1", HOUR_MS, "1"),
                schedule("a2", HOUR_MS, "1"),
                schedule("b", HOUR_MS, "1"));
        String list = "/api/v1/timers/" + queue;
        Json page = http.get(list + "?limit=2").json();
        assertEquals(List.of("a1", "a2"), page.each("rows", "timerKey"));
        assertTrue(page.bool("truncated"));
        assertEquals("a2", page.text("nextAfter"));
        assertFalse(page.at("rows", 0).names().contains("payload"));
        Json last = http.get(list + "?limit=many&after=a2").json();
        assertEquals(List.of("b"), last.each("rows", "timerKey"));
        assertFalse(last.bool("truncated"));
        assertTrue(last.isNull("nextAfter"));
        assertEquals(1, http.get(list + "?limit=0").json().size("rows"));

        assertEquals("{\"count\":2}", http.get(list + "?mode=count&prefix=a").body());
        Map.of(
                        "?mode=sum",
                        "timers_read_mode_unknown",
                        "?mode=count",
                        "timers_count_prefix_required",
                        "?mode=count&prefix=",
                        "timers_count_prefix_required",
                        "?mode=count&prefix=a&limit=1",
                        "timers_count_page_parameters",
                        "?mode=count&prefix=%00",
                        "timers_count_prefix_invalid",
                        "?mode=count&prefix=" + "x".repeat(129),
                        "timers_count_prefix_too_long")
                .forEach(
                        (query, reason) ->
                                assertRefused(
                                        http.get(list + query), 400, "timers_bad_request", reason));
    }

    @Test
    @Contract({"timer-15", "timer-16", "timer-10"})
    void aWaitingPopGetsTheMessageAtItsTime() {
        broker.awaitListening();
        CompletableFuture<Reply> waiting =
                http.getLater("/api/v1/pop/queue/" + queue + "?wait=true&timeout=30000");
        broker.awaitParked(1);
        Json scheduled = change(schedule("k", 300, "{\"n\":1.00}")).at(0);
        Json popped = waiting.join().json();
        Json message = popped.at("messages", 0);
        assertEquals("1.00", message.text("data", "n"));
        assertEquals("txn-k", message.text("transactionId"));
        assertEquals(scheduled.text("messageId"), message.text("id"));
        Instant createdAt = Instant.parse(message.text("createdAt"));
        assertFalse(createdAt.isBefore(millis(scheduled.text("deliverAt"))), message.toString());
        assertFalse(http.get(path("k")).json().bool("found"));
        assertEquals("absent", http.delete(path("k")).json().text("status"));
        assertTrue(http.ack(popped, 0, "completed").bool(0, "success"));
    }

    private static Instant millis(String instant) {
        return Instant.ofEpochMilli(Instant.parse(instant).toEpochMilli());
    }

    @Test
    @Contract({"timer-15", "timer-3"})
    void whateverOtherBrokersScheduleIsDeliveredByThisOne() {
        broker.awaitListening();
        front.awaitListening();
        Reply reply =
                front.http()
                        .post(
                                "/api/v1/timers",
                                """
                                [{"op":"schedule","queue":"%1$s","key":"a","delaySeconds":0.2,
                                  "payload": {"a" : 1.0}},
                                 {"op":"reschedule","queue":"%1$s","timerKey":"b",
                                  "deliverAt":"2020-01-01T00:00:00+01:00","payload":"text",
                                  "partition":"p","txn":"t"}]"""
                                        .formatted(queue));
        assertEquals(200, reply.status(), reply.body());
        Json results = reply.json().at("results");
        assertEquals(results.text(0, "messageId"), results.text(0, "txn"));
        assertEquals(List.of("\"text\""), awaitPayloads("p"));
        assertEquals(List.of("{\"a\" : 1.0}"), awaitPayloads("Default"));
    }

    /** Asked of the broker without a sweeper: it is told like any other. */
    private List<String> awaitPayloads(String partition) {
        Reply reply =
                front.http()
                        .get(
                                "/api/v1/pop/queue/%s/partition/%s?wait=true&timeout=30000"
                                        .formatted(queue, partition));
        String data = reply.body().replaceAll("(?s).*\"data\":(.*?),\"(?:[a-zA-Z]+)\":.*", "$1");
        return List.of(data);
    }

    @Test
    @Contract({"timer-20", "timer-10"})
    void aQueueThatEncryptsGetsEnvelopesWheneverItBegan() throws SQLException {
        change(schedule("before", 1_000, "1"));
        assertEquals(
                200,
                http.post(
                                "/api/v1/configure",
                                "{\"queue\":\"%s\",\"options\":{\"encryptionEnabled\":true}}"
                                        .formatted(queue))
                        .status());
        change(schedule("after", 1_001, "2"));
        Json peek = http.get(path("after")).json();
        assertTrue(peek.bool("encrypted"));
        assertFalse(peek.text("payload").equals(base64("2")));
        assertRefused(
                http.post(
                        "/api/v1/timers",
                        "[" + schedule("own", 1, "{}").replace("}", ",\"encrypted\":true}") + "]"),
                400,
                "timers_bad_request",
                "timers_encrypted_conflict");
        assertRefused(
                front.http().post("/api/v1/timers", "[" + schedule("x", 1, "1") + "]"),
                409,
                "queue_encrypted",
                "queue_encrypted");
        String pop = "/api/v1/pop/queue/" + queue + "?wait=true&timeout=30000&autoAck=true";
        List<String> got = new ArrayList<>();
        while (got.size() < 2) {
            got.addAll(http.get(pop).payloads());
        }
        assertEquals(List.of("1", "2"), got);
        try (Connection connection = database.connect()) {
            assertEquals(
                    List.of("t", "t"),
                    Lines.lines(
                            connection,
                            "select encrypted from queen.messages where queue = '" + queue + "'"));
        }
    }

    @Test
    @Contract("timer-18")
    void whatIsLateComesInTheOrderOfItsTime() throws SQLException {
        change(
                schedule("c", HOUR_MS, "3"),
                schedule("a", 3 * HOUR_MS, "1"),
                schedule("b", 2 * HOUR_MS, "2"));
        try (Connection connection = database.connect()) {
            Lines.lines(
                    connection,
                    """
                    begin;
                    update queen_store.timers
                    set deliver_at = clock_timestamp() - interval '1 min'
                        * (200 - ascii(timer_key))
                    where queue = '%s';
                    notify queen_hints, 't:1';
                    commit
                    """
                            .formatted(queue));
        }
        String pop = "/api/v1/pop/queue/" + queue + "?wait=true&timeout=30000&autoAck=true";
        assertEquals(List.of("1", "2", "3"), http.get(pop).payloads());
    }

    @Test
    @Contract("timer-19")
    void oneThatCannotBeStoredDelaysNoOther() throws SQLException {
        try (Connection connection = database.connect()) {
            Lines.lines(
                    connection,
                    """
                    create function public.no_poison() returns trigger language plpgsql as $$
                    begin
                        if position('poison'::bytea in new.frames) > 0 then
                            raise exception 'this one is poison';
                        end if;
                        return new;
                    end $$;
                    create trigger no_poison before insert on queen_store.segments
                        for each row execute function public.no_poison()
                    """);
            try {
                change(
                        schedule("a", 0, "1"),
                        schedule("b", 0, "\"poison\""),
                        schedule("c", 0, "3"));
                String pop = "/api/v1/pop/queue/" + queue + "?wait=true&timeout=30000&autoAck=true";
                StringBuilder got = new StringBuilder();
                while (got.length() < 2) {
                    http.get(pop).payloads().forEach(got::append);
                }
                assertEquals("13", got.toString());
                Json peek = http.get(path("b")).json();
                assertEquals("1", peek.text("attempts"));
                assertTrue(peek.text("lastError").contains("this one is poison"), peek.toString());
            } finally {
                Lines.lines(connection, "drop trigger no_poison on queen_store.segments");
            }
            change(cancel("b"));
        }
    }

    @Test
    @Contract({"timer-22", "switch-1"})
    void operatorsStopNewTimersOrTheDeliveryOfAll() {
        String switches = "/api/v1/system/kv-timers";
        change(schedule("old", HOUR_MS, "1"));
        assertEquals(200, http.post(switches, "{\"timersSchedule\":false}").status());
        try {
            assertRefused(
                    http.post(
                            "/api/v1/timers",
                            "[" + cancel("old") + "," + schedule("new", 1, "1") + "]"),
                    503,
                    "timers_disabled",
                    "timers_disabled");
            assertTrue(http.get(path("old")).json().bool("found"));
            assertEquals("cancelled", http.delete(path("old")).json().text("status"));
        } finally {
            http.post(switches, "{\"timersSchedule\":true,\"timersFire\":false}");
        }
        change(schedule("held", 0, "1"));
        String pop = "/api/v1/pop/queue/" + queue + "?autoAck=true&wait=true&timeout=";
        assertEquals(204, http.get(pop + "300").status());
        assertTrue(http.get(path("held")).json().bool("found"));
        http.post(switches, "{\"timersFire\":true}");
        assertEquals(List.of("1"), http.get(pop + "30000").payloads());
    }
}
