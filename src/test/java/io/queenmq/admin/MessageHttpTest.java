package io.queenmq.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class MessageHttpTest {
    private static TestDatabase database;
    private static TestBroker broker;

    private Http http;

    @BeforeAll
    static void start() {
        database = TestDatabase.migrated();
        broker =
                TestBroker.withEnvironment(
                        database,
                        Map.of(
                                "QUEEN_TENANCY_HEADER",
                                "true",
                                "QUEEN_ENCRYPTION_KEY",
                                "0f1e2d3c".repeat(8)));
    }

    @AfterAll
    static void stop() {
        broker.close();
        database.close();
    }

    /** Each test is a tenant of its own, so that it sees nothing of the others. */
    @BeforeEach
    void setUp() {
        http = broker.http().as(UUID.randomUUID().toString());
    }

    private Json list(String query) {
        Http.Reply reply = http.get("/api/v1/messages" + query);
        assertEquals(200, reply.status(), reply.body());
        return reply.json();
    }

    private void push(String queue, String partition, String transactionId) {
        http.pushItems(List.of(Http.item(queue, partition, transactionId, "{\"n\" : 1.0}")));
    }

    private static void sql(String statement) throws SQLException {
        try (Connection connection = database.connect();
                Statement run = connection.createStatement()) {
            run.execute(statement);
        }
    }

    @Test
    @Contract("message-1")
    void aRowSaysEverythingAboutAMessage() {
        push("shop.fulfil", "p", "t1");
        Http.Reply reply = http.get("/api/v1/messages?queue=shop.fulfil");
        Json json = reply.json();
        assertEquals(
                List.of("messages", "mode", "total", "pagination", "hasMore", "next", "complete"),
                json.names());
        Json row = json.at("messages", 0);
        assertEquals(
                List.of(
                        "id",
                        "transactionId",
                        "txnHash",
                        "partitionId",
                        "queuePath",
                        "queue",
                        "partition",
                        "namespace",
                        "task",
                        "offset",
                        "status",
                        "queueStatus",
                        "busStatus",
                        "traceId",
                        "producerSub",
                        "payloadAvailable",
                        "segment",
                        "createdAt",
                        "leaseExpiresAt",
                        "data",
                        "payload",
                        "isEncrypted"),
                row.names());
        assertTrue(reply.body().contains("\"data\":{\"n\" : 1.0},\"payload\":{\"n\" : 1.0},"));
        assertEquals("shop.fulfil/p", row.text("queuePath"));
        assertEquals("shop", row.text("namespace"));
        assertEquals("fulfil", row.text("task"));
        assertEquals("pending", row.text("status"));
        assertTrue(row.bool("payloadAvailable"));
        assertEquals("0", row.text("segment", "seq"));
        assertTrue(row.text("txnHash").matches("[0-9a-f]{32}"));
        Json popped = http.pop("shop.fulfil", "").json().at("messages", 0);
        for (String same : List.of("id", "transactionId", "partitionId")) {
            assertEquals(popped.text(same), row.text(same), same);
        }
    }

    @Test
    @Contract("message-2")
    void partitionsAreMergedNewestFirstInPages() {
        List<String> pushed = new ArrayList<>();
        for (int i = 0; i < 12; i++) {
            String id = "t" + i;
            push("orders", "p" + i % 3, id);
            pushed.addFirst(id);
        }
        http.pushItems(
                List.of(
                        Http.item("orders", "p1", "last-1", "1"),
                        Http.item("orders", "p1", "last-2", "1")));
        pushed.addFirst("last-1");
        pushed.addFirst("last-2");
        assertEquals(pushed, list("?queue=orders").each("messages", "transactionId"));
        List<String> paged = new ArrayList<>();
        Json page = list("?queue=orders&limit=5");
        while (true) {
            paged.addAll(page.each("messages", "transactionId"));
            assertTrue(page.bool("complete"));
            assertEquals(page.bool("hasMore"), !page.isNull("next"));
            if (page.isNull("next")) {
                break;
            }
            page = list("?queue=orders&limit=5&after=" + page.text("next"));
        }
        assertEquals(pushed, paged);
        assertEquals(
                pushed.subList(3, 5),
                list("?queue=orders&limit=2&offset=3").each("messages", "transactionId"));
        assertEquals(
                List.of("t11", "t8", "t5", "t2"),
                list("?queue=orders&partition=p2").each("messages", "transactionId"));
        Http.Reply bad = http.get("/api/v1/messages?after=yesterday");
        assertEquals(400, bad.status());
        Http.Reply deep = http.get("/api/v1/messages?limit=1000&offset=1000");
        assertEquals(400, deep.status(), "it would be the first page again");
        assertTrue(deep.json().text("error").contains("go on with after"), deep.body());
    }

    @Test
    @Contract("message-2")
    void messagesAreFoundByLabelsAndById() {
        push("shop.fulfil", "p", "a");
        push("shop.bill", "p", "b");
        push("other.bill", "p", "a");
        assertEquals(3, list("").size("messages"));
        assertEquals(List.of("b", "a"), list("?namespace=shop").each("messages", "transactionId"));
        assertEquals(List.of("b", "a"), list("?ns=shop").each("messages", "transactionId"));
        assertEquals(
                List.of("other.bill", "shop.bill"), list("?task=bill").each("messages", "queue"));
        assertEquals(
                List.of("other.bill", "shop.fulfil"), list("?search=a").each("messages", "queue"));
        assertEquals(0, list("?search=none").size("messages"));
        assertEquals(0, list("?queue=none").size("messages"));
    }

    @Test
    @Contract("message-2")
    void messagesAreFoundByTheirTime() throws SQLException {
        push("timed", "p", "old");
        sql(
                "with aged as (update queen_store.segments s set created_at ="
                        + " '2026-01-02 03:04:30Z' from queen.partitions p"
                        + " where p.number = s.partition_id and p.queue = 'timed'"
                        + " returning s.partition_id, s.created_at)"
                        + " update queen_store.partitions p set oldest_live_at = a.created_at"
                        + " from aged a where a.partition_id = p.id");
        push("timed", "p", "new");
        assertEquals(List.of("new"), list("?queue=timed").each("messages", "transactionId"));
        String day = "?queue=timed&from=2026-01-02&to=2026-01-02T03:0";
        assertEquals(
                List.of("old"), list(day + "4:00Z").each("messages", "transactionId"), "all of it");
        assertEquals(0, list(day + "3:59Z").size("messages"));
        assertEquals(
                List.of("new", "old"),
                list("?queue=timed&from=2026-01-02T03:04:30Z").each("messages", "transactionId"));
        assertEquals(400, http.get("/api/v1/messages?from=soon").status());
    }

    @Test
    @Contract("message-3")
    void theStatusIsWhatGroupsHaveDoneWithIt() {
        for (String id : List.of("done", "dead", "leased", "new")) {
            push("orders", "p", id);
        }
        assertEquals("none", list("?queue=orders").text("mode", "type"));
        Json popped = http.pop("orders", "batch=2").json();
        http.ack(popped, 0, "completed");
        http.ack(popped, 1, "dlq");
        http.pop("orders", "batch=1");
        Json json = list("?queue=orders");
        assertEquals(
                List.of("pending", "processing", "dead_letter", "completed"),
                json.each("messages", "status"));
        assertEquals(
                List.of("pending", "processing", "completed", "completed"),
                json.each("messages", "queueStatus"));
        assertEquals("queue", json.text("mode", "type"));
        assertFalse(json.isNull("messages", 1, "leaseExpiresAt"));
        assertTrue(json.isNull("messages", 0, "leaseExpiresAt"));
        Json dead = list("?queue=orders&status=dead_letter");
        assertEquals(List.of("dead"), dead.each("messages", "transactionId"));
        assertEquals("1", dead.text("total"));
        Json one = list("?queue=orders&status=dead_letter&limit=1");
        assertEquals(List.of("dead"), one.each("messages", "transactionId"));
        assertEquals(0, list("?queue=orders&status=dead_letter&limit=2&offset=1").size("messages"));
        assertEquals(400, http.get("/api/v1/messages?status=odd").status());
    }

    /** Pages are cut by hits: none of them is short while there are more. */
    @Test
    @Contract("message-3")
    void aPageOfAStatusIsFullWhileThereAreMore() {
        for (int i = 0; i < 9; i++) {
            push("orders", "p", "m" + i);
        }
        http.pop("orders", "batch=4&autoAck=true");
        Json first = list("?queue=orders&status=completed&limit=3");
        assertEquals(List.of("m3", "m2", "m1"), first.each("messages", "transactionId"));
        assertTrue(first.bool("hasMore"));
        assertTrue(first.bool("complete"));
        Json second = list("?queue=orders&status=completed&limit=3&after=" + first.text("next"));
        assertEquals(List.of("m0"), second.each("messages", "transactionId"));
        assertTrue(second.isNull("next"));
        assertEquals(
                List.of("m1", "m0"),
                list("?queue=orders&status=completed&limit=3&offset=2")
                        .each("messages", "transactionId"));
    }

    /** Goal: a hit behind very many others does not cost a walk over all of them. */
    @Test
    @Contract("message-3")
    void aSearchForAStatusEndsAfterTenThousandAndTellsWhereToGoOn() {
        push("orders", "p", "dead");
        http.ack(http.pop("orders", "batch=1").json(), 0, "dlq");
        List<String> thousand = Collections.nCopies(1_000, Http.item("orders", "p", null, "0"));
        for (int i = 0; i < 11; i++) {
            http.pushItems(thousand);
        }
        Json first = list("?queue=orders&status=dead_letter&limit=1000");
        assertEquals(0, first.size("messages"));
        assertFalse(first.bool("complete"));
        assertTrue(first.bool("hasMore"));
        assertEquals("queue", first.text("mode", "type"));
        Json rest = list("?queue=orders&status=dead_letter&limit=1000&after=" + first.text("next"));
        assertEquals(List.of("dead"), rest.each("messages", "transactionId"));
        assertTrue(rest.bool("complete"));
    }

    /** Goal: a search in vain reads as much of a lane with a status as without one. */
    @Test
    @Contract("message-2")
    void aSearchForAStatusThatFindsNothingEndsAfterTwentyThousandCommits() throws SQLException {
        push("many-commits", "p", "1");
        sql(
                "with lane as (update queen_store.partitions p set last_offset = 21000"
                        + " from queen_store.queues q where q.id = p.queue_id"
                        + " and q.name = 'many-commits' returning p.id)"
                        + " insert into queen_store.segments (epoch, partition_id, base_offset,"
                        + " end_offset, created_at, flush_id, keys, frames)"
                        + " select s.epoch, s.partition_id, i, i, s.created_at, i, s.keys, s.frames"
                        + " from lane l join queen_store.segments s on s.partition_id = l.id"
                        + " cross join generate_series(1, 21000) i");
        String query = "?queue=many-commits&partition=p&search=nothing";
        for (String status : List.of("", "&status=pending")) {
            Json first = list(query + status);
            assertEquals(0, first.size("messages"));
            assertFalse(first.bool("complete"));
            assertNotEquals("null", first.text("next"), "all of it in one request");
            Json rest = list(query + status + "&after=" + first.text("next"));
            assertTrue(rest.bool("complete"));
            assertFalse(rest.bool("hasMore"));
        }
    }

    @Test
    @Contract("message-1")
    void anEmptyPageTellsWhoConsumesTheQueue() {
        push("orders", "p", "1");
        http.pop("orders", "consumerGroup=g&subscriptionMode=all&batch=1");
        http.pop("orders", "batch=1");
        Json empty = list("?queue=orders&from=2000-01-01&to=2000-01-02");
        assertEquals(0, empty.size("messages"));
        assertEquals("hybrid", empty.text("mode", "type"));
        assertEquals("1", empty.text("mode", "busGroupsCount"));
        assertEquals("none", list("?queue=other").text("mode", "type"));
    }

    @Test
    @Contract("message-3")
    void withNamedGroupsAMessageIsDoneWhenAllHavePassedIt() {
        push("orders", "p", "both");
        push("orders", "p", "one");
        http.pop("orders", "consumerGroup=g&subscriptionMode=all&batch=2&autoAck=true");
        http.pop("orders", "consumerGroup=h&subscriptionMode=all&batch=1&autoAck=true");
        Json json = list("?queue=orders");
        assertEquals(List.of("pending", "completed"), json.each("messages", "status"));
        assertEquals("1", json.text("messages", 0, "busStatus", "consumedBy"));
        assertEquals("2", json.text("messages", 0, "busStatus", "totalGroups"));
        assertTrue(json.isNull("messages", 0, "queueStatus"));
        assertEquals("bus", json.text("mode", "type"));
        assertEquals("2", json.text("mode", "busGroupsCount"));
    }

    @Test
    @Contract("message-4")
    void oneMessageIsShownWithItsGroupsAndItsQueue() {
        push("orders", "p", "t1");
        http.push("orders", "p", "2");
        Json popped = http.pop("orders", "consumerGroup=g&subscriptionMode=all&batch=1").json();
        http.ack(popped, 0, "dlq");
        http.pop("orders", "consumerGroup=h&subscriptionMode=all&batch=1");
        String path = "/api/v1/messages/" + popped.text("messages", 0, "partitionId") + "/t1";
        Json json = http.get(path).json();
        assertEquals("dead_letter", json.text("status"));
        assertEquals("because", json.text("errorMessage"));
        assertEquals("0", json.text("retryCount"));
        assertEquals("1", json.text("occurrences"));
        assertEquals(List.of("g", "h"), json.each("consumerGroups", "name"));
        assertEquals(List.of("true", "false"), json.each("consumerGroups", "consumed"));
        assertFalse(json.isNull("consumerGroups", 1, "leaseExpiresAt"));
        assertEquals("60", json.text("queueConfig", "leaseTime"));
        assertEquals(list("?queue=orders&search=t1").text("messages", 0, "id"), json.text("id"));
        assertEquals("0", http.get(path + "?offset=0").json().text("offset"));
        Http.Reply elsewhere = http.get(path + "?offset=1");
        assertEquals(404, elsewhere.status());
        assertFalse(elsewhere.json().bool("complete"));
    }

    @Test
    @Contract("message-4")
    void ofTwoWithOneIdTheNewestIsShown() {
        http.post(
                "/api/v1/configure",
                "{\"queue\":\"twice\",\"options\":{\"dedupWindowSeconds\":0}}");
        push("twice", "p", "t");
        push("twice", "p", "other");
        push("twice", "p", "t");
        String partition = list("?queue=twice").text("messages", 0, "partitionId");
        Json json = http.get("/api/v1/messages/" + partition + "/t").json();
        assertEquals("2", json.text("offset"));
        assertEquals("2", json.text("occurrences"));
        assertEquals(
                "0",
                http.get("/api/v1/messages/" + partition + "/t?offset=0").json().text("offset"));
        assertEquals(List.of("2", "0"), list("?queue=twice&search=t").each("messages", "offset"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"unknown", "00000000-0000-8000-8000-000fffffffff"})
    @Contract("message-5")
    void whatIsNotThereIsNotFound(String partition) {
        Http.Reply reply = http.get("/api/v1/messages/" + partition + "/t");
        assertEquals(404, reply.status());
        assertEquals(
                List.of("success", "partitionId", "transactionId", "error"), reply.json().names());
        assertEquals("Message not found", reply.json().text("error"));
    }

    @Test
    @Contract("message-5")
    void aMissSaysHowFarItLookedAndNothingToOthers() {
        push("orders", "p", "t");
        String path = "/api/v1/messages/" + list("").text("messages", 0, "partitionId");
        Http.Reply miss = http.get(path + "/none");
        assertEquals(404, miss.status());
        assertEquals("0", miss.json().text("searchedFrom"));
        assertTrue(miss.json().bool("complete"));
        Http stranger = broker.http().as(UUID.randomUUID().toString());
        Http.Reply foreign = stranger.get(path + "/t");
        assertEquals(404, foreign.status());
        assertFalse(foreign.json().names().contains("complete"));
        assertEquals(0, stranger.get("/api/v1/messages").json().size("messages"));
    }

    @Test
    @Contract("message-6")
    void anEncryptedPayloadIsShownInTheClear() {
        http.post(
                "/api/v1/configure",
                "{\"queue\":\"secret\",\"options\":{\"encryptionEnabled\":true}}");
        push("secret", "p", "t");
        Http.Reply reply = http.get("/api/v1/messages?queue=secret");
        assertTrue(reply.body().contains("\"data\":{\"n\" : 1.0},"), reply.body());
        assertTrue(reply.json().bool("messages", 0, "isEncrypted"));
    }

    @Test
    @Contract("message-6")
    void aPageHoldsSoMuchPayloadAndNoMore() {
        String large = "\"" + "x".repeat(5 << 20) + "\"";
        http.push("large", "p", large);
        http.push("large", "p", large);
        Json json = list("?queue=large");
        assertFalse(json.at("messages", 0).names().contains("dataOmitted"));
        assertTrue(json.bool("messages", 1, "dataOmitted"));
        assertTrue(json.isNull("messages", 1, "data"));
        String path =
                "/api/v1/messages/"
                        + json.text("messages", 1, "partitionId")
                        + "/"
                        + json.text("messages", 1, "transactionId");
        assertEquals(large.length() - 2, http.get(path).json().text("data").length());
    }
}
