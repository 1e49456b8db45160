package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What charges the retry counter of a lane, what does not, and what clears it. */
class RetryHttpTest {
    private static TestDatabase database;

    private TestBroker broker;
    private Http http;

    @BeforeAll
    static void open() {
        database = TestDatabase.migrated();
    }

    @AfterAll
    static void close() {
        database.close();
    }

    @BeforeEach
    void start() {
        broker = TestBroker.on(database);
        http = broker.http();
    }

    @AfterEach
    void stop() {
        broker.close();
    }

    private static String queue() {
        return "retry-" + UUID.randomUUID();
    }

    private void configure(String queue, String options) {
        assertEquals(
                200,
                http.post(
                                "/api/v1/configure",
                                "{\"queue\":\"" + queue + "\",\"options\":{" + options + "}}")
                        .status());
    }

    /** Group, payload, reason and counter of every dead letter of the queue. */
    private static List<String> deadLetters(String queue) throws SQLException {
        try (Connection connection = database.connect()) {
            return TestDatabase.rows(
                            connection,
                            "select consumer_group || '|' || payload || '|' || error || '|' ||"
                                    + " retry_count from queen.dead_letters where queue = ?"
                                    + " order by failed_at",
                            queue)
                    .stream()
                    .map(row -> Objects.toString(row[0]))
                    .toList();
        }
    }

    private Json fail(String queue) {
        return http.ack(http.pop(queue, "batch=1&wait=true").json(), 0, "failed");
    }

    @Test
    @Contract({"retry-2", "pop-claim-2"})
    void aLeaseThatEndsIsFree() throws SQLException {
        String queue = queue();
        configure(queue, "\"retryLimit\":1");
        http.push(queue, "p", "1");
        http.pop(queue, "leaseSeconds=1");
        http.pop(queue, "leaseSeconds=1&wait=true&timeout=30000");
        assertEquals("false", fail(queue).text(0, "dlq"));
        assertEquals(List.of(), deadLetters(queue));
        assertEquals("true", fail(queue).text(0, "dlq"));
    }

    @Test
    @Contract({"retry-2", "retry-4"})
    void aBrokerThatStopsNeitherChargesNorForgets() throws SQLException {
        String queue = queue();
        configure(queue, "\"retryLimit\":2");
        http.push(queue, "p", "1");
        for (int charged = 0; charged < 2; charged++) {
            assertEquals("false", fail(queue).text(0, "dlq"));
            stop();
            start();
        }
        assertEquals(List.of(), deadLetters(queue));
        assertEquals("true", fail(queue).text(0, "dlq"));
        assertEquals(List.of("__QUEUE_MODE__|1|because|2"), deadLetters(queue));
    }

    @Test
    @Contract({"retry-1", "retry-5"})
    void messagesThatFailInTurnShareTheCounter() throws SQLException {
        String queue = queue();
        configure(queue, "\"retryLimit\":1");
        http.push(queue, "p", "1", "2");
        assertEquals("false", fail(queue).text(0, "dlq"));
        Json both = http.pop(queue, "batch=2").json();
        http.ack(both, 0, "completed");
        assertEquals("true", http.ack(both, 1, "failed").text(0, "dlq"));
        assertEquals(List.of("__QUEUE_MODE__|2|because|1"), deadLetters(queue));
    }

    @ParameterizedTest
    @CsvSource({"0 1, false", "'1 0', false", "1, false", "0, true"})
    @Contract("retry-3")
    void onlyABatchThatIsDoneClearsTheCounter(String order, boolean filed) throws SQLException {
        String queue = queue();
        configure(queue, "\"retryLimit\":1");
        http.push(queue, "p", "1", "2", "3");
        assertEquals("false", fail(queue).text(0, "dlq"));
        Json both = http.pop(queue, "batch=2&leaseSeconds=1").json();
        for (String index : order.split(" ", -1)) {
            assertTrue(http.ack(both, Integer.parseInt(index), "completed").bool(0, "success"));
        }
        assertEquals(Boolean.toString(filed), fail(queue).text(0, "dlq"));
    }

    @Test
    @Contract("retry-3")
    void aMessageThatIsGivenUpLeavesACleanCounter() throws SQLException {
        String queue = queue();
        configure(queue, "\"retryLimit\":1");
        http.push(queue, "p", "1", "2");
        for (String dlq : List.of("false", "true", "false", "true")) {
            assertEquals(dlq, fail(queue).text(0, "dlq"));
        }
        assertEquals(
                List.of("__QUEUE_MODE__|1|because|1", "__QUEUE_MODE__|2|because|1"),
                deadLetters(queue));
    }

    @Test
    @Contract("option-3")
    void aLimitHoldsFromTheNextFailureOnAndCountersStay() {
        String queue = queue();
        configure(queue, "\"retryLimit\":5");
        http.push(queue, "p", "1", "2");
        assertEquals("false", fail(queue).text(0, "dlq"));
        assertEquals("false", fail(queue).text(0, "dlq"));
        configure(queue, "\"retryLimit\":3");
        assertEquals("false", fail(queue).text(0, "dlq"), "two are charged");
        configure(queue, "\"retryLimit\":2");
        assertEquals("true", fail(queue).text(0, "dlq"), "three are charged");
    }

    @Test
    @Contract({"retry-10", "model-6"})
    void eachGroupFilesItsOwn() throws SQLException {
        String queue = queue();
        configure(queue, "\"retryLimit\":0");
        http.push(queue, "p", "1");
        for (String group : List.of("a", "b")) {
            String query = "subscriptionMode=all&consumerGroup=" + group;
            assertEquals(
                    "true", http.ack(http.pop(queue, query).json(), 0, "failed").text(0, "dlq"));
        }
        assertEquals(List.of("a|1|because|0", "b|1|because|0"), deadLetters(queue));
        assertEquals(List.of("1"), http.pop(queue, "").payloads(), "others are not concerned");
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            nullValues = "absent",
            value = {
                "absent | completed",
                "null | completed",
                "\"completed\" | completed",
                "\"success\" | completed",
                "\"acked\" | completed",
                "\"ok\" | completed",
                "\"retry\" | retry",
                "\"dlq\" | dlq",
                "\"failed\" | failed",
                "\"\" | failed",
                "\"nack\" | failed",
                "\"Completed\" | failed",
                "\"RETRY\" | failed",
                "\" ok\" | failed"
            })
    @Contract("ack-2")
    void aStatusIsExactlyItsSpelling(String status, String meaning) throws SQLException {
        String queue = queue();
        configure(queue, "\"retryLimit\":0");
        http.push(queue, "p", "1");
        Json popped = http.pop(queue, "").json();
        String field = status == null ? "" : ",\"status\":" + status;
        Json acked =
                http.post(
                                "/api/v1/ack",
                                "{\"transactionId\":\""
                                        + popped.text("messages", 0, "transactionId")
                                        + "\",\"partitionId\":\""
                                        + popped.text("partitionId")
                                        + "\",\"leaseId\":\""
                                        + popped.text("leaseId")
                                        + "\""
                                        + field
                                        + "}")
                        .json();
        assertTrue(acked.bool(0, "success"), acked.toString());
        List<String> filed = deadLetters(queue);
        assertEquals(meaning.equals("dlq") || meaning.equals("failed"), filed.size() == 1);
        assertEquals(meaning.equals("retry") ? 200 : 204, http.pop(queue, "").status());
    }
}
