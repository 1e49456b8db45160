package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What a push answers, and what a pop then finds. */
class PushHttpTest {
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

    private static Http.Reply push(String... items) {
        return http.pushItems(List.of(items));
    }

    @Test
    @Contract({"push-5", "push-8", "push-16"})
    void everyItemIsAnsweredInItsOrder() {
        Http.Reply reply =
                push(
                        Http.item("push.order", "a", "t-1", "1"),
                        Http.item("push.other", "b", "t-2", "2"),
                        "{\"queue\":\"push.order\",\"payload\":3}");
        Json json = reply.json();
        assertEquals(3, json.size());
        assertEquals(
                List.of("index", "message_id", "transaction_id", "queueName", "status"),
                json.names(0));
        for (int i = 0; i < 3; i++) {
            assertEquals(Integer.toString(i), json.text(i, "index"));
            assertEquals("queued", json.text(i, "status"));
            UUID id = UUID.fromString(json.text(i, "message_id"));
            assertEquals(7, id.version());
            assertEquals(id.toString(), json.text(i, "message_id"));
        }
        assertEquals("t-1", json.text(0, "transaction_id"));
        assertEquals("push.other", json.text(1, "queueName"));
        assertEquals(json.text(2, "message_id"), json.text(2, "transaction_id"));
    }

    @Test
    @Contract({"push-5", "push-17"})
    void theIdOfTheAnswerIsTheIdOfTheMessage() {
        Json pushed =
                push(
                                Http.item("push.ids", "p", "text id", "1"),
                                Http.item("push.ids", "p", UUID.randomUUID().toString(), "2"),
                                "{\"queue\":\"push.ids\",\"partition\":\"p\",\"payload\":3}")
                        .json();
        Json popped = http.pop("push.ids", "").json();
        for (int i = 0; i < 3; i++) {
            assertEquals(pushed.text(i, "message_id"), popped.text("messages", i, "id"));
            assertEquals(
                    pushed.text(i, "transaction_id"), popped.text("messages", i, "transactionId"));
        }
    }

    @Test
    @Contract("push-3")
    void itemsWithoutAPartitionGoToDefault() {
        push("{\"queue\":\"push.default\",\"payload\":1}");
        assertEquals("Default", http.pop("push.default", "").json().text("partition"));
    }

    @Test
    @Contract("push-1")
    void noItemsAreNoError() {
        Http.Reply reply = http.post("/api/v1/push", "{\"items\":[]}");
        assertEquals(201, reply.status());
        assertEquals("[]", reply.body());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "1e400",
                "1234567890123456789012345678901234567890",
                "-0.0",
                "{\"b\":1,\"a\":2,\"b\":3}",
                "\"\\u0000\\ud800\"",
                "{\"\\u0000\":null}",
                "[ 1 ,\t2 ]",
                "\"é€👑\"",
                "null",
                "\"\"",
                "false"
            })
    @Contract({"model-11", "push-4"})
    void payloadsComeBackByteForByte(String payload) {
        String queue = "push.bytes." + UUID.randomUUID();
        push(
                Http.item(queue, "p", null, "\"before\""),
                Http.item(queue, "p", null, payload),
                Http.item(queue, "p", null, "\"after\""));
        String body = http.pop(queue, "").body();
        assertTrue(body.contains("\"data\":\"before\","), body);
        assertTrue(body.contains("\"data\":" + payload + ",\"producerSub\""), body);
        assertTrue(body.contains("\"data\":\"after\","), body);
    }

    @Test
    @Contract({"http-20", "push-18", "dedup-1", "dedup-7"})
    void aTransactionIdIsStoredOncePerLaneAndWindow() {
        Json first = push(Http.item("push.dup", "p", "same", "1")).json();
        Json second =
                push(
                                Http.item("push.dup", "p", "new-1", "2"),
                                Http.item("push.dup", "p", "same", "3"),
                                Http.item("push.dup", "p", "new-2", "4"),
                                Http.item("push.dup", "q", "same", "5"))
                        .json();
        assertEquals("queued", second.text(0, "status"));
        assertEquals("duplicate", second.text(1, "status"));
        assertEquals(first.text(0, "message_id"), second.text(1, "message_id"));
        assertEquals("same", second.text(1, "transaction_id"));
        assertEquals("queued", second.text(2, "status"));
        assertEquals("queued", second.text(3, "status"), "another lane knows nothing of it");
        assertEquals(
                List.of("1", "2", "4"),
                http.get("/api/v1/pop/queue/push.dup/partition/p").payloads());
    }

    @Test
    @Contract("dedup-5")
    void ofTwoEqualIdsInOneRequestTheFirstWins() {
        Json json =
                push(
                                Http.item("push.twice", "p", "x", "1"),
                                Http.item("push.twice", "p", "x", "2"),
                                Http.item("push.twice", "q", "x", "3"))
                        .json();
        assertEquals("queued", json.text(0, "status"));
        assertEquals("duplicate", json.text(1, "status"));
        assertEquals(json.text(0, "message_id"), json.text(1, "message_id"));
        assertEquals("queued", json.text(2, "status"));
        assertNotEquals(json.text(0, "message_id"), json.text(2, "message_id"));
    }

    @Test
    @Contract("dedup-4")
    void aConsumedMessageStillCountsAsADuplicate() {
        push(Http.item("push.consumed", "p", "x", "1"));
        assertEquals(List.of("1"), http.pop("push.consumed", "autoAck=true").payloads());
        assertEquals(
                "duplicate",
                push(Http.item("push.consumed", "p", "x", "1")).json().text(0, "status"));
    }

    @Test
    @Contract({"option-7", "dedup-8"})
    void withoutAWindowOnlyTheRequestIsLookedAt() {
        http.post(
                "/api/v1/configure",
                "{\"queue\":\"push.nodedup\",\"options\":{\"dedupWindowSeconds\":0}}");
        Json first =
                push(
                                Http.item("push.nodedup", "p", "x", "1"),
                                Http.item("push.nodedup", "p", "x", "2"))
                        .json();
        assertEquals("queued", first.text(0, "status"));
        assertEquals("duplicate", first.text(1, "status"));
        assertEquals(
                "queued", push(Http.item("push.nodedup", "p", "x", "3")).json().text(0, "status"));
    }

    @Test
    @Contract({"push-3", "push-5"})
    void emptyIdsAndPartitionsAreAbsent() {
        Json json =
                push(Http.item("push.empty", "", "", "1"), Http.item("push.empty", "", "", "2"))
                        .json();
        assertEquals("queued", json.text(0, "status"));
        assertEquals("queued", json.text(1, "status"));
        assertEquals("Default", http.pop("push.empty", "").json().text("partition"));
    }

    @Test
    @Contract("push-6")
    void aTraceIsStoredIfItIsAUuid() {
        String trace = "11111111-2222-4333-8444-555555555555";
        push(
                "{\"queue\":\"push.trace\",\"payload\":1,\"traceId\":\"" + trace + "\"}",
                "{\"queue\":\"push.trace\",\"payload\":2,\"traceId\":\"none\"}");
        Json popped = http.pop("push.trace", "").json();
        assertEquals(trace, popped.text("messages", 0, "traceId"));
        assertTrue(popped.isNull("messages", 1, "traceId"));
    }

    @Test
    @Contract({"http-4", "push-2"})
    void oneBadItemRefusesTheRequestAndNothingIsStored() {
        String good = Http.item("push.refused", "p", null, "1");
        for (String bad :
                List.of(
                        "{\"queue\":\"push.refused\"}",
                        "{\"payload\":1}",
                        "{\"queue\":\"\",\"payload\":1}",
                        "{\"queue\":\"push.refused\",\"partition\":\"a\\u0000\",\"payload\":1}",
                        "{\"queue\":\"push.refused\",\"transactionId\":\"\\ud800\",\"payload\":1}",
                        "7")) {
            Http.Reply reply = http.post("/api/v1/push", "{\"items\":[" + good + "," + bad + "]}");
            assertEquals(400, reply.status(), bad);
            assertEquals(List.of("error"), reply.json().names());
        }
        String tooLong = Http.item("push.refused", "p", "t".repeat(65_536), "1");
        assertEquals(
                "items[1].transactionId must be at most 65535 bytes, got 65536",
                http.post("/api/v1/push", "{\"items\":[" + good + "," + tooLong + "]}")
                        .json()
                        .text("error"));
        assertEquals(204, http.pop("push.refused", "").status());
    }

    @Test
    @Contract({"model-1", "model-2"})
    void theFirstPushMakesTheQueueWithLabelsFromItsName() throws SQLException {
        push(Http.item("labels.task.rest", "p", null, "1"), Http.item("nolabels", "p", null, "1"));
        try (Connection connection = broker.database().connect()) {
            List<Object> labels = new ArrayList<>();
            for (Object[] row :
                    TestDatabase.rows(
                            connection,
                            "select name || '|' || namespace || '|' || task || '|' || lease_seconds"
                                    + " from queen_store.queues"
                                    + " where name in ('labels.task.rest', 'nolabels') order by 1")) {
                labels.add(row[0]);
            }
            assertEquals(
                    List.of("labels.task.rest|labels|task|60", "nolabels|nolabels||60"), labels);
        }
    }

    @Test
    @Contract({"push-8", "push-10", "pop-param-1"})
    void tenThousandItemsAreStoredInOrder() {
        List<String> items = new ArrayList<>();
        List<String> wanted = new ArrayList<>();
        for (int i = 0; i < 10_000; i++) {
            items.add(Http.item("push.many", "p", "t-" + i, Integer.toString(i)));
            wanted.add(Integer.toString(i));
        }
        assertEquals(10_000, http.pushItems(items).json().size());
        List<String> got = new ArrayList<>();
        while (got.size() < 10_000) {
            got.addAll(http.pop("push.many", "batch=100000&autoAck=true").payloads());
        }
        assertEquals(wanted, got);
    }

    @Test
    @Contract({"push-4", "push-7", "http-2"})
    void whatIsNoFieldOfAnItemIsIgnored() {
        String item = "{\"queue\":\"push.fields\",\"payload\":1,\"x\":[{}],";
        push(item + "\"data\":2,\"producerSub\":\"root\",\"id\":\"7\",\"offset\":9}");
        Json popped = http.pop("push.fields", "").json();
        assertEquals("1", popped.text("messages", 0, "data"));
        assertTrue(popped.isNull("messages", 0, "producerSub"));
        Http.Reply reply =
                http.post("/api/v1/push", "{\"items\":[{\"queue\":\"push.fields\",\"data\":2}]}");
        assertEquals(400, reply.status());
        assertEquals("{\"error\":\"items[0].payload is required\"}", reply.body());
        assertEquals(201, http.post("/api/v1/push", "{\"x\":1,\"items\":[]}").status());
    }

    @Test
    @Contract("model-1")
    void namesAreCaseSensitive() {
        push(
                Http.item("push.case", "P", "x", "1"),
                Http.item("push.Case", "p", "x", "2"),
                Http.item("push.case", "p", "x", "3"));
        assertEquals(List.of("2"), http.pop("push.Case", "").payloads());
        String lanes = "/api/v1/pop/queue/push.case/partition/";
        assertEquals(List.of("1"), http.get(lanes + "P").payloads());
        assertEquals(List.of("3"), http.get(lanes + "p").payloads());
    }

    @Test
    @Contract("dedup-4")
    void aDeadLetterStillCountsAsADuplicate() {
        Json first = push(Http.item("push.dead", "p", "x", "1")).json();
        Json popped = http.pop("push.dead", "").json();
        assertEquals("true", http.ack(popped, 0, "dlq").text(0, "dlq"));
        Json again = push(Http.item("push.dead", "p", "x", "1")).json();
        assertEquals("duplicate", again.text(0, "status"));
        assertEquals(first.text(0, "message_id"), again.text(0, "message_id"));
        assertEquals(204, http.pop("push.dead", "").status());
    }

    @Test
    @Contract("push-18")
    void aDuplicateOfWhatHasNoPayloadLeftHasTheIdOfNothing() throws SQLException {
        push(Http.item("push.gone", "p", "x", "1"));
        try (Connection connection = broker.database().connect()) {
            TestDatabase.rows(
                    connection,
                    "update queen_store.segments set frames = null where partition_id in (select"
                            + " p.id from queen_store.partitions p join queen_store.queues q on q.id"
                            + " = p.queue_id where q.name = 'push.gone')");
        }
        Json again = push(Http.item("push.gone", "p", "x", "1")).json();
        assertEquals("duplicate", again.text(0, "status"));
        assertEquals("00000000-0000-0000-0000-000000000000", again.text(0, "message_id"));
    }

    @Test
    @Contract("dedup-8")
    void withoutAWindowAcksFindTheirMessages() {
        http.post(
                "/api/v1/configure",
                "{\"queue\":\"push.acks\",\"options\":{\"dedupWindowSeconds\":0}}");
        push(
                Http.item("push.acks", "p", "x", "1"),
                Http.item("push.acks", "p", "y", "2"),
                Http.item("push.acks", "p", "z", "3"));
        Json popped = http.pop("push.acks", "").json();
        assertEquals("true", http.ack(popped, 0, "completed").text(0, "success"));
        assertEquals("true", http.ack(popped, 1, "retry").text(0, "leaseReleased"));
        assertEquals(List.of("2", "3"), http.pop("push.acks", "").payloads());
    }

    @Test
    @Contract("dedup-10")
    void idsAreComparedAsText() {
        String id = UUID.randomUUID().toString();
        Json json =
                push(
                                Http.item("push.text", "p", "a" + id.substring(1), "1"),
                                Http.item("push.text", "p", "A" + id.substring(1), "2"),
                                Http.item("push.text", "p", "x", "3"),
                                Http.item("push.text", "p", "x ", "4"))
                        .json();
        for (int i = 0; i < 4; i++) {
            assertEquals("queued", json.text(i, "status"));
        }
    }
}
