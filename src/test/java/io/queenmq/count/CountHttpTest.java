package io.queenmq.count;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TcpProxy;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What brokers count of what they do for clients, as queen.counts shows it. */
class CountHttpTest {
    private static final Map<String, String> OFTEN = Map.of("STATS_INTERVAL_MS", "1000");

    private final TestDatabase database = TestDatabase.migrated();
    private Connection connection;

    @BeforeEach
    void connect() throws SQLException {
        connection = database.connect();
    }

    @AfterEach
    void close() throws SQLException {
        connection.close();
        database.close();
    }

    /** messages/pending/processing/completed/dead letters, by group; "" = the queue. */
    private String counts(String queue, String group) throws SQLException {
        List<@Nullable Object[]> rows =
                TestDatabase.rows(
                        connection,
                        "select concat_ws('/', messages, pending, processing, completed,"
                                + " dead_letters) from queen.counts"
                                + " where queue = ? and coalesce(consumer_group, '') = ?"
                                + " and age_seconds >= 0",
                        queue,
                        group);
        return rows.isEmpty() ? "none" : String.valueOf(rows.getFirst()[0]);
    }

    private void await(String queue, String group, String expected) {
        Await.until(
                "%s of %s: %s".formatted(group, queue, expected),
                () -> counts(queue, group).equals(expected));
    }

    @Test
    void whatTwoBrokersDoIsCountedOnce() throws SQLException {
        try (TestBroker one = TestBroker.withEnvironment(database, OFTEN);
                TestBroker other = TestBroker.withEnvironment(database, OFTEN)) {
            Http a = one.http();
            Http b = other.http();
            a.push("orders", "x", "1", "2", "3");
            b.push("orders", "y", "4", "5");
            await("orders", "", "5/5/0/0/0");
            Json first = a.pop("orders", "consumerGroup=g&subscriptionMode=all&batch=2").json();
            a.pop("orders", "consumerGroup=h&subscriptionMode=all&batch=1&autoAck=true");
            Json second = b.pop("orders", "consumerGroup=g&batch=10").json();
            await("orders", "g", "5/5/4/0/0");
            await("orders", "h", "5/4/0/1/0");
            b.ack(first, 0, "completed");
            a.ackBatch(second, "completed", 0, 1);
            await("orders", "g", "5/2/1/3/0");
            a.ack(first, 1, "dlq");
            await("orders", "g", "5/1/0/3/1");
            assertEquals("5/4/0/0/1", counts("orders", ""), "of the queue the slowest group");
        }
    }

    @Test
    void aTransactionIsCountedAndOneThatIsUndoneIsNot() throws SQLException {
        try (TestBroker broker = TestBroker.withEnvironment(database, OFTEN)) {
            Http http = broker.http();
            http.push("in", "x", "1", "2");
            Json popped = http.pop("in", "consumerGroup=g&subscriptionMode=all&batch=1").json();
            String bundle =
                    ("{\"operations\":[{\"type\":\"push\",\"items\":[{\"queue\":\"out\","
                                    + "\"payload\":7,\"transactionId\":\"once\"}]},"
                                    + "{\"type\":\"ack\",\"transactionId\":\"%s\","
                                    + "\"partitionId\":\"%s\",\"consumerGroup\":\"g\","
                                    + "\"leaseId\":\"%s\"}]}")
                            .formatted(
                                    popped.text("messages", 0, "transactionId"),
                                    popped.text("messages", 0, "partitionId"),
                                    popped.text("messages", 0, "leaseId"));
            assertEquals(200, http.post("/api/v1/transaction", bundle).status());
            await("in", "g", "2/1/0/1/0");
            await("out", "", "1/1/0/0/0");
            // A repeated message: nothing of it happens.
            http.post("/api/v1/transaction", bundle);
            http.push("out", "x", "8");
            await("out", "", "2/2/0/0/0");
            assertEquals("2/1/0/1/0", counts("in", "g"));
        }
    }

    @Test
    void whereNothingMovesNoRowIsWritten() throws SQLException {
        try (TestBroker broker =
                TestBroker.withEnvironment(
                        database,
                        Map.of(
                                "STATS_INTERVAL_MS",
                                "1000",
                                "RETAINED_BYTES_INTERVAL_MS",
                                "1000"))) {
            Http http = broker.http();
            http.push("still", "x", "1");
            http.pop("still", "consumerGroup=g&subscriptionMode=all&autoAck=true");
            // Found by a walk that began after all that: so is every later one.
            Await.until(
                    "the last thing there is to write",
                    () ->
                            "1/0/1 1/1/1"
                                    .equals(
                                            TestDatabase.rows(
                                                            connection,
                                                            "select string_agg(concat_ws('/',"
                                                                    + " partitions, partitions_behind,"
                                                                    + " messages), ' ' order by"
                                                                    + " consumer_group) from queen.counts"
                                                                    + " where queue = 'still'"
                                                                    + " and age_seconds >= 0")
                                                    .getFirst()[0]));
            String versions =
                    "select string_agg(c.xmin::text, ',' order by c.group_id) from"
                            + " queen_store.counts c join queen.queues q using (queue_id)"
                            + " where q.queue = 'still'";
            Object before = TestDatabase.rows(connection, versions).getFirst()[0];
            long recounts = runs("recount");
            http.push("busy", "x", "1");
            await("busy", "", "1/1/0/0/0");
            Await.until("walks", () -> runs("recount") > recounts + 1);
            assertEquals(before, TestDatabase.rows(connection, versions).getFirst()[0]);
        }
    }

    private long runs(String job) throws SQLException {
        Object runs =
                TestDatabase.rows(
                                connection, "select runs from queen_store.jobs where name = ?", job)
                        .getFirst()[0];
        return runs instanceof Long number ? number : -1;
    }

    @Test
    void aGroupThatWasMovedIsCountedByAWalk() throws SQLException {
        try (TestBroker broker = TestBroker.withEnvironment(database, OFTEN)) {
            Http http = broker.http();
            http.push("orders", "x", "1", "2", "3");
            http.pop("orders", "consumerGroup=g&subscriptionMode=all&batch=3&autoAck=true");
            await("orders", "g", "3/0/0/3/0");
            TestDatabase.rows(
                    connection,
                    "select * from queen_store.seek_queue("
                            + "'00000000-0000-0000-0000-000000000001', 'orders', 'g',"
                            + " 'beginning', null)");
            assertEquals("none", counts("orders", "g"), "until the walk its age is -1");
            await("orders", "g", "3/3/0/0/0");
        }
    }

    @Test
    void whatAKilledBrokerHasNotToldIsFoundByAWalk() throws Exception {
        try (TcpProxy link = new TcpProxy(database.host(), database.port())) {
            TestBroker killed =
                    TestBroker.withEnvironment(
                            database,
                            Map.of(
                                    "PG_PORT",
                                    Integer.toString(link.port()),
                                    "STATS_INTERVAL_MS",
                                    "3600000"));
            killed.http().push("orders", "x", "1", "2", "3");
            killed.http().pop("orders", "consumerGroup=g&subscriptionMode=all&batch=2");
            cut(link);
            killed.close();
        }
        assertNotEquals("3/3/0/0/0", counts("orders", ""));
        try (TestBroker broker =
                TestBroker.withEnvironment(
                        database,
                        Map.of(
                                "STATS_INTERVAL_MS",
                                "1000",
                                "RETAINED_BYTES_INTERVAL_MS",
                                "1000"))) {
            await("orders", "", "3/3/2/0/0");
            await("orders", "g", "3/3/2/0/0");
            String lagging =
                    "select concat_ws('/', consumer_group, partition, lag)"
                            + " from queen.lagging_partitions";
            assertEquals("g/x/3", TestDatabase.rows(connection, lagging).getFirst()[0]);
            broker.http().push("orders", "x", "4");
            await("orders", "g", "4/4/2/0/0");
        }
    }

    private static void cut(TcpProxy link) throws IOException {
        link.refuse(true);
        link.cut();
    }
}
