package io.queenmq.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Dead letters: list and deletion, and what they mean for the rest. */
class DeadLetterHttpTest extends DeadLetterScene {
    // List.

    @Test
    @Contract("dlq-2")
    void aRowSaysEverythingAboutTheMessage() {
        Instant before = Instant.now().minusSeconds(1);
        Json row = file("t1");
        assertEquals(
                List.of(
                        "id",
                        "transactionId",
                        "messageId",
                        "partitionId",
                        "queue",
                        "partition",
                        "consumerGroup",
                        "offset",
                        "errorMessage",
                        "retryCount",
                        "data",
                        "traceId",
                        "producerSub",
                        "createdAt",
                        "failedAt"),
                row.names());
        assertEquals("t1", row.text("transactionId"));
        assertEquals(queue, row.text("queue"));
        assertEquals("p", row.text("partition"));
        assertEquals("g", row.text("consumerGroup"));
        assertEquals("0", row.text("offset"));
        assertEquals("because", row.text("errorMessage"));
        assertEquals("0", row.text("retryCount"));
        assertTrue(row.isNull("producerSub"));
        Instant created = Instant.parse(row.text("createdAt"));
        Instant failed = Instant.parse(row.text("failedAt"));
        assertFalse(created.isBefore(before));
        assertFalse(failed.isBefore(created));
        assertTrue(row.text("failedAt").matches(".*\\.\\d{3}Z"));
        assertTrue(
                http.get("/api/v1/dlq?queue=" + queue).body().contains("\"data\":{\"n\" : 1.0},"),
                "byte for byte");
    }

    @Test
    @Contract("dlq-1")
    void theNewestComesFirstPageByPageWithTheRealTotal() {
        for (int i = 1; i <= 5; i++) {
            file("t" + i);
        }
        Json json = list("");
        assertEquals(List.of("messages", "pagination", "total", "next", "complete"), json.names());
        assertTrue(json.bool("complete"));
        assertEquals(List.of("t5", "t4", "t3", "t2", "t1"), listed(""));
        assertEquals("100", json.text("pagination", "limit"));
        assertEquals("0", json.text("pagination", "offset"));
        assertTrue(json.isNull("next"));
        Json page = list("limit=2&offset=1");
        assertEquals(List.of("t4", "t3"), page.each("messages", "transactionId"));
        assertEquals("5", page.text("total"));
        assertEquals("2", page.text("pagination", "limit"));
        assertEquals("1", page.text("pagination", "offset"));
        assertEquals(List.of("t2", "t1"), listed("limit=2&after=" + page.text("next")));
    }

    @Test
    @Contract("dlq-1")
    void everyFilterIsHonoured() {
        file("p", "g", "t1", "1");
        Json second = file("other", "h", "t2", "2");
        assertEquals(List.of("t1"), listed("consumerGroup=g"));
        assertEquals(List.of("t2"), listed("partition=other"));
        assertEquals(List.of(), listed("partition=none"));
        assertEquals(List.of("t2", "t1"), listed("search=CAUS"));
        assertEquals(List.of(), listed("search=%25"));
        assertEquals(List.of("t2", "t1"), listed("consumerGroup=&partition=&search="));
        assertEquals(List.of(), listed("to=2000-01-01T00:00:00Z"));
        assertEquals(List.of("t2", "t1"), listed("from=2000-01-01&to=2999-01-01"));
        assertEquals("1", list("consumerGroup=g").text("total"));
        assertTrue(
                http.get("/api/v1/dlq?limit=1000")
                        .json()
                        .each("messages", "id")
                        .contains(second.text("id")),
                "without a queue: of all queues");
    }

    /** 100,000 rows may be looked at for a page; what is sought lies behind them. */
    @Test
    @Contract("dlq-1")
    void aRareRowIsFoundBehindThoseThatAPageLooksAt() throws SQLException {
        file("p", "rare", "t1", "1");
        file("p", "rare", "t2", "2");
        try (Connection connection = broker.database().connect();
                Statement statement = connection.createStatement()) {
            statement.execute(
                    "insert into queen_store.dead_letters (queue_id, partition_id, group_name,"
                            + " \"offset\", message_id, transaction_id, key, flags, error)"
                            + " select q.id, 1, 'g', 0, gen_random_uuid(), 'other', '', 0, ''"
                            + " from queen_store.queues q, generate_series(1, 100000)"
                            + " where q.name = '"
                            + queue
                            + "'");
        }
        Json page = list("consumerGroup=rare&offset=1");
        assertEquals(0, page.size("messages"));
        assertFalse(page.bool("complete"));
        assertTrue(page.bool("totalCapped"));
        page = list("consumerGroup=rare&after=" + page.text("next"));
        assertEquals(List.of("t1"), page.each("messages", "transactionId"));
        assertTrue(page.bool("complete"));
        assertTrue(page.isNull("next"));
    }

    @ParameterizedTest
    @CsvSource({
        "limit=x,100",
        "limit=0,1",
        "limit=-5,1",
        "limit=5000,1000",
        "limit=,100",
        "offset=-1,100"
    })
    void numbersAreReadAsManagementDoes(String query, String limit) {
        assertEquals(limit, list(query).text("pagination", "limit"));
        assertEquals("0", list(query).text("pagination", "offset"));
    }

    @ParameterizedTest
    @CsvSource({"from=soon,bad timestamp: from", "to=soon,bad timestamp: to", "after=x,after must"})
    void whatCannotBeReadIsRefused(String query, String sentence) {
        Http.Reply reply = http.get("/api/v1/dlq?" + query);
        assertEquals(400, reply.status());
        assertTrue(reply.json().text("error").startsWith(sentence), reply.body());
    }

    // Deletion.

    @Test
    @Contract({"dlq-4", "dlq-3"})
    void theDeadLettersOfAnAddressAreDeletedForEveryGroup() {
        Json row = file("p", "g", "t/1 ü", "1");
        http.get(
                "/api/v1/pop/queue/" + queue + "/partition/p?subscriptionMode=all&consumerGroup=h");
        String path = address(row);
        Http.Reply reply = http.delete(path);
        assertEquals(200, reply.status());
        assertEquals(
                "{\"success\":true,\"partitionId\":\""
                        + row.text("partitionId")
                        + "\",\"transactionId\":\"t/1 ü\",\"message\":\"Message deleted"
                        + " successfully\"}",
                reply.body());
        assertNotFound(http.delete(path), row.text("partitionId"), "t/1 ü");
        assertEquals(List.of("t/1 ü"), stored(), "the message itself cannot be deleted");
    }

    @ParameterizedTest
    @ValueSource(strings = {NO_PARTITION, "none", "00000000-0000-0000-0000-000000000000"})
    @Contract({"dlq-4", "dlq-5"})
    void anAddressThatNamesNothingIsNotFound(String partitionId) {
        assertNotFound(http.delete("/api/v1/messages/" + partitionId + "/t"), partitionId, "t");
        assertNotFound(
                http.post("/api/v1/messages/" + partitionId + "/t/retry", ""), partitionId, "t");
    }

    @Test
    @Contract("dlq-4")
    void aQueueIsClearedForOneGroupOrForAll() {
        file("p", "g", "t1", "1");
        file("other", "h", "t2", "2");
        file("other", "h", "t3", "3");
        Http.Reply reply = http.delete("/api/v1/dlq?queue=" + queue + "&consumerGroup=h");
        assertEquals(200, reply.status());
        assertEquals(
                "{\"success\":true,\"deleted\":2,\"queue\":\""
                        + queue
                        + "\",\"consumerGroup\":\"h\"}",
                reply.body());
        assertEquals(List.of("t1"), listed(""));
        assertEquals(
                "{\"success\":true,\"deleted\":1,\"queue\":\""
                        + queue
                        + "\",\"consumerGroup\":null}",
                http.delete("/api/v1/dlq?consumerGroup=&queue=" + queue).body());
        assertEquals("0", http.delete("/api/v1/dlq?queue=" + queue).json().text("deleted"));
        assertEquals("0", http.delete("/api/v1/dlq?queue=nowhere").json().text("deleted"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "?queue=", "?consumerGroup=g"})
    void clearingNeedsAQueue(String query) {
        Http.Reply reply = http.delete("/api/v1/dlq" + query);
        assertEquals(400, reply.status());
        assertEquals("{\"error\":\"queue is required\"}", reply.body());
    }

    // What a dead letter means for the rest.

    @Test
    void theTransactionIdOfADeadLetterIsStillADuplicate() {
        file("t1");
        Json again = http.pushItems(List.of(Http.item(queue, "p", "t1", "1"))).json();
        assertEquals("duplicate", again.text(0, "status"));
        assertEquals(204, http.pop(queue, "consumerGroup=g").status());
    }

    @Test
    void aLateNackOfALostLeaseFilesNothingAndChangesNoCounter() {
        configure(0);
        http.push(queue, "p", "1");
        Json first = http.pop(queue, "consumerGroup=g&subscriptionMode=all&leaseSeconds=1").json();
        Json second = http.pop(queue, "consumerGroup=g&wait=true&timeout=30000").json();
        assertNotEquals(first.text("leaseId"), second.text("leaseId"));
        assertTrue(http.ack(second, 0, "failed").bool(0, "dlq"));
        for (String status : List.of("failed", "dlq", "retry", "completed")) {
            Json late = http.ack(first, 0, status);
            assertEquals("invalid or expired lease", late.text(0, "error"));
        }
        assertEquals("1", list("").text("total"));
        assertEquals(204, http.pop(queue, "consumerGroup=g").status());
    }

    private void configure(int retryLimit) {
        assertEquals(
                200,
                http.post(
                                "/api/v1/configure",
                                "{\"queue\":\""
                                        + queue
                                        + "\",\"options\":{\"retryLimit\":"
                                        + retryLimit
                                        + "}}")
                        .status());
    }

    @Test
    void aPoisonMessageCostsOnlyItself() {
        configure(2);
        String[] payloads = new String[10];
        for (int i = 0; i < 10; i++) {
            payloads[i] = Integer.toString(i);
        }
        http.push(queue, "p", payloads);
        int[] deliveries = new int[10];
        while (true) {
            Http.Reply reply = http.pop(queue, "consumerGroup=g&subscriptionMode=all");
            if (reply.status() == 204) {
                break;
            }
            Json popped = reply.json();
            List<String> data = reply.payloads();
            int poison = data.indexOf("3");
            data.forEach(payload -> deliveries[Integer.parseInt(payload)]++);
            int good = poison < 0 ? data.size() : poison;
            if (good > 0) {
                int[] completed = new int[good];
                for (int i = 0; i < good; i++) {
                    completed[i] = i;
                }
                http.ackBatch(popped, "completed", completed);
            }
            if (poison >= 0) {
                http.ack(popped, poison, "failed");
            }
        }
        Json letters = list("");
        assertEquals("1", letters.text("total"));
        assertEquals("3", letters.text("messages", 0, "data"));
        assertEquals("2", letters.text("messages", 0, "retryCount"));
        for (int count : deliveries) {
            assertTrue(count <= 2 + 2, () -> java.util.Arrays.toString(deliveries));
        }
    }
}
