package io.queenmq.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Seek of a group in a queue and in one partition. */
class SeekHttpTest {
    private static final String ALL = "consumerGroup=g&subscriptionMode=all";

    private static TestBroker broker;
    private static Http http;

    private String queue;

    @BeforeAll
    static void start() {
        broker = TestBroker.start();
        http = broker.http();
    }

    @AfterAll
    static void stop() {
        broker.close();
    }

    /** Three messages, each with a time of its own, all consumed by group g. */
    @BeforeEach
    void consumed() {
        queue = "seek-" + UUID.randomUUID();
        http.push(queue, "p", "1");
        http.push(queue, "p", "2");
        http.push(queue, "p", "3");
        assertEquals(List.of("1", "2", "3"), popped("autoAck=true"));
        assertEquals(204, http.pop(queue, ALL).status());
    }

    private List<String> popped(String more) {
        Http.Reply reply = http.pop(queue, ALL + "&" + more);
        return reply.status() == 204 ? List.of() : reply.payloads();
    }

    private Http.Reply seek(String body) {
        return http.post("/api/v1/consumer-groups/g/queues/" + queue + "/seek", body);
    }

    private Http.Reply seekPartition(String partition, String body) {
        return http.post(
                "/api/v1/consumer-groups/g/queues/" + queue + "/partitions/" + partition + "/seek",
                body);
    }

    private Instant createdAt(String payload) throws SQLException {
        try (Connection connection = broker.database().connect()) {
            return ((Timestamp)
                            new LogFixture(connection)
                                    .value(
                                            "select created_at from queen.messages where queue = ?"
                                                    + " and payload = ?",
                                            queue,
                                            payload))
                    .toInstant();
        }
    }

    // A queue.

    @Test
    @Contract({"seek-1", "seek-2"})
    void toTheBeginning() {
        Json json = seek("{\"toBeginning\":true}").json();
        assertEquals(
                List.of(
                        "success",
                        "consumerGroup",
                        "queueName",
                        "seekToEnd",
                        "targetTimestamp",
                        "partitionsUpdated",
                        "effectiveTimestamp"),
                json.names());
        assertTrue(json.bool("success"));
        assertEquals("g", json.text("consumerGroup"));
        assertEquals(queue, json.text("queueName"));
        assertFalse(json.bool("seekToEnd"));
        assertTrue(json.isNull("targetTimestamp"));
        assertTrue(json.isNull("effectiveTimestamp"));
        assertEquals("1", json.text("partitionsUpdated"));
        assertEquals(List.of("1", "2", "3"), popped(""));
    }

    @Test
    @Contract("seek-2")
    void toATimestamp() throws SQLException {
        Instant second = createdAt("2");
        Http.Reply reply = seek("{\"timestamp\":\"" + second + "\"}");
        assertEquals(200, reply.status());
        Json json = reply.json();
        assertFalse(json.bool("seekToEnd"));
        assertTrue(
                json.text("targetTimestamp")
                        .matches("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{3}Z"),
                json.text("targetTimestamp"));
        assertEquals(json.text("targetTimestamp"), json.text("effectiveTimestamp"));
        assertEquals(List.of("2", "3"), popped(""));
    }

    @ParameterizedTest
    @CsvSource({"1970-01-01T00:00:00Z,3", "2999-01-01 00:00:00+00,0", "2999-01-01,0"})
    @Contract("seek-2")
    void toATimestampOutsideOfTheLog(String timestamp, int messages) {
        assertEquals(200, seek("{\"timestamp\":\"" + timestamp + "\"}").status());
        assertEquals(messages, popped("").size());
    }

    @Test
    @Contract("seek-2")
    void toTheEnd() {
        http.push(queue, "p", "4");
        http.push(queue, "other", "5");
        Json json = seek("{\"toEnd\":true}").json();
        assertTrue(json.bool("seekToEnd"));
        assertEquals("2", json.text("partitionsUpdated"));
        assertFalse(Instant.parse(json.text("effectiveTimestamp")).isAfter(Instant.now()));
        assertEquals(List.of(), popped(""));
        http.push(queue, "p", "6");
        assertEquals(List.of("6"), popped(""));
    }

    @Test
    @Contract("seek-8")
    void toTheEndNamesTheTransactionThatHoldsItBack() throws SQLException {
        try (Connection open = broker.database().connect()) {
            open.setAutoCommit(false);
            TestDatabase.rows(open, "set application_name = 'slow shop'");
            TestDatabase.rows(open, "select from queen.push(?, 'p', '4')", queue);
            TestDatabase.rows(open, "select pg_sleep(1.1)");
            String warning = seek("{\"toEnd\":true}").json().text("warning");
            assertTrue(warning.contains("slow shop"), warning);
            assertTrue(warning.matches(".*pid \\d+.*"), warning);
            open.commit();
        }
        assertEquals(List.of("4"), popped(""), "not skipped");
    }

    @Test
    @Contract("seek-4")
    void aLiveLeaseIsDropped() {
        http.push(queue, "p", "4");
        Json leased = http.pop(queue, ALL).json();
        seek("{\"toBeginning\":true}");
        Json late = http.ack(leased, 0, "completed");
        assertFalse(late.bool(0, "success"));
        assertEquals("invalid or expired lease", late.text(0, "error"));
        Json lateFailure = http.ack(leased, 0, "dlq");
        assertEquals("invalid or expired lease", lateFailure.text(0, "error"));
        assertEquals(
                "0",
                http.post("/api/v1/lease/" + leased.text("leaseId") + "/extend", "{}")
                        .json()
                        .text("renewed"));
        Http.Reply again = http.pop(queue, ALL);
        assertEquals(List.of("1", "2", "3", "4"), again.payloads());
        assertEquals("1", again.json().text("messages", 0, "deliveryAttempt"));
    }

    @Test
    @Contract("seek-4")
    void otherGroupsAreUnaffected() {
        assertEquals(
                List.of("1", "2", "3"),
                http.pop(queue, "consumerGroup=h&subscriptionMode=all&autoAck=true").payloads());
        seek("{\"toBeginning\":true}");
        assertEquals(204, http.pop(queue, "consumerGroup=h").status());
    }

    @Test
    void theGroupOfPopsWithoutOneIsSoughtByItsName() {
        assertEquals(List.of("1", "2", "3"), http.pop(queue, "autoAck=true").payloads());
        assertEquals(
                200,
                http.post(
                                "/api/v1/consumer-groups/__QUEUE_MODE__/queues/" + queue + "/seek",
                                "{\"toBeginning\":true}")
                        .status());
        assertEquals(List.of("1", "2", "3"), http.pop(queue, "").payloads());
    }

    @Test
    void aGroupNobodyHasPoppedWithIsPlacedBeforeItsFirstPop() throws SQLException {
        http.post(
                "/api/v1/consumer-groups/fresh/queues/" + queue + "/seek",
                "{\"timestamp\":\"" + createdAt("3") + "\"}");
        assertEquals(
                List.of("3"),
                http.pop(queue, "consumerGroup=fresh&subscriptionMode=all").payloads());
    }

    @Test
    @Contract("seek-4")
    void aParkedPopIsWokenByEachKindOfSeek() throws Exception {
        for (String body : List.of("{\"toBeginning\":true}", "{\"timestamp\":\"2000-01-01\"}")) {
            CompletableFuture<Http.Reply> parked = parked(ALL);
            seek(body);
            assertEquals(List.of("1", "2", "3"), parked.get().payloads());
        }
    }

    private CompletableFuture<Http.Reply> parked(String query) {
        CompletableFuture<Http.Reply> parked =
                http.getLater(
                        "/api/v1/pop/queue/"
                                + queue
                                + "?wait=true&timeout=50000&autoAck=true&"
                                + query);
        broker.awaitParked(1);
        return parked;
    }

    // A partition.

    @Test
    @Contract({"seek-1", "seek-2"})
    void aPartitionToAnOffset() {
        Json json = seekPartition("p", "{\"offset\":1}").json();
        assertEquals(
                List.of(
                        "success",
                        "consumerGroup",
                        "queueName",
                        "seekToEnd",
                        "targetTimestamp",
                        "partitionName",
                        "updated",
                        "nextOffset"),
                json.names());
        assertTrue(json.bool("updated"));
        assertEquals("p", json.text("partitionName"));
        assertEquals("1", json.text("nextOffset"));
        assertEquals(List.of("2", "3"), popped(""));
    }

    @ParameterizedTest
    @CsvSource({"0,0", "2,2", "3,3", "99999999999,3"})
    @Contract("seek-2")
    void anOffsetIsKeptWithinTheLog(String offset, String next) {
        assertEquals(
                next, seekPartition("p", "{\"offset\":" + offset + "}").json().text("nextOffset"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "  ", "{\"toEnd\":true}"})
    @Contract("seek-3")
    void aPartitionToItsEnd(String body) {
        http.push(queue, "p", "4");
        http.push(queue, "other", "5");
        Json json = seekPartition("p", body).json();
        assertTrue(json.bool("seekToEnd"));
        assertEquals(List.of("5"), popped("partitions=0"));
    }

    @Test
    void aPartitionToItsBeginningAndToATimestamp() throws SQLException {
        seekPartition("p", "{\"timestamp\":\"" + createdAt("3") + "\"}");
        assertEquals(List.of("3"), popped("autoAck=true"));
        seekPartition("p", "{\"toBeginning\":true}");
        assertEquals(List.of("1", "2", "3"), popped("autoAck=true"));
    }

    @Test
    @Contract("seek-4")
    void theLeaseOfThePartitionIsDroppedAndItsCountersReset() {
        http.push(queue, "p", "4");
        http.ack(http.pop(queue, ALL).json(), 0, "failed");
        Json leased = http.pop(queue, ALL).json();
        assertEquals("2", leased.text("messages", 0, "deliveryAttempt"));
        seekPartition("p", "{\"offset\":3}");
        assertEquals("invalid or expired lease", http.ack(leased, 0, "completed").text(0, "error"));
        Json again = http.pop(queue, ALL).json();
        assertEquals("1", again.text("messages", 0, "deliveryAttempt"));
    }

    @Test
    void aParkedPopIsWokenByASeekOfItsPartition() throws Exception {
        CompletableFuture<Http.Reply> parked = parked(ALL);
        seekPartition("p", "{\"offset\":2}");
        assertEquals(List.of("3"), parked.get().payloads());
    }

    @Test
    void aPinnedParkedPopIsWokenToo() throws Exception {
        CompletableFuture<Http.Reply> parked =
                http.getLater(
                        "/api/v1/pop/queue/"
                                + queue
                                + "/partition/p?wait=true&timeout=50000&autoAck=true&"
                                + ALL);
        broker.awaitParked(1);
        seekPartition("p", "{\"offset\":2}");
        assertEquals(List.of("3"), parked.get().payloads());
        CompletableFuture<Http.Reply> second =
                http.getLater(
                        "/api/v1/pop/queue/"
                                + queue
                                + "/partition/p?wait=true&timeout=50000&autoAck=true&"
                                + ALL);
        broker.awaitParked(1);
        seek("{\"toBeginning\":true}");
        assertEquals(List.of("1", "2", "3"), second.get().payloads());
    }

    // Refusals.

    @ParameterizedTest
    @ValueSource(strings = {"", "{}", "{\"toEnd\":false}", "{\"timestamp\":\"\",\"toEnd\":null}"})
    @Contract("seek-3")
    void aQueueNeedsATarget(String body) {
        Http.Reply reply = seek(body);
        assertEquals(400, reply.status());
        assertEquals("Must specify toEnd=true or a timestamp", reply.json().text("error"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"null", "[]", "{", "nonsense", "{\"toEnd\":true}x", "\"\""})
    void whatIsNoObjectIsABadBody(String body) {
        for (Http.Reply reply : List.of(seek(body), seekPartition("p", body))) {
            assertEquals(400, reply.status(), body);
            assertEquals("{\"error\":\"bad body\"}", reply.body());
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{\"toEnd\":true,\"toBeginning\":true}|only one of",
                "{\"toEnd\":true,\"timestamp\":\"2026-01-01\"}|only one of",
                "{\"timestamp\":\"yesterday\"}|bad timestamp: timestamp",
                "{\"timestamp\":5}|bad timestamp: timestamp",
                "{\"toEnd\":1}|toEnd must be true or false, got a number",
                "{\"offset\":-1}|offset must be at least 0, got -1",
                "{\"offset\":1.5}|offset must be a whole number, got 1.5",
                "{\"offset\":\"1\"}|offset must be a whole number"
            })
    @Contract("seek-3")
    void whatCannotBeMeantIsRefused(String body, String sentence) {
        Http.Reply reply = seekPartition("p", body);
        assertEquals(400, reply.status());
        assertTrue(reply.json().text("error").contains(sentence), reply.body());
        assertEquals(List.of(), popped(""), "nothing moved");
    }

    @Test
    void anOffsetIsOfOnePartition() {
        Http.Reply reply = seek("{\"offset\":1}");
        assertEquals(400, reply.status());
        assertTrue(reply.json().text("error").startsWith("offset needs a partition"));
    }

    @Test
    @Contract("seek-5")
    void whatDoesNotExistIsNotFound() {
        Http.Reply partition = seekPartition("none", "{\"toEnd\":true}");
        assertEquals(404, partition.status());
        assertEquals("{\"success\":false,\"error\":\"Partition not found\"}", partition.body());
        queue = "nowhere";
        assertEquals(404, seekPartition("p", "{\"toEnd\":true}").status());
        Http.Reply reply = seek("{\"toEnd\":true}");
        assertEquals(404, reply.status());
        assertFalse(reply.json().bool("success"));
        assertEquals("Queue not found or has no partitions", reply.json().text("error"));
        assertEquals("0", reply.json().text("partitionsUpdated"));
        assertEquals("nowhere", reply.json().text("queueName"));
    }

    @Test
    void namesAreDecodedOnce() {
        String odd = "a/b %2F?#ü-" + UUID.randomUUID();
        http.pushItems(List.of(Http.item(odd, "p/1", null, "1")));
        String group = "g /x";
        http.pop(odd, "consumerGroup=" + Http.encode(group) + "&subscriptionMode=all&autoAck=true");
        Http.Reply reply =
                http.post(
                        "/api/v1/consumer-groups/"
                                + Http.encode(group)
                                + "/queues/"
                                + Http.encode(odd)
                                + "/partitions/"
                                + Http.encode("p/1")
                                + "/seek",
                        "{\"toBeginning\":true}");
        assertEquals(200, reply.status(), reply.body());
        assertEquals(odd, reply.json().text("queueName"));
        assertEquals(group, reply.json().text("consumerGroup"));
    }
}
