package io.queenmq.http;

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
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Queues whose payloads are stored encrypted: with a key, and at a broker that has none. */
class EncryptionHttpTest {
    private static final String KEY = "0f1e2d3c".repeat(8);

    private static TestDatabase database;
    private static TestBroker broker;
    private static TestBroker keyless;
    private static Http http;

    @BeforeAll
    static void start() {
        database = TestDatabase.migrated();
        broker = TestBroker.withEnvironment(database, Map.of("QUEEN_ENCRYPTION_KEY", KEY));
        keyless = TestBroker.on(database);
        http = broker.http();
    }

    @AfterAll
    static void stop() {
        broker.close();
        keyless.close();
        database.close();
    }

    private static String encrypted(String name) {
        String queue = name + "-" + UUID.randomUUID();
        configure(queue, true);
        return queue;
    }

    private static void configure(String queue, boolean encryption) {
        Http.Reply reply =
                http.post(
                        "/api/v1/configure",
                        "{\"queue\":\"%s\",\"options\":{\"encryptionEnabled\":%s}}"
                                .formatted(queue, encryption));
        assertEquals(200, reply.status(), reply.body());
        assertEquals(encryption, reply.json().bool("options", "encryptionEnabled"));
    }

    private static List<@Nullable Object[]> stored(String queue) throws SQLException {
        try (Connection connection = database.connect()) {
            return TestDatabase.rows(
                    connection,
                    "select convert_from(payload_bytes, 'UTF8'), encrypted from queen.messages where queue = ? order by"
                            + " \"offset\"",
                    queue);
        }
    }

    @Test
    @Contract("encrypt-1")
    void aPayloadIsStoredAsAnEnvelopeAndDeliveredAsItWas() throws SQLException {
        String queue = encrypted("secret");
        String payload = "{\"pin\": 1234, \"n\":1.50}";
        http.push(queue, "p", payload);
        @Nullable Object[] row = stored(queue).getFirst();
        String text = String.valueOf(row[0]);
        assertFalse(text.contains("1234"));
        assertEquals(List.of("encrypted", "iv", "authTag", "kid"), Json.parse(text).names());
        assertEquals(true, row[1]);
        Http.Reply popped = http.pop(queue, "");
        assertTrue(popped.body().contains("\"data\":" + payload + ","), popped.body());
    }

    @Test
    @Contract("encrypt-2")
    void theSwitchCountsForWhatIsPushedFromThenOn() throws SQLException {
        String queue = "switched-" + UUID.randomUUID();
        configure(queue, false);
        http.push(queue, "p", "1");
        configure(queue, true);
        http.push(queue, "p", "2");
        configure(queue, false);
        http.push(queue, "p", "3");
        assertEquals(
                List.of(false, true, false), stored(queue).stream().map(row -> row[1]).toList());
        assertEquals(List.of("1", "2", "3"), http.pop(queue, "").payloads());
    }

    @Test
    @Contract("encrypt-1")
    void duplicatesAreRecognisedAllTheSame() throws SQLException {
        String queue = encrypted("dedup");
        List<String> items = List.of(Http.item(queue, "p", "t1", "1"));
        Json first = http.pushItems(items).json();
        Json second = http.pushItems(items).json();
        assertEquals("queued", first.text(0, "status"));
        assertEquals("duplicate", second.text(0, "status"));
        assertEquals(first.text(0, "message_id"), second.text(0, "message_id"));
        assertEquals(1, stored(queue).size());
    }

    @Test
    @Contract("encrypt-3")
    void anEnvelopeOfTheClientItselfComesBackAsItWas() {
        String queue = encrypted("foreign");
        String envelope =
                "{\"encrypted\":\"AAAA\",\"iv\":\"AAAAAAAAAAAAAAAAAAAAAA==\",\"authTag\":"
                        + "\"AAAAAAAAAAAAAAAAAAAAAA==\"}";
        http.push(queue, "p", envelope);
        assertTrue(http.pop(queue, "").body().contains("\"data\":" + envelope));
        String plain = "plain-" + UUID.randomUUID();
        http.push(plain, "p", envelope);
        assertTrue(http.pop(plain, "").body().contains("\"data\":" + envelope));
    }

    @Test
    @Contract("encrypt-1")
    void aTransactionSealsWhatItPushes() throws SQLException {
        String queue = encrypted("transaction");
        Http.Reply reply =
                http.post(
                        "/api/v1/transaction",
                        "{\"operations\":[{\"type\":\"push\",\"items\":["
                                + Http.item(queue, "p", "t1", "{\"pin\":1234}")
                                + "]}]}");
        assertTrue(reply.json().bool("success"), reply.body());
        assertEquals(true, stored(queue).getFirst()[1]);
        assertEquals("1234", http.pop(queue, "").json().text("messages", 0, "data", "pin"));
    }

    @Test
    @Contract("encrypt-4")
    void aDeadLetterKeepsTheEnvelope() throws SQLException {
        String queue = encrypted("dead");
        http.push(queue, "p", "{\"pin\":1234}");
        http.ack(http.pop(queue, "").json(), 0, "dlq");
        try (Connection connection = database.connect()) {
            @Nullable Object[] letter =
                    TestDatabase.rows(
                                    connection,
                                    "select convert_from(payload_bytes, 'UTF8'), encrypted from queen.dead_letters where queue"
                                            + " = ?",
                                    queue)
                            .getFirst();
            assertTrue(String.valueOf(letter[0]).startsWith("{\"encrypted\":\""));
            assertEquals(true, letter[1]);
        }
    }

    @Test
    @Contract("encrypt-4")
    void aBrokerWithoutTheKeyStoresNothingInTheClear() throws SQLException {
        String queue = encrypted("keyless");
        Http.Reply refused =
                keyless.http()
                        .post(
                                "/api/v1/push",
                                "{\"items\":[" + Http.item(queue, "p", null, "1") + "]}");
        assertEquals(409, refused.status(), refused.body());
        assertTrue(refused.json().text("error").contains("QUEEN_ENCRYPTION_KEY"));
        Http.Reply mixed =
                keyless.http()
                        .pushItems(
                                List.of(
                                        Http.item(queue, "p", null, "1"),
                                        Http.item("plain-beside", "p", null, "1")));
        assertEquals(201, mixed.status());
        assertEquals("failed", mixed.json().text(0, "status"));
        assertEquals("queued", mixed.json().text(1, "status"));
        assertEquals(0, stored(queue).size());
        http.push(queue, "p", "1");
        assertEquals(
                List.of("encrypted", "iv", "authTag", "kid"),
                keyless.http().pop(queue, "").json().names("messages", 0, "data"));
    }

    @Test
    @Contract("option-11")
    void aBrokerWithoutAKeyRefusesTheSwitch() {
        Http.Reply refused =
                keyless.http()
                        .post(
                                "/api/v1/configure",
                                "{\"queue\":\"q\",\"options\":{\"encryptionEnabled\":true}}");
        assertEquals(400, refused.status());
        assertTrue(refused.json().text("error").startsWith("encryptionEnabled"));
    }
}
