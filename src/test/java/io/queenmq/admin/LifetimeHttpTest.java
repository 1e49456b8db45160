package io.queenmq.admin;

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
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Sums of all time: nothing but the thing itself moves them, and nothing takes them back. */
class LifetimeHttpTest {
    private static final String OVERVIEW = "/api/v1/resources/overview";

    private TestDatabase database;
    private TestBroker broker;
    private Http http;

    @BeforeEach
    void start() {
        database = TestDatabase.migrated();
        // What is counted is told when a test says so.
        broker =
                TestBroker.withEnvironment(
                        database,
                        Map.of("STATS_INTERVAL_MS", "3600000", "METRICS_FLUSH_MS", "1000"));
        http = broker.http();
    }

    @AfterEach
    void stop() {
        broker.close();
        database.close();
    }

    private Json told(String path) {
        assertEquals(200, http.post("/api/v1/stats/refresh", "").status());
        return http.get(path).json();
    }

    /** totalConsumed of a queue, and totalAcked with the filter of its name. */
    private String consumed(String queue) {
        Json status = told("/api/v1/status?queue=" + queue);
        return status.text("queues", 0, "totalConsumed")
                + " "
                + status.text("leases", "totalAcked");
    }

    private void seek(String queue, String body) {
        assertEquals(
                200,
                http.post("/api/v1/consumer-groups/g/queues/" + queue + "/seek", body).status());
    }

    @Test
    @Contract("status-1")
    void nothingButAcknowledgementsConsumes() {
        http.push("orders", "x", "1", "2", "3", "4", "5");
        String group = "subscriptionMode=all&consumerGroup=g";
        http.ack(http.pop("orders", group + "&batch=1").json(), 0, "completed");
        http.pop("orders", group + "&batch=1&autoAck=true");
        assertEquals("2 2", consumed("orders"));
        seek("orders", "{\"toEnd\":true}");
        assertEquals("2 2", consumed("orders"), "what a seek passes is not consumed");
        seek("orders", "{\"toBeginning\":true}");
        assertEquals("2 2", consumed("orders"), "what is put before a group again was consumed");
        http.pop("orders", group + "&batch=5&autoAck=true");
        http.pop("orders", "batch=1&autoAck=true");
        assertEquals("8 8", consumed("orders"), "of all groups");
        assertEquals(200, http.delete("/api/v1/consumer-groups/g").status());
        assertEquals("8 8", consumed("orders"), "a deleted group has consumed what it has");
    }

    @Test
    @Contract("status-1")
    void aDeadLetterIsNotConsumed() {
        http.push("orders", "x", "1", "2");
        Json popped = http.pop("orders", "subscriptionMode=all&consumerGroup=g&batch=2").json();
        http.ack(popped, 0, "dlq");
        assertEquals("0 0", consumed("orders"));
    }

    @Test
    @Contract("status-1")
    void whatSqlFunctionsAcknowledgeIsConsumed() throws SQLException {
        try (Connection connection = database.connect()) {
            TestDatabase.rows(
                    connection,
                    "select queen.push(array_fill('s'::text, array[3]), array_fill('p'::text,"
                            + " array[3]), array['1', '2', '3'])");
            TestDatabase.rows(
                    connection,
                    "select * from queen.pop('s', 'g', p_auto_ack => true, p_subscription_mode =>"
                            + " 'all')");
            assertEquals("1 1", consumed("s"));
            List<?> acked =
                    TestDatabase.rows(
                            connection,
                            "select a.success from queen.pop('s', 'g') p cross join lateral"
                                    + " queen.ack(p.partition_id, p.transaction_id, 'g',"
                                    + " p.lease_id) a");
            assertEquals(1, acked.size());
        }
        assertEquals("2 2", consumed("s"));
    }

    @Test
    @Contract({"resource-7", "status-1"})
    void whatWasDoneStaysDoneWhenTheQueueIsGone() {
        http.push("gone", "x", "1", "2");
        http.pop("gone", "batch=2&autoAck=true");
        http.push("orders", "x", "3");
        Json popped = http.pop("orders", "batch=1").json();
        http.ack(popped, 0, "failed");
        http.pop("orders", "batch=1&autoAck=true");
        Await.until(
                "the failure is reported",
                () -> told(OVERVIEW).text("messages", "failed").equals("1"));
        assertEquals("3 3 1", sums(told(OVERVIEW)));
        assertEquals("3 3 1", sums(told("/api/v1/status")));
        assertEquals(200, http.delete("/api/v1/resources/queues/gone").status());
        assertEquals("3 3 1", sums(told(OVERVIEW)));
        assertEquals("3 3 1", sums(told("/api/v1/status")));
        Json filtered = told("/api/v1/status?queue=orders");
        assertEquals("1", filtered.text("messages", "completed"));
        assertTrue(filtered.isNull("messages", "failed"));
    }

    private static String sums(Json answer) {
        return String.join(
                " ",
                answer.text("messages", "total"),
                answer.text("messages", "completed"),
                answer.text("messages", "failed"));
    }
}
