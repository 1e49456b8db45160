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
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Dead letters of a queue that encrypts, at a broker with the key and at one without. */
class DeadLetterCipherHttpTest {
    private static TestDatabase database;
    private static TestBroker broker;
    private static TestBroker keyless;

    @BeforeAll
    static void start() {
        database = TestDatabase.migrated();
        broker =
                TestBroker.withEnvironment(
                        database, Map.of("QUEEN_ENCRYPTION_KEY", "0f1e2d3c".repeat(8)));
        keyless = TestBroker.on(database);
    }

    @AfterAll
    static void stop() {
        broker.close();
        keyless.close();
        database.close();
    }

    private static void file(String queue) {
        Http http = broker.http();
        http.post(
                "/api/v1/configure",
                "{\"queue\":\"" + queue + "\",\"options\":{\"encryptionEnabled\":true}}");
        http.push(queue, "p", "{\"pin\": 1234}");
        assertTrue(http.ack(http.pop(queue, "").json(), 0, "dlq").bool(0, "dlq"));
    }

    private static Http.Reply list(TestBroker at, String queue) {
        return at.http().get("/api/v1/dlq?queue=" + queue);
    }

    @Test
    @Contract("dlq-2")
    void thePayloadIsShownInTheClearAndSaidToBeEncrypted() {
        file("clear");
        Http.Reply reply = list(broker, "clear");
        assertTrue(reply.body().contains("\"data\":{\"pin\": 1234},"), reply.body());
        assertTrue(reply.json().at("messages", 0).bool("isEncrypted"));
    }

    @Test
    @Contract("dlq-2")
    void withoutTheKeyItIsShownAsStored() {
        file("stored");
        Json letter = list(keyless, "stored").json().at("messages", 0);
        assertEquals(List.of("encrypted", "iv", "authTag"), letter.at("data").names());
        assertFalse(letter.names().contains("isEncrypted"));
    }

    @Test
    void whatIsNoJsonIsBase64OfItselfAndNeverOfTheEnvelope() throws SQLException {
        file("bytes");
        try (Connection connection = database.connect()) {
            TestDatabase.rows(
                    connection,
                    "update queen_store.dead_letters d set flags = d.flags | 64 from"
                            + " queen_store.queues q where q.id = d.queue_id and q.name = 'bytes'"
                            + " returning d.flags");
        }
        Json letter = list(broker, "bytes").json().at("messages", 0);
        assertEquals("eyJwaW4iOiAxMjM0fQ==", letter.text("data"));
        assertEquals(
                List.of("encrypted", "iv", "authTag"),
                list(keyless, "bytes").json().at("messages", 0).at("data").names());
    }
}
