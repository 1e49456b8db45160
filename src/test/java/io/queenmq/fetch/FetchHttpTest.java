package io.queenmq.fetch;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class FetchHttpTest {
    private static final Map<String, String> SETTINGS =
            Map.of("QUEEN_TENANCY_HEADER", "true", "QUEEN_ENCRYPTION_KEY", "0f1e2d3c".repeat(8));

    private static TestDatabase database;
    private static TestBroker broker;
    private static TestBroker other;

    private String tenant;
    private Http http;

    @BeforeAll
    static void start() {
        database = TestDatabase.migrated();
        broker = TestBroker.withEnvironment(database, SETTINGS);
        other = TestBroker.withEnvironment(database, SETTINGS);
    }

    @AfterAll
    static void stop() {
        broker.close();
        other.close();
        database.close();
    }

    /** Each test is a tenant of its own, so that it sees nothing of the others. */
    @BeforeEach
    void setUp() {
        tenant = UUID.randomUUID().toString();
        http = broker.http().as(tenant);
    }

    private static String entry(String queue, String partition, long offset, String rest) {
        return "{\"queue\":\"%s\",\"partition\":\"%s\",\"offset\":%d%s}"
                .formatted(queue, partition, offset, rest);
    }

    private static String body(String rest, String... entries) {
        return "{\"entries\":[" + String.join(",", entries) + "]" + rest + "}";
    }

    private Json fetch(String... entries) {
        Http.Reply reply = http.post("/api/v1/fetch", body("", entries));
        assertEquals(200, reply.status(), reply.body());
        return reply.json();
    }

    @Test
    @Contract("fetch-1")
    void messagesAreReadFromAnOffsetOnAndStayWhereTheyAre() {
        http.pushItems(
                List.of(
                        Http.item("orders", "x", "a", "{\"n\" : 1.0}"),
                        Http.item("orders", "x", "b", "null")));
        http.push("orders", "x", "3");
        String reply = http.post("/api/v1/fetch", body("", entry("orders", "x", 0, ""))).body();
        assertTrue(reply.contains("\"payload\":{\"n\" : 1.0},"), reply);
        Json json = fetch(entry("orders", "x", 1, ""), entry("orders", "x", 3, ""));
        assertEquals(
                List.of("queue", "partition", "records", "highWatermark", "logStartOffset"),
                json.names("entries", 0));
        Json first = json.at("entries", 0);
        assertEquals(List.of("1", "2"), first.each("records", "offset"));
        assertEquals(List.of("null", "3"), first.each("records", "payload"));
        assertEquals("b", first.text("records", 0, "transactionId"));
        assertTrue(first.text("records", 0, "ts").matches(".*\\.\\d{3}Z"));
        assertEquals("3", first.text("highWatermark"));
        assertEquals(0, json.size("entries", 1, "records"), "what comes next is not there yet");
        assertEquals(3, http.pop("orders", "batch=10").payloads().size(), "nothing was taken");
        assertEquals("{\"entries\":[]}", http.post("/api/v1/fetch", "{\"entries\":[]}").body());
    }

    @Test
    @Contract("fetch-2")
    void eachEntryFailsForItself() throws SQLException {
        http.push("orders", "Default", "1", "2");
        http.push("orders", "gone", "1");
        http.push("orders", "gone", "2");
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement()) {
            statement.execute(
                    "update queen_store.partitions set log_start = 1 where name = 'gone'");
        }
        Json json =
                fetch(
                        entry("none", "x", 0, ""),
                        entry("orders", "Default", 3, ""),
                        entry("orders", "gone", 0, ""),
                        entry("orders", "never", 0, ""),
                        "{\"queue\":\"orders\",\"offset\":1}");
        assertEquals("UNKNOWN_TOPIC_OR_PARTITION", json.text("entries", 0, "error"));
        assertEquals("OFFSET_OUT_OF_RANGE", json.text("entries", 1, "error"));
        assertEquals("OFFSET_OUT_OF_RANGE", json.text("entries", 2, "error"));
        assertEquals("1", json.text("entries", 2, "logStartOffset"));
        assertEquals("0", json.text("entries", 3, "highWatermark"));
        assertEquals(List.of("2"), json.at("entries", 4).each("records", "payload"));
        http = broker.http().as(UUID.randomUUID().toString());
        assertEquals(
                "UNKNOWN_TOPIC_OR_PARTITION",
                fetch(entry("orders", "Default", 0, "")).text("entries", 0, "error"));
    }

    @Test
    @Contract("fetch-3")
    void anEntryEndsWithTheCommitThatReachesItsBytes() {
        for (int i = 0; i < 4; i++) {
            http.push("orders", "x", "\"" + "x".repeat(1_000) + "\"");
        }
        assertEquals(
                List.of("0"),
                fetch(entry("orders", "x", 0, ",\"maxBytes\":1"))
                        .at("entries", 0)
                        .each("records", "offset"));
        assertEquals(
                List.of("1", "2"),
                fetch(entry("orders", "x", 1, ",\"maxBytes\":1500"))
                        .at("entries", 0)
                        .each("records", "offset"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{`entries`:[{`queue`:`q`}]} | entries[0].offset must be at least 0",
                "{`entries`:[{`queue`:`q`,`offset`:-1}]} | entries[0].offset must be at least 0, got -1",
                "{`entries`:[{`offset`:0}]} | entries[0].queue must be 1 to 1024 bytes, got 0",
                "{`entries`:7} | bad body: entries must be an array, got a number"
            })
    @Contract("fetch-2")
    void aBadRequestIsRefused(String body, String error) {
        Http.Reply reply = http.post("/api/v1/fetch", body.replace('`', '"'));
        assertEquals(400, reply.status());
        assertEquals(error, reply.json().text("error"));
    }

    @Test
    @Contract("fetch-2")
    void moreThan1024EntriesAreRefused() {
        String[] many = new String[1_025];
        Arrays.fill(many, entry("q", "p", 0, ""));
        Http.Reply reply = http.post("/api/v1/fetch", body("", many));
        assertEquals(400, reply.status());
        assertTrue(reply.json().text("error").contains("1024-entry limit"), reply.body());
    }

    @Test
    @Contract("fetch-4")
    void whoFindsNothingWaitsForWhatIsPushedAtAnyBroker() {
        http.push("orders", "x", "1");
        String wait = ",\"maxWaitMs\":30000";
        for (TestBroker at : List.of(broker, other)) {
            Json before = fetch(entry("orders", "x", 0, ""));
            long next = Long.parseLong(before.text("entries", 0, "highWatermark"));
            at.awaitListening();
            CompletableFuture<Http.Reply> fetched =
                    at.http()
                            .as(tenant)
                            .postLater(
                                    "/api/v1/fetch",
                                    body(
                                            wait,
                                            entry("orders", "y", 0, ""),
                                            entry("orders", "x", next, "")));
            at.awaitParked(1);
            http.push("orders", "x", "\"new\"");
            Json json = fetched.join().json();
            assertEquals(List.of("new"), json.at("entries", 1).each("records", "payload"));
        }
    }

    @Test
    @Contract("fetch-4")
    void whatIsTooLittleIsWaitedOnAndAnErrorIsNot() {
        http.push("orders", "x", "1");
        String rest = ",\"maxWaitMs\":200,\"minBytes\":1000000";
        Json json = http.post("/api/v1/fetch", body(rest, entry("orders", "x", 0, ""))).json();
        assertEquals(1, json.size("entries", 0, "records"), "what there is in the end");
        Json failed =
                http.post("/api/v1/fetch", body(",\"maxWaitMs\":30000", entry("none", "x", 0, "")))
                        .json();
        assertEquals("UNKNOWN_TOPIC_OR_PARTITION", failed.text("entries", 0, "error"));
    }

    @Test
    @Contract("fetch-4")
    void whoWaitsReadsMessagesOnceHoweverOftenItLooks() {
        String rest = ",\"maxWaitMs\":30000,\"minBytes\":100000";
        http.push("orders", "y", "1");
        double read = calls("read_segments");
        CompletableFuture<Http.Reply> fetched =
                http.postLater("/api/v1/fetch", body(rest, entry("orders", "x", 0, "")));
        for (int i = 0; i < 3; i++) {
            broker.awaitParked(1);
            double looked = calls("find_segments");
            http.push("orders", "x", "\"" + "x".repeat(40_000) + "\"");
            Await.until("it looks", () -> calls("find_segments") > looked);
        }
        assertEquals(
                List.of("0", "1", "2"),
                fetched.join().json().at("entries", 0).each("records", "offset"));
        assertEquals(read + 1, calls("read_segments"));
    }

    /** At most every 20 ms: there are as many looks as that gives, and one or two beside. */
    @Test
    @Contract("fetch-4")
    void whoWantsMoreThanThereIsDoesNotLookForEveryPush() {
        String rest = ",\"maxWaitMs\":30000,\"minBytes\":100000";
        http.push("orders", "x", "0");
        CompletableFuture<Http.Reply> fetched =
                http.postLater("/api/v1/fetch", body(rest, entry("orders", "x", 0, "")));
        broker.awaitParked(1);
        double looked = calls("find_segments");
        long began = System.nanoTime();
        for (int i = 0; i < 100; i++) {
            http.push("orders", "x", "1");
        }
        double looks = calls("find_segments") - looked;
        double spans = Duration.ofNanos(System.nanoTime() - began).toMillis() / 20.0;
        assertTrue(looks <= spans + 5, looks + " looks in " + spans + " times 20 ms");
        http.push("orders", "x", "\"" + "x".repeat(100_000) + "\"");
        assertEquals(102, fetched.join().json().size("entries", 0, "records"));
    }

    private static double calls(String statement) {
        Matcher count =
                Pattern.compile(
                                "queen_db_call_seconds_count\\{statement=\""
                                        + statement
                                        + "\"} (.*)")
                        .matcher(broker.metrics());
        return count.find() ? Double.parseDouble(count.group(1)) : 0;
    }

    @Test
    @Contract("fetch-3")
    void manySmallCommitsAreReadUpToTheBytesThatAreWanted() throws SQLException {
        http.push("orders", "x", "0");
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement()) {
            statement.execute(
                    "insert into queen_store.segments (epoch, partition_id, base_offset,"
                            + " end_offset, created_at, flush_id, keys, frames) select s.epoch,"
                            + " s.partition_id, n, n, s.created_at, n, s.keys, s.frames from"
                            + " queen_store.partitions p join queen_store.queues q on q.id ="
                            + " p.queue_id join queen_store.segments s on s.partition_id = p.id"
                            + " cross join generate_series(1, 299) n where q.tenant_id = '"
                            + tenant
                            + "'");
            statement.execute(
                    "update queen_store.partitions p set last_offset = 299 from queen_store.queues"
                            + " q where q.id = p.queue_id and q.tenant_id = '"
                            + tenant
                            + "'");
        }
        Json all = fetch(entry("orders", "x", 7, "")).at("entries", 0);
        assertEquals(
                IntStream.range(7, 300).mapToObj(Integer::toString).toList(),
                all.each("records", "offset"));
        int bytes = 60 * (16 + 4 + 2);
        assertTrue(
                fetch(entry("orders", "x", 0, ",\"maxBytes\":" + bytes))
                                .size("entries", 0, "records")
                        > 50);
    }

    @Test
    @Contract("fetch-1")
    void anEncryptedPayloadIsReadInTheClear() {
        http.post(
                "/api/v1/configure",
                "{\"queue\":\"secret\",\"options\":{\"encryptionEnabled\":true}}");
        http.push("secret", "p", "{\"pin\":1234}");
        assertEquals(
                "1234",
                fetch(entry("secret", "p", 0, ""))
                        .text("entries", 0, "records", 0, "payload", "pin"));
    }
}
