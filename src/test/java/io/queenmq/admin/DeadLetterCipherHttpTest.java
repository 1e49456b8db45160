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
    private static final String PAYLOAD = "{\"pin\": 1234}";

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

    private static void encrypt(String queue) {
        Http.Reply reply =
                broker.http()
                        .post(
                                "/api/v1/configure",
                                "{\"queue\":\"%s\",\"options\":{\"encryptionEnabled\":true}}"
                                        .formatted(queue));
        assertEquals(200, reply.status(), reply.body());
    }

    private static void file(String queue) {
        encrypt(queue);
        filePlain(queue);
    }

    private static void filePlain(String queue) {
        Http http = broker.http();
        http.push(queue, "p", PAYLOAD);
        assertTrue(http.ack(http.pop(queue, "").json(), 0, "dlq").bool(0, "dlq"));
    }

    private static Http.Reply replay(TestBroker at, String from, String to) {
        return at.http()
                .post(
                        "/api/v1/dlq/"
                                + list(at, from).json().text("messages", 0, "id")
                                + "/replay",
                        "{\"queue\":\"" + to + "\"}");
    }

    private static void assertMoved(Http.Reply reply) {
        assertEquals(200, reply.status(), reply.body());
        assertEquals("moved", reply.json().text("result"));
    }

    /** Of the copies that replays left in a queue. */
    private static List<Boolean> encrypted(String queue) throws SQLException {
        try (Connection connection = database.connect()) {
            return TestDatabase.rows(
                            connection,
                            "select encrypted from queen.messages where queue = ? and"
                                    + " transaction_id like 'dlq:%' order by \"offset\"",
                            queue)
                    .stream()
                    .map(row -> (Boolean) row[0])
                    .toList();
        }
    }

    /** Byte for byte, to a consumer at the broker with the key. */
    private static void assertDelivered(String queue) {
        String body = broker.http().pop(queue, "autoAck=true").body();
        assertTrue(body.contains(PAYLOAD), body);
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
        assertEquals(List.of("encrypted", "iv", "authTag", "kid"), letter.at("data").names());
        assertFalse(letter.names().contains("isEncrypted"));
    }

    @Test
    @Contract("dlq-9")
    void whatWasPlainIsEncryptedOnItsWayIntoAQueueThatWantsIt() throws SQLException {
        filePlain("plain");
        encrypt("secret");
        assertMoved(replay(broker, "plain", "secret"));
        assertEquals(List.of(true), encrypted("secret"));
        assertDelivered("secret");
    }

    @Test
    @Contract("dlq-9")
    void whatWasPlainIsEncryptedWhenItsOwnQueueWantsItByNow() throws SQLException {
        filePlain("turned");
        encrypt("turned");
        Http.Reply reply = broker.http().post("/api/v1/dlq/replay", "{\"queue\":\"turned\"}");
        assertEquals("1", reply.json().text("moved"), reply.body());
        assertEquals(List.of(true), encrypted("turned"));
        assertDelivered("turned");
    }

    @Test
    @Contract("dlq-9")
    void whatWasEncryptedIsPlainInAQueueThatIs() throws SQLException {
        file("closed");
        assertMoved(replay(broker, "closed", "open"));
        assertEquals(List.of(false), encrypted("open"));
        assertDelivered("open");
    }

    @Test
    @Contract("dlq-9")
    void whatIsEncryptedAlreadyGoesAsItIs() throws SQLException {
        file("here");
        encrypt("there");
        assertMoved(replay(keyless, "here", "there"));
        assertEquals(List.of(true), encrypted("there"));
        assertDelivered("there");
    }

    @Test
    @Contract("dlq-9")
    void withoutTheKeyNothingIsStoredInTheClearThatMustNotBe() throws SQLException {
        filePlain("exposed");
        encrypt("sealed");
        Http.Reply refused = replay(keyless, "exposed", "sealed");
        assertEquals(409, refused.status(), refused.body());
        assertTrue(refused.body().contains("QUEEN_ENCRYPTION_KEY"), refused.body());
        assertEquals(List.of(), encrypted("sealed"));
        assertMoved(replay(broker, "exposed", "sealed"));
    }

    @Test
    @Contract("dlq-9")
    void anEnvelopeThatNobodyOpensStaysOne() throws SQLException {
        file("locked");
        assertMoved(replay(keyless, "locked", "unlocked"));
        assertEquals(List.of(true), encrypted("unlocked"));
        assertDelivered("unlocked");
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
                List.of("encrypted", "iv", "authTag", "kid"),
                list(keyless, "bytes").json().at("messages", 0).at("data").names());
    }
}
