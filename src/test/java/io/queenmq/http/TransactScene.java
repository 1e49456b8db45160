package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Http;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/** A broker, and the words of a transaction, for the tests of its route. */
abstract class TransactScene {
    static final String PATH = "/api/v1/transaction";
    static final Pattern UUID_7 =
            Pattern.compile("[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}");

    static TestBroker broker;
    static Http http;

    /** Where messages are taken from, and where they are put; fresh for every test. */
    String source;

    String target;

    @BeforeAll
    static void start() {
        broker = TestBroker.start();
        http = broker.http();
    }

    @AfterAll
    static void stop() {
        broker.close();
    }

    @BeforeEach
    void names() {
        String test = UUID.randomUUID().toString();
        source = "in-" + test;
        target = "out-" + test;
    }

    static Reply send(String... operations) {
        return sendWith("", operations);
    }

    /** With more top-level fields, each followed by a comma. */
    static Reply sendWith(String fields, String... operations) {
        return http.post(
                PATH, "{" + fields + "\"operations\":[" + String.join(",", operations) + "]}");
    }

    static Json committed(Reply reply) {
        assertEquals(200, reply.status(), reply.body());
        Json json = reply.json();
        assertTrue(json.bool("success"), reply.body());
        assertEquals(List.of("transactionId", "success", "results"), json.names());
        return json;
    }

    static void assertRolledBack(Reply reply, int status, String reason, String error) {
        assertEquals(status, reply.status(), reply.body());
        Json json = reply.json();
        assertEquals(
                List.of("transactionId", "success", "reason", "error", "results"), json.names());
        assertFalse(json.bool("success"));
        assertEquals(reason, json.text("reason"), reply.body());
        assertTrue(json.text("error").startsWith(error), reply.body());
        assertEquals(0, json.size("results"));
    }

    static String push(String queue, @Nullable String transactionId, String payload) {
        return "{\"type\":\"push\",\"items\":["
                + Http.item(queue, "p", transactionId, payload)
                + "]}";
    }

    static String ack(Json popped, int index, String more) {
        Json message = popped.at("messages", index);
        return "{\"type\":\"ack\",\"transactionId\":\""
                + message.text("transactionId")
                + "\",\"partitionId\":\""
                + message.text("partitionId")
                + "\""
                + more
                + "}";
    }

    static String leaseOf(Json popped) {
        return ",\"leaseId\":\"" + popped.text("leaseId") + "\"";
    }

    static String required(String... leases) {
        return "\"requiredLeases\":[\"" + String.join("\",\"", leases) + "\"],";
    }

    /** Messages 0 to 4 of the source, three of them leased. */
    Json popped() {
        http.push(source, "p", "0", "1", "2", "3", "4");
        return http.pop(source, "batch=3").json();
    }

    static void configure(String queue, String options) {
        assertEquals(
                200,
                http.post(
                                "/api/v1/configure",
                                "{\"queue\":\"" + queue + "\",\"options\":{" + options + "}}")
                        .status());
    }

    static List<String> stored(String queue) {
        return lines(
                "select payload from queen.messages where queue = ? order by partition, \"offset\"",
                queue);
    }

    static List<String> lines(String sql, String queue) {
        try (Connection connection = broker.database().connect()) {
            return TestDatabase.rows(connection, sql, queue).stream()
                    .map(row -> Objects.toString(row[0]))
                    .toList();
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    static void expire(String queue) {
        try (Connection connection = broker.database().connect()) {
            TestDatabase.rows(
                    connection,
                    "update queen_store.cursors set lease_expires_at = clock_timestamp() -"
                            + " interval '1 second' where lease_id is not null and partition_id in"
                            + " (select number from queen.partitions where queue = ?)",
                    queue);
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }
}
