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
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What an acknowledgement does to the lane, and what it answers. */
class AckHttpTest {
    private static final String ALREADY =
            "already committed: the cursor moved past this message before this ack";
    private static final String UNRESOLVABLE =
            "unresolvable: transaction not in the ack window (hash purged or never pushed); if"
                    + " leased, the message redelivers";

    private static TestBroker broker;
    private static Http http;

    @BeforeAll
    static void start() {
        broker = TestBroker.start();
        http = broker.http();
    }

    @AfterAll
    static void stop() {
        broker.close();
    }

    /** A fresh queue with messages 0 to 9 in one lane. */
    private static String ten() {
        String queue = "ack-" + UUID.randomUUID();
        http.push(queue, "p", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9");
        return queue;
    }

    private static void configure(String queue, String options) {
        assertEquals(
                200,
                http.post(
                                "/api/v1/configure",
                                "{\"queue\":\"" + queue + "\",\"options\":{" + options + "}}")
                        .status());
    }

    private static void assertItem(Json item, boolean success, boolean released, boolean dlq) {
        assertEquals(success, item.bool("success"), item.toString());
        assertEquals(released, item.bool("leaseReleased"), item.toString());
        assertEquals(dlq, item.bool("dlq"), item.toString());
        assertEquals(success, item.isNull("error"), item.toString());
    }

    private static List<String> deadLetters(String queue) throws SQLException {
        try (Connection connection = broker.database().connect()) {
            return TestDatabase.rows(
                            connection,
                            "select convert_from(d.payload, 'UTF8') || '|' || d.error || '|' ||"
                                    + " d.retry_count from queen_store.dead_letters d join"
                                    + " queen_store.queues q on q.id = d.queue_id where q.name = ?"
                                    + " order by d.id",
                            queue)
                    .stream()
                    .map(row -> Objects.toString(row[0]))
                    .toList();
        }
    }

    @Test
    @Contract({"ack-3", "ack-5"})
    void anAnswerHasEveryFieldOfTheContract() {
        String queue = ten();
        Json popped = http.pop(queue, "batch=1").json();
        Json acked = http.ack(popped, 0, "completed");
        assertEquals(1, acked.size());
        assertEquals(
                List.of(
                        "index",
                        "transactionId",
                        "success",
                        "error",
                        "leaseReleased",
                        "dlq",
                        "noop"),
                acked.names(0));
        assertEquals("0", acked.text(0, "index"));
        assertEquals(popped.text("messages", 0, "transactionId"), acked.text(0, "transactionId"));
        assertItem(acked.at(0), true, true, false);
        assertFalse(acked.bool(0, "noop"));
    }

    @Test
    @Contract("ack-rule-5")
    void aCompletedBatchReleasesTheLease() {
        String queue = ten();
        Json popped = http.pop(queue, "batch=3").json();
        Json acked = http.ackBatch(popped, "completed", 0, 1, 2);
        for (int i = 0; i < 3; i++) {
            assertItem(acked.at(i), true, true, false);
        }
        assertEquals(List.of("3"), http.pop(queue, "batch=1").payloads());
    }

    @Test
    @Contract({"ack-5", "ack-rule-4", "ack-rule-5"})
    void aPartOfABatchKeepsTheLeaseForTheRest() {
        String queue = ten();
        Json popped = http.pop(queue, "batch=3").json();
        assertItem(http.ack(popped, 0, "completed").at(0), true, false, false);
        assertEquals(204, http.pop(queue, "").status());
        assertItem(http.ack(popped, 2, "completed").at(0), true, true, false);
        assertEquals(List.of("3"), http.pop(queue, "batch=1").payloads(), "1 was implied");
    }

    @Test
    @Contract({"http-20", "ack-7", "ack-error-1"})
    void anAckTwiceIsANoop() {
        String queue = ten();
        Json popped = http.pop(queue, "batch=2").json();
        http.ackBatch(popped, "completed", 0, 1);
        Json again = http.ackBatch(popped, "completed", 0, 1);
        for (int i = 0; i < 2; i++) {
            assertTrue(again.bool(i, "success"), again.toString());
            assertTrue(again.bool(i, "noop"), again.toString());
        }
    }

    @Test
    @Contract("ack-rule-12")
    void aRepeatedAckIsANoopEvenWhenTheNextBatchIsLeased() {
        String queue = ten();
        Json first = http.pop(queue, "batch=2").json();
        http.ackBatch(first, "completed", 0, 1);
        Json second = http.pop(queue, "batch=2").json();
        Json again = http.ackBatch(first, "completed", 0, 1);
        assertTrue(again.bool(0, "noop"), again.toString());
        assertItem(http.ackBatch(second, "completed", 0, 1).at(1), true, true, false);
    }

    @Test
    @Contract({"ack-rule-12", "ack-error-5"})
    void anAckAfterTheLeaseWasGivenBackIsNeitherASuccessNorSwallowed() throws SQLException {
        String queue = ten();
        Json popped = http.pop(queue, "batch=5").json();
        assertItem(http.ack(popped, 1, "failed").at(0), true, true, false);
        for (String status : new String[] {"completed", "failed", "dlq"}) {
            Json late = http.ack(popped, 3, status);
            assertItem(late.at(0), false, false, false);
            assertEquals("invalid or expired lease", late.text(0, "error"));
        }
        assertEquals(List.of(), deadLetters(queue));
        assertEquals(List.of("0"), http.pop(queue, "batch=1").payloads());
    }

    @Test
    @Contract({"ack-rule-7", "retry-2"})
    void retryRedeliversTheTailAndChargesNothing() {
        String queue = ten();
        for (int round = 0; round < 6; round++) {
            Json popped = http.pop(queue, "batch=3").json();
            assertEquals(List.of("0", "1", "2"), popped.each("messages", "data"));
            assertItem(http.ack(popped, 0, "retry").at(0), true, true, false);
        }
        assertEquals(List.of("0"), http.pop(queue, "batch=1").payloads());
    }

    @Test
    @Contract("ack-rule-6")
    void theLowestNackCutsTheBatch() {
        String queue = ten();
        Json popped = http.pop(queue, "batch=5").json();
        List<String> items = new ArrayList<>();
        String[] status = {"completed", "completed", "failed", "completed", "retry"};
        for (int i = 0; i < 5; i++) {
            items.add(
                    "{\"transactionId\":\""
                            + popped.text("messages", i, "transactionId")
                            + "\",\"partitionId\":\""
                            + popped.text("partitionId")
                            + "\",\"leaseId\":\""
                            + popped.text("leaseId")
                            + "\",\"status\":\""
                            + status[i]
                            + "\"}");
        }
        Json acked =
                http.post(
                                "/api/v1/ack/batch",
                                "{\"acknowledgments\":[" + String.join(",", items) + "]}")
                        .json();
        for (int i = 0; i < 5; i++) {
            assertItem(acked.at(i), true, true, false);
        }
        assertEquals(
                List.of("2", "3"),
                http.pop(queue, "batch=2").payloads(),
                "what was completed above the nack comes again");
    }

    @Test
    @Contract({"option-3", "ack-5", "ack-rule-8", "ack-rule-9", "retry-4", "retry-8"})
    void theFailureAfterTheLimitIsDeadLettered() throws SQLException {
        String queue = ten();
        configure(queue, "\"retryLimit\":2");
        for (int charged = 0; charged < 2; charged++) {
            Json popped = http.pop(queue, "batch=2").json();
            assertEquals(List.of("0", "1"), popped.each("messages", "data"));
            assertItem(http.ack(popped, 0, "failed").at(0), true, true, false);
        }
        assertEquals(List.of(), deadLetters(queue));
        Json popped = http.pop(queue, "batch=2").json();
        Json acked = http.ackBatch(popped, "failed", 0, 1);
        assertItem(acked.at(0), true, true, true);
        assertItem(acked.at(1), true, true, false);
        assertEquals(List.of("0|because|2"), deadLetters(queue));
        assertEquals(List.of("1"), http.pop(queue, "batch=1").payloads());
    }

    @Test
    @Contract({"option-3", "retry-4"})
    void aLimitOfZeroDeadLettersTheFirstFailure() throws SQLException {
        String queue = ten();
        configure(queue, "\"retryLimit\":0");
        Json popped = http.pop(queue, "batch=1").json();
        assertItem(http.ack(popped, 0, "failed").at(0), true, true, true);
        assertEquals(List.of("0|because|0"), deadLetters(queue));
    }

    @Test
    @Contract({"option-5", "ack-rule-9"})
    void withoutDeadLettersAnExhaustedMessageIsDropped() throws SQLException {
        String queue = ten();
        configure(queue, "\"retryLimit\":0,\"deadLetterQueue\":false,\"dlqAfterMaxRetries\":false");
        Json popped = http.pop(queue, "batch=1").json();
        assertItem(http.ack(popped, 0, "failed").at(0), true, true, false);
        assertEquals(List.of(), deadLetters(queue));
        assertEquals(List.of("1"), http.pop(queue, "batch=1").payloads());
    }

    @Test
    @Contract("ack-rule-10")
    void dlqFilesAtOnceWhateverTheBudget() throws SQLException {
        String queue = ten();
        Json popped = http.pop(queue, "batch=3").json();
        Json acked = http.ack(popped, 1, "dlq");
        assertItem(acked.at(0), true, true, true);
        assertEquals(List.of("1|because|0"), deadLetters(queue));
        assertEquals(
                List.of("2"),
                http.pop(queue, "batch=1").payloads(),
                "what stands before the dead letter is completed with it");
    }

    @Test
    @Contract("retry-3")
    void aCompletedBatchClearsTheBudget() throws SQLException {
        String queue = ten();
        configure(queue, "\"retryLimit\":1");
        http.ack(http.pop(queue, "batch=1").json(), 0, "failed");
        http.ack(http.pop(queue, "batch=1").json(), 0, "completed");
        http.ack(http.pop(queue, "batch=1").json(), 0, "failed");
        assertEquals(List.of(), deadLetters(queue), "the second message has a budget of its own");
    }

    @Test
    @Contract({"ack-rule-1", "ack-error-5"})
    void anExpiredLeaseIsRefused() {
        String queue = ten();
        Json first = http.pop(queue, "batch=2&leaseSeconds=1").json();
        Json second = http.pop(queue, "batch=2&wait=true&timeout=30000").json();
        Json acked = http.ackBatch(first, "completed", 0, 1);
        assertItem(acked.at(0), false, false, false);
        assertEquals("invalid or expired lease", acked.text(0, "error"));
        assertItem(http.ackBatch(second, "completed", 0, 1).at(0), true, true, false);
    }

    @ParameterizedTest
    @ValueSource(strings = {"a\\u0000", "\\ud800", "too long"})
    @Contract({"ack-3", "ack-error-3"})
    void anIdThatNoMessageCanHaveDoesNotRefuseItsNeighbours(String id) {
        String queue = ten();
        Json popped = http.pop(queue, "batch=1").json();
        String item =
                "{\"transactionId\":\"%s\",\"partitionId\":\"%s\",\"leaseId\":\"%s\"}"
                        .formatted("%s", popped.text("partitionId"), popped.text("leaseId"));
        String spoiled = item.formatted(id.equals("too long") ? "x".repeat(70_000) : id);
        String sound = item.formatted(popped.text("messages", 0, "transactionId"));
        String batch = "{\"acknowledgments\":[" + spoiled + "," + sound + "]}";
        Json acked = http.post("/api/v1/ack/batch", batch).json();
        assertEquals(UNRESOLVABLE, acked.text(0, "error"));
        assertItem(acked.at(1), true, true, false);
    }

    @Test
    @Contract("ack-rule-2")
    void withoutALeaseTheCursorMovesUnderTheHolder() {
        String queue = ten();
        Json popped = http.pop(queue, "batch=2").json();
        Json acked =
                http.post(
                                "/api/v1/ack",
                                "{\"transactionId\":\""
                                        + popped.text("messages", 1, "transactionId")
                                        + "\",\"partitionId\":\""
                                        + popped.text("partitionId")
                                        + "\",\"leaseId\":\"\"}")
                        .json();
        assertItem(acked.at(0), true, true, false);
        assertEquals(List.of("2"), http.pop(queue, "batch=1").payloads());
    }

    @Test
    @Contract("ack-rule-11")
    void aNackWithoutAnyLeasedBatchIsNotSwallowed() {
        String queue = ten();
        Json popped = http.pop(queue, "batch=2").json();
        http.ackBatch(popped, "completed", 0, 1);
        Json next = http.pop(queue, "batch=1").json();
        http.ack(next, 0, "completed");
        String id = leaseless(queue);
        Json acked =
                http.post(
                                "/api/v1/ack",
                                "{\"transactionId\":\""
                                        + id
                                        + "\",\"partitionId\":\""
                                        + popped.text("partitionId")
                                        + "\",\"status\":\"failed\"}")
                        .json();
        assertFalse(acked.bool(0, "success"), acked.toString());
        assertEquals("no leased batch", acked.text(0, "error"));
    }

    /** Pushes one more message that no pop has seen; returns its transactionId. */
    private static String leaseless(String queue) {
        String id = UUID.randomUUID().toString();
        http.pushItems(List.of(Http.item(queue, "p", id, "\"x\"")));
        return id;
    }

    @Test
    @Contract("ack-error-2")
    void aNackOfWhatIsCommittedIsRefused() {
        String queue = ten();
        Json popped = http.pop(queue, "batch=2").json();
        http.ack(popped, 0, "completed");
        Json acked = http.ack(popped, 0, "failed");
        assertFalse(acked.bool(0, "success"), acked.toString());
        assertEquals(ALREADY, acked.text(0, "error"));
    }

    @Test
    @Contract("ack-error-3")
    void anIdThatWasNeverPushedIsUnresolvable() {
        String queue = ten();
        Json popped = http.pop(queue, "batch=2").json();
        Json acked =
                http.post(
                                "/api/v1/ack",
                                "{\"transactionId\":\"never\",\"partitionId\":\""
                                        + popped.text("partitionId")
                                        + "\",\"leaseId\":\""
                                        + popped.text("leaseId")
                                        + "\"}")
                        .json();
        assertItem(acked.at(0), false, false, false);
        assertEquals(UNRESOLVABLE, acked.text(0, "error"));
    }

    @Test
    @Contract("ack-error-3")
    void anIdBeyondTheLeasedBatchIsUnresolvable() {
        String queue = "ack-" + UUID.randomUUID();
        http.pushItems(
                List.of(Http.item(queue, "p", "first", "1"), Http.item(queue, "p", "second", "2")));
        Json popped = http.pop(queue, "batch=1").json();
        Json acked =
                http.post(
                                "/api/v1/ack",
                                "{\"transactionId\":\"second\",\"partitionId\":\""
                                        + popped.text("partitionId")
                                        + "\",\"leaseId\":\""
                                        + popped.text("leaseId")
                                        + "\"}")
                        .json();
        assertEquals(UNRESOLVABLE, acked.text(0, "error"));
    }

    @Test
    @Contract("ack-error-4")
    void aGroupThatNeverPoppedTheLaneIsNotFound() {
        String queue = ten();
        Json popped = http.pop(queue, "batch=1").json();
        Json acked =
                http.post(
                                "/api/v1/ack",
                                "{\"transactionId\":\"x\",\"consumerGroup\":\"stranger\","
                                        + "\"partitionId\":\""
                                        + popped.text("partitionId")
                                        + "\"}")
                        .json();
        assertItem(acked.at(0), false, false, false);
        assertEquals("consumer not found", acked.text(0, "error"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"\"+0000000-0000-8000-8000-00000000002a\"", "\"x\"", "\"\"", "null"})
    @Contract("ack-error-6")
    void aPartitionIdThatIsNoneIsNamed(String partitionId) {
        Json acked =
                http.post(
                                "/api/v1/ack",
                                "{\"transactionId\":\"x\",\"partitionId\":" + partitionId + "}")
                        .json();
        assertItem(acked.at(0), false, false, false);
        assertEquals("invalid partitionId", acked.text(0, "error"));
    }

    @Test
    @Contract("ack-error-7")
    void aLaneOfNobodyIsNotOwned() {
        Json acked =
                http.post(
                                "/api/v1/ack",
                                "{\"transactionId\":\"x\",\"partitionId\":"
                                        + "\"00000000-0000-8000-8000-0000ffffffff\"}")
                        .json();
        assertItem(acked.at(0), false, false, false);
        assertEquals("partition not owned by tenant", acked.text(0, "error"));
    }

    @Test
    @Contract({"ack-4", "ack-error-5"})
    void groupsOfABatchAreIndependent() {
        String queue = "ack-" + UUID.randomUUID();
        http.push(queue, "a", "1");
        http.push(queue, "b", "2");
        Json popped = http.pop(queue, "partitions=0").json();
        String good =
                "{\"transactionId\":\""
                        + popped.text("messages", 0, "transactionId")
                        + "\",\"partitionId\":\""
                        + popped.text("messages", 0, "partitionId")
                        + "\",\"leaseId\":\""
                        + popped.text("leaseId")
                        + "\"}";
        String bad =
                "{\"transactionId\":\""
                        + popped.text("messages", 1, "transactionId")
                        + "\",\"partitionId\":\""
                        + popped.text("messages", 1, "partitionId")
                        + "\",\"leaseId\":\""
                        + UUID.randomUUID()
                        + "\"}";
        Json acked =
                http.post("/api/v1/ack/batch", "{\"acknowledgments\":[" + bad + "," + good + "]}")
                        .json();
        assertEquals("invalid or expired lease", acked.text(0, "error"));
        assertItem(acked.at(1), true, true, false);
    }

    @ParameterizedTest
    @ValueSource(strings = {"{}", "{\"acknowledgments\":[]}", "{\"acknowledgments\":null}"})
    @Contract("ack-3")
    void nothingToAcknowledgeIsNoError(String body) {
        Http.Reply reply = http.post("/api/v1/ack/batch", body);
        assertEquals(200, reply.status());
        assertEquals("[]", reply.body());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"acknowledgments\":[{\"status\":1}]}",
                "{",
                "",
                "{\"acknowledgments\":1}"
            })
    @Contract({"http-5", "ack-1"})
    void whatIsNoBodyIsRefused(String body) {
        Http.Reply reply = http.post("/api/v1/ack/batch", body);
        assertEquals(400, reply.status());
        assertTrue(reply.json().text("error").startsWith("bad body: "), reply.body());
    }
}
