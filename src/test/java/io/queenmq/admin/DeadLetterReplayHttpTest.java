package io.queenmq.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Dead letters: retry and replay. */
class DeadLetterReplayHttpTest extends DeadLetterScene {
    // Retry and replay.

    @Test
    @Contract("dlq-5")
    void aRetryMovesTheMessageToTheEndOfItsLane() {
        Json row = file("t1");
        http.push(queue, "p", "2");
        Http.Reply reply = http.post(address(row) + "/retry", "");
        assertEquals(200, reply.status());
        Json json = reply.json();
        assertEquals(
                List.of(
                        "success",
                        "result",
                        "queue",
                        "partition",
                        "consumerGroup",
                        "dlqId",
                        "originalTransactionId",
                        "replayedAs",
                        "dlqRowRemoved"),
                json.names());
        assertTrue(json.bool("success"));
        assertEquals("moved", json.text("result"));
        assertEquals(queue, json.text("queue"));
        assertEquals("p", json.text("partition"));
        assertEquals("g", json.text("consumerGroup"));
        assertEquals(row.text("id"), json.text("dlqId"));
        assertEquals("t1", json.text("originalTransactionId"));
        assertTrue(json.bool("dlqRowRemoved"));
        Json copy = json.at("replayedAs");
        assertEquals(
                List.of("index", "message_id", "transaction_id", "queueName", "status", "offset"),
                copy.names());
        assertEquals("0", copy.text("index"));
        assertEquals("dlq:" + row.text("id"), copy.text("transaction_id"));
        assertEquals(queue, copy.text("queueName"));
        assertEquals("queued", copy.text("status"));
        assertEquals("2", copy.text("offset"));
        assertEquals(List.of(), listed(""));
        Json popped = http.pop(queue, "consumerGroup=g&subscriptionMode=all").json();
        assertEquals("dlq:" + row.text("id"), popped.text("messages", 1, "transactionId"));
        assertEquals(copy.text("message_id"), popped.text("messages", 1, "id"));
        assertNotFound(http.post(address(row) + "/retry", ""), row.text("partitionId"), "t1");
    }

    @Test
    void thePayloadIsStillTheSameByteForByte() {
        Json row = file("p", "g", "t1", "{\"b\" : 1.0,\"a\":\"\\u0000\\ud800\",\"a\":1e400}");
        http.post(address(row) + "/retry", "");
        assertTrue(
                http.pop(queue, "consumerGroup=g")
                        .body()
                        .contains("\"data\":{\"b\" : 1.0,\"a\":\"\\u0000\\ud800\",\"a\":1e400},"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "  ", "{}", "{\"queue\":null,\"partition\":null}"})
    @Contract("dlq-6")
    void aReplayWithoutADestinationGoesBack(String body) {
        Json row = file("t1");
        Json json = http.post("/api/v1/dlq/" + row.text("id") + "/replay", body).json();
        assertEquals("moved", json.text("result"), json.toString());
        assertEquals(queue, json.text("queue"));
        assertEquals("p", json.text("partition"));
    }

    @Test
    @Contract("dlq-6")
    void aReplayGoesElsewhereHalfAWayToo() {
        String elsewhere = "elsewhere-" + UUID.randomUUID();
        Json first = file("t1");
        Json json =
                http.post(
                                "/api/v1/dlq/" + first.text("id") + "/replay",
                                "{\"queue\":\" " + elsewhere + " \",\"partition\":\"new\"}")
                        .json();
        assertEquals(elsewhere, json.text("queue"));
        assertEquals("new", json.text("partition"));
        assertEquals(elsewhere, json.text("replayedAs", "queueName"));
        assertEquals("0", json.text("replayedAs", "offset"));
        Json second = file("t2");
        json =
                http.post(
                                "/api/v1/dlq/" + second.text("id") + "/replay",
                                "{\"partition\":\"third\"}")
                        .json();
        assertEquals(queue, json.text("queue"));
        assertEquals("third", json.text("partition"));
        json =
                http.post(
                                "/api/v1/dlq/" + file("t3").text("id") + "/replay",
                                "{\"queue\":\"" + elsewhere + "\"}")
                        .json();
        assertEquals("p", json.text("partition"));
        assertEquals(2, http.pop(elsewhere, "partitions=0").payloads().size());
    }

    @Test
    @Contract("dlq-6")
    void aTransactionIdThatIsThereAlreadyIsADuplicate() {
        Json row = file("t1");
        String id = row.text("id");
        http.pushItems(List.of(Http.item(queue, "p", "dlq:" + id, "9")));
        Http.Reply reply = http.post("/api/v1/dlq/" + id + "/replay", "");
        assertEquals(200, reply.status());
        Json json = reply.json();
        assertTrue(json.bool("success"));
        assertEquals("duplicate", json.text("result"));
        assertFalse(json.bool("dlqRowRemoved"));
        assertEquals("duplicate", json.text("replayedAs", "status"));
        assertEquals("00000000-0000-0000-0000-000000000000", json.text("replayedAs", "message_id"));
        assertEquals("dlq:" + id, json.text("replayedAs", "transaction_id"));
        assertEquals(List.of("t1"), listed(""));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"999999999999", "0", "-1", "none", "0198f5a0-0000-7000-8000-000000000001"})
    @Contract("dlq-6")
    void anIdThatNamesNothingIsGone(String id) {
        Http.Reply reply = http.post("/api/v1/dlq/" + id + "/replay", "");
        assertEquals(404, reply.status());
        Json json = reply.json();
        assertEquals(List.of("success", "result", "dlqId", "error", "message"), json.names());
        assertFalse(json.bool("success"));
        assertEquals("gone", json.text("result"));
        assertEquals(id, json.text("dlqId"));
        assertEquals("Message not found", json.text("error"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "nonsense",
                "[]",
                "null",
                "{\"queue\":\"\"}",
                "{\"queue\":\"  \"}",
                "{\"partition\":\" \"}",
                "{\"queue\":5}"
            })
    void aDestinationThatIsNoneIsRefused(String body) {
        Json row = file("t1");
        Http.Reply reply = http.post("/api/v1/dlq/" + row.text("id") + "/replay", body);
        assertEquals(400, reply.status());
        assertEquals(List.of("success", "error", "message"), reply.json().names());
        assertEquals(List.of("t1"), listed(""), "nothing moved");
    }

    @Test
    @Contract("dlq-7")
    void whatHasNoPayloadLeftCannotBeReplayed() throws SQLException {
        Json row = file("t1");
        try (Connection connection = broker.database().connect()) {
            new LogFixture(connection)
                    .run(
                            "update queen_store.dead_letters set payload = null where id = ?",
                            Long.parseLong(row.text("id")));
        }
        assertTrue(list("").at("messages", 0).isNull("data"));
        Http.Reply reply = http.post("/api/v1/dlq/" + row.text("id") + "/replay", "");
        assertEquals(400, reply.status());
        assertEquals("Payload expired", reply.json().text("error"));
    }

    @Test
    @Contract("dlq-5")
    void ofManyRetriesAtOnceOneMoves() throws Exception {
        Json row = file("t1");
        List<CompletableFuture<Http.Reply>> retries = new ArrayList<>();
        for (int i = 0; i < 16; i++) {
            retries.add(http.postLater(address(row) + "/retry", ""));
        }
        int moved = 0;
        Set<Integer> statuses = new TreeSet<>();
        for (CompletableFuture<Http.Reply> retry : retries) {
            Http.Reply reply = retry.get();
            statuses.add(reply.status());
            moved += reply.status() == 200 ? 1 : 0;
        }
        assertEquals(1, moved);
        assertEquals(Set.of(200, 404), statuses);
        assertEquals(List.of("t1", "dlq:" + row.text("id")), stored());
    }

    @Test
    void aParkedPopIsWoken() throws Exception {
        Json row = file("t1");
        CompletableFuture<Http.Reply> parked =
                http.getLater(
                        "/api/v1/pop/queue/" + queue + "?consumerGroup=g&wait=true&timeout=50000");
        broker.awaitParked(1);
        http.post(address(row) + "/retry", "");
        assertEquals(
                List.of("dlq:" + row.text("id")),
                parked.get().json().each("messages", "transactionId"));
    }

    // Bulk replay.

    @Test
    @Contract("dlq-7")
    void manyAreMovedInTheOrderInWhichTheyWereGivenUp() {
        List<String> ids = new ArrayList<>();
        for (int i = 1; i <= 4; i++) {
            ids.add(file("t" + i).text("id"));
        }
        http.pushItems(List.of(Http.item(queue, "p", "dlq:" + ids.get(1), "9")));
        Json json = bulk("{\"queue\":\"" + queue + "\",\"limit\":3}").json();
        assertEquals(
                List.of(
                        "success",
                        "queue",
                        "consumerGroup",
                        "moved",
                        "duplicate",
                        "gone",
                        "kept",
                        "next"),
                json.names());
        assertEquals("2", json.text("moved"));
        assertEquals("1", json.text("duplicate"));
        assertEquals("0", json.text("gone"));
        assertEquals(List.of("t4", "t2"), listed(""));
        List<String> stored = stored();
        assertEquals(
                List.of("dlq:" + ids.get(0), "dlq:" + ids.get(2)),
                stored.subList(stored.size() - 2, stored.size()));
        assertEquals(
                "0",
                bulk("{\"queue\":\"" + queue + "\",\"consumerGroup\":\"h\"}").json().text("moved"));
        assertEquals("0", bulk("{\"queue\":\"nowhere\"}").json().text("moved"));
    }

    @Test
    @Contract("dlq-7")
    void whatCannotBeMovedIsPassedByGoingOnBehindIt() throws SQLException {
        file("t1");
        file("t2");
        try (Connection connection = broker.database().connect()) {
            new LogFixture(connection)
                    .run(
                            "update queen_store.dead_letters d set payload = null from"
                                    + " queen_store.queues q where q.id = d.queue_id and q.name"
                                    + " = ?",
                            queue);
        }
        file("t3");
        Json first = bulk("{\"queue\":\"" + queue + "\",\"limit\":2}").json();
        assertEquals("2", first.text("kept"));
        Json second =
                bulk("{\"queue\":\""
                                + queue
                                + "\",\"limit\":2,\"after\":\""
                                + first.text("next")
                                + "\"}")
                        .json();
        assertEquals("1", second.text("moved"));
        assertTrue(second.isNull("next"), second.toString());
        assertEquals(List.of("t2", "t1"), listed(""));
    }

    @Test
    @Contract("dlq-7")
    void aLaneThatIsHeldIsWaitedForOnceAndTheOthersGoOn() throws SQLException {
        file("held", "g", "t1", "1");
        file("held", "g", "t2", "2");
        file("held", "g", "t3", "3");
        file("free", "g", "t4", "4");
        try (Connection holder = broker.database().connect()) {
            holder.setAutoCommit(false);
            TestDatabase.rows(
                    holder,
                    "select from queen_store.partitions p join queen_store.queues q on q.id ="
                            + " p.queue_id where q.name = ? and p.name = 'held' for no key update"
                            + " of p",
                    queue);
            double before = replays();
            Json json = bulk("{\"queue\":\"" + queue + "\"}").json();
            assertEquals("1", json.text("moved"));
            assertEquals("3", json.text("kept"));
            assertEquals(2, replays() - before, "one of each lane was tried");
            holder.rollback();
        }
        assertEquals(List.of("t3", "t2", "t1"), listed(""));
    }

    /** Calls that tried to move one. */
    private static double replays() {
        Matcher count =
                Pattern.compile(
                                "^queen_db_call_seconds_count\\{[^}]*\"replay_dead_letter\"[^}]*}"
                                        + " (\\S+)$",
                                Pattern.MULTILINE)
                        .matcher(broker.metrics());
        return count.find() ? Double.parseDouble(count.group(1)) : 0;
    }

    private static Http.Reply bulk(String body) {
        return http.post("/api/v1/dlq/replay", body);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{}|queue is required",
                "{\"queue\":\"\"}|queue is required",
                "{\"queue\":\"a\\u0000b\"}|queue must ",
                "{\"queue\":\"q\",\"consumerGroup\":\"a\\u0000b\"}|consumerGroup must ",
                "{\"queue\":\"q\",\"limit\":0}|limit must be 1 to 1000, got 0",
                "{\"queue\":\"q\",\"limit\":1001}|limit must be 1 to 1000, got 1001",
                "{\"queue\":\"q\",\"limit\":\"x\"}|limit must be a whole number",
                "{\"queue\":\"q\",\"after\":\"x\"}|after must be the next of an earlier answer",
                "nonsense|bad body: "
            })
    void aBulkReplayThatCannotBeMeantIsRefused(String body, String sentence) {
        Http.Reply reply = bulk(body);
        assertEquals(400, reply.status());
        assertTrue(reply.json().text("error").startsWith(sentence), reply.body());
    }
}
