package io.queenmq.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class TraceHttpTest {
    private static TestDatabase database;
    private static TestBroker broker;

    private Http http;
    private String partition;

    @BeforeAll
    static void start() {
        database = TestDatabase.migrated();
        broker =
                TestBroker.withEnvironment(
                        database,
                        Map.of(
                                "QUEEN_SERVER_ID", "broker-7",
                                "QUEEN_TENANCY_HEADER", "true"));
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
        http.push("orders", "p", "1");
        partition = http.get("/api/v1/resources/queues/orders").json().text("partitions", 0, "id");
    }

    private Http.Reply post(String transactionId, String rest) {
        return http.post(
                "/api/v1/traces",
                "{\"transactionId\":\"%s\",\"partitionId\":\"%s\"%s}"
                        .formatted(transactionId, partition, rest));
    }

    private void note(String transactionId, String rest) {
        Http.Reply reply = post(transactionId, rest);
        assertEquals(201, reply.status(), reply.body());
    }

    private String ofMessage(String transactionId) {
        return http.get("/api/v1/traces/" + partition + "/" + transactionId).body();
    }

    @Test
    @Contract("trace-1")
    void aNoteComesBackAsItWasGiven() {
        Http.Reply reply =
                post(
                        "t/1 \\\"quoted\\\"",
                        ",\"data\":{\"n\" : 1e400,\"s\":\"\\u0000\\ud800\"},\"eventType\":\"paid\","
                                + "\"consumerGroup\":\"g\",\"traceNames\":[\"a\",7,\"b\"]");
        assertEquals(201, reply.status(), reply.body());
        assertEquals(List.of("success", "traceId"), reply.json().names());
        String body = ofMessage(Http.encode("t/1 \"quoted\""));
        assertTrue(body.contains("\"data\":{\"n\" : 1e400,\"s\":\"\\u0000\\ud800\"},"), body);
        Json trace = Json.parse(body).at("traces", 0);
        assertEquals(
                List.of(
                        "id",
                        "event_type",
                        "data",
                        "consumer_group",
                        "worker_id",
                        "created_at",
                        "trace_names"),
                trace.names());
        assertEquals(reply.json().text("traceId"), trace.text("id"));
        assertEquals("paid", trace.text("event_type"));
        assertEquals("broker-7", trace.text("worker_id"));
        assertEquals("g", trace.text("consumer_group"));
        assertEquals("[a, b]", trace.text("trace_names"));
    }

    @Test
    @Contract("trace-1")
    void whatIsLeftOutHasADefaultAndOrderIsThatOfTime() {
        note("t", ",\"data\":null");
        note("t", ",\"data\":2,\"traceNames\":\"alone\"");
        note("t", ",\"data\":3,\"traceNames\":true");
        Json traces = Json.parse(ofMessage("t"));
        assertEquals(List.of("null", "2", "3"), traces.each("traces", "data"));
        assertEquals("info", traces.text("traces", 0, "event_type"));
        assertEquals("__QUEUE_MODE__", traces.text("traces", 0, "consumer_group"));
        assertEquals(List.of("[]", "[alone]", "[]"), traces.each("traces", "trace_names"));
        assertEquals("{\"traces\":[]}", ofMessage("none"));
        assertEquals("{\"traces\":[]}", http.get("/api/v1/traces/odd/t").body());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{} | transactionId and partitionId are required",
                "{`transactionId`:`t`} | transactionId and partitionId are required",
                "{`transactionId`:`t`,`partitionId`:`P`} | data is required",
                "{`transactionId`:`t`,`partitionId`:`odd`,`data`:1} | partitionId must be a UUID, got odd",
                "{`transactionId`:`t`,`partitionId`:`P`,`data`:1,`traceNames`:[``]} | traceNames must be 1 to 1024 bytes, got 0",
            })
    @Contract("trace-2")
    void aBadNoteIsRefused(String body, String error) {
        Http.Reply reply =
                http.post(
                        "/api/v1/traces",
                        body.replace("`P`", '"' + partition + '"').replace('`', '"'));
        assertEquals(400, reply.status());
        assertEquals(error, reply.json().text("error"));
    }

    @Test
    @Contract("trace-2")
    void whatIsAnotherTenantsIsNotFound() {
        note("t", ",\"data\":1,\"traceNames\":\"shared\"");
        String mine = ofMessage("t");
        http = broker.http().as(UUID.randomUUID().toString());
        Http.Reply reply = post("t", ",\"data\":1");
        assertEquals(404, reply.status());
        assertEquals("{\"error\":\"Message not found\"}", reply.body());
        assertEquals("{\"traces\":[]}", ofMessage("t"));
        assertEquals("0", http.get("/api/v1/traces/by-name/shared").json().text("total"));
        assertEquals("0", http.get("/api/v1/traces/names").json().text("total"));
        assertTrue(mine.contains("\"data\":1"));
    }

    @Test
    @Contract("trace-3")
    void notesAreFoundByTheirNames() {
        for (int i = 0; i < 3; i++) {
            note("t" + i, ",\"data\":" + i + ",\"traceNames\":[\"flow a/b\",\"n" + i + "\"]");
        }
        Json json = http.get("/api/v1/traces/by-name/flow%20a%2Fb?limit=2&offset=1").json();
        assertEquals(List.of("1", "2"), json.each("traces", "data"));
        assertEquals(List.of("t1", "t2"), json.each("traces", "transaction_id"));
        assertEquals("3", json.text("total"));
        assertEquals("orders", json.text("traces", 0, "queue_name"));
        assertEquals("p", json.text("traces", 0, "partition_name"));
        assertEquals(partition, json.text("traces", 0, "partition_id"));
        assertTrue(json.isNull("traces", 0, "message_payload"));
        http.delete("/api/v1/resources/queues/orders");
        assertEquals(3, http.get("/api/v1/traces/by-name/flow%20a%2Fb").json().size("traces"));
    }

    /** A thousand notes of a megabyte would be more than a broker has memory for. */
    @Test
    @Contract({"trace-1", "trace-3"})
    void anAnswerHasRoomForSoMuchDataAndLeavesOutTheRest() {
        String data = '"' + "x".repeat((1 << 20) - 2) + '"';
        for (int i = 0; i < 9; i++) {
            note("large", ",\"data\":" + data + ",\"traceNames\":\"large\"");
        }
        for (String path :
                List.of("/api/v1/traces/" + partition + "/large", "/api/v1/traces/by-name/large")) {
            Json all = http.get(path).json();
            assertEquals(9, all.size("traces"));
            assertEquals((1 << 20) - 2, all.text("traces", 6, "data").length());
            assertFalse(all.names("traces", 6).contains("dataOmitted"));
            assertTrue(all.isNull("traces", 7, "data"));
            assertTrue(all.bool("traces", 8, "dataOmitted"));
            assertEquals("[]", all.text("traces", 8, "trace_names"));
            Json rest = http.get(path + "?limit=1&offset=8").json();
            assertEquals(1, rest.size("traces"));
            assertEquals("[large]", rest.text("traces", 0, "trace_names"));
        }
    }

    @Test
    @Contract("trace-4")
    void namesAreListedWithWhatTheyHave() {
        note("t1", ",\"data\":1,\"traceNames\":[\"old\",\"old\"]");
        note("t1", ",\"data\":1,\"traceNames\":\"both\"");
        note("t1", ",\"data\":1,\"traceNames\":\"both\"");
        note("t2", ",\"data\":1,\"traceNames\":\"both\"");
        Json json = http.get("/api/v1/traces/names").json();
        assertEquals(List.of("both", "old"), json.each("trace_names", "trace_name"));
        assertEquals(List.of("3", "1"), json.each("trace_names", "trace_count"));
        assertEquals(List.of("2", "1"), json.each("trace_names", "message_count"));
        assertEquals("2", json.text("total"));
        Json page = http.get("/api/v1/traces/names?limit=1&offset=1").json();
        assertEquals(List.of("old"), page.each("trace_names", "trace_name"));
        assertEquals("2", http.get("/api/v1/traces/names?offset=5").json().text("total"));
    }

    @Test
    @Contract({"trace-3", "trace-4"})
    void countingEndsAtTenThousand() throws SQLException {
        note("t", ",\"data\":1,\"traceNames\":\"many\"");
        try (Connection connection = broker.database().connect();
                Statement statement = connection.createStatement()) {
            statement.execute(
                    "insert into queen_store.trace_names select n.tenant_id, n.name, n.created_at,"
                            + " gen_random_uuid() from queen_store.trace_names n,"
                            + " generate_series(1, 10000) where n.name = 'many'");
        }
        Json json = http.get("/api/v1/traces/by-name/many?limit=1").json();
        assertEquals("10000", json.text("total"));
        assertTrue(json.bool("capped"));
    }
}
