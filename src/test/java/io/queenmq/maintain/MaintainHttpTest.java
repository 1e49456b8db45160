package io.queenmq.maintain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.LogCapture;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What clients see of the jobs; the tables are aged instead of waited for. */
class MaintainHttpTest {
    private static final Map<String, String> OFTEN =
            Map.of("RETENTION_INTERVAL", "100", "PARTITION_CLEANUP_INTERVAL", "1000");

    private final TestDatabase database = TestDatabase.migrated();
    private final TestBroker broker = TestBroker.withEnvironment(database, OFTEN);
    private final Http http = broker.http();
    private Connection connection;

    @BeforeEach
    void connect() throws SQLException {
        connection = database.connect();
    }

    @AfterEach
    void close() throws SQLException {
        connection.close();
        broker.close();
        database.close();
    }

    private @Nullable Object value(String sql, @Nullable Object... args) throws SQLException {
        return TestDatabase.rows(connection, sql, args).getFirst()[0];
    }

    private void configure(String queue, String options) {
        assertEquals(
                200,
                http.post(
                                "/api/v1/configure",
                                "{\"queue\":\"" + queue + "\",\"options\":{" + options + "}}")
                        .status());
    }

    /** Everything that is stored was stored two hours earlier. */
    private void age() throws SQLException {
        for (String sql :
                List.of(
                        "update queen_store.segments set created_at = created_at"
                                + " - interval '2 hours'",
                        "update queen_store.partitions set oldest_live_at = oldest_live_at"
                                + " - interval '2 hours', last_created_at = last_created_at"
                                + " - interval '2 hours', last_write_at = last_write_at"
                                + " - interval '2 hours'")) {
            TestDatabase.rows(connection, sql);
        }
    }

    private void awaitMessages(long count) {
        Await.until(
                "so many messages: " + count,
                () -> Long.valueOf(count).equals(value("select count(*) from queen.messages")));
    }

    @Test
    @Contract({"option-12", "option-15"})
    void whatIsTooOldIsPoppedNoMoreAndWhatIsNotIs() throws SQLException {
        http.push("orders", "a", "1", "2");
        http.push("orders", "b", "3");
        http.push("other", "a", "4");
        age();
        http.push("orders", "a", "5");
        configure("orders", "\"retentionEnabled\":true,\"retentionSeconds\":3600");
        awaitMessages(2);
        assertEquals(
                List.of("5"),
                http.pop("orders", "batch=10&partitions=5&autoAck=true&subscriptionMode=all")
                        .payloads());
        assertEquals(List.of("4"), http.pop("other", "batch=10&subscriptionMode=all").payloads());
        assertEquals(
                3L,
                value(
                        "select sum(messages)::bigint from queen_store.retention_history"
                                + " where rule = 'retention' and queue = 'orders'"));
        assertTrue(
                broker.metrics()
                        .contains("queen_maintain_expired_messages_total{rule=\"retention\"} 3.0"));
    }

    @Test
    void aRunThatRemovedSomethingHasALineInTheLog() throws SQLException {
        try (LogCapture log = new LogCapture()) {
            http.push("orders", "a", "1", "2");
            http.push("orders", "b", "3");
            age();
            configure("orders", "\"retentionEnabled\":true,\"retentionSeconds\":3600");
            awaitMessages(0);
            Await.until(
                    "a line about it",
                    () ->
                            log.text()
                                    .matches(
                                            "(?s).*INFO io\\.queenmq\\.maintain\\.RetentionLog retention"
                                                    + " swept queues=1 due=2 segments_deleted=2"
                                                    + " txns_purged=3 max_wait_evicted=0"
                                                    + " partitions_deleted=0 elapsed_ms=\\d+\n.*"));
        }
    }

    /** A job that looks and finds nothing says nothing. */
    @Test
    void aRoundWithoutEffectHasNoLine() {
        assertEquals(Optional.empty(), new RetentionRun().line(Duration.ZERO));
    }

    @Test
    @Contract("option-13")
    void whatNobodyHasReadStaysUntilItIsRead() throws SQLException {
        http.push("orders", "a", "1");
        age();
        configure("orders", "\"retentionEnabled\":true,\"completedRetentionSeconds\":60");
        Await.until(
                "the lane to be looked at",
                () ->
                        Boolean.TRUE.equals(
                                value(
                                        "select expiry_held_at is not null"
                                                + " from queen_store.partitions")));
        assertEquals(
                List.of("1"),
                http.pop("orders", "consumerGroup=g&autoAck=true&subscriptionMode=all").payloads());
        TestDatabase.rows(connection, "update queen_store.partitions set expiry_held_at = null");
        awaitMessages(0);
    }

    @Test
    void aPartitionThatWasRemovedIsMadeAnewByAPushAndServedToWhoWaitsForIt() throws SQLException {
        String pinned = "/api/v1/pop/queue/orders/partition/a";
        http.push("orders", "a", "1");
        assertEquals(List.of("1"), http.get(pinned + "?autoAck=true").payloads());
        Object number = value("select id from queen_store.partitions");
        removeTheLane();

        CompletableFuture<Http.Reply> waiting =
                http.getLater(pinned + "?wait=true&timeout=20000&autoAck=true");
        broker.awaitParked(1);
        http.push("orders", "a", "2");
        assertEquals(List.of("2"), waiting.join().payloads());
        assertNotEquals(number, value("select id from queen_store.partitions"));
        http.push("orders", "a", "3");
        assertEquals(List.of("3"), http.pop("orders", "autoAck=true").payloads());
    }

    private void removeTheLane() throws SQLException {
        age();
        configure("orders", "\"maxWaitTimeSeconds\":60");
        awaitMessages(0);
        TestDatabase.rows(
                connection,
                "update queen_store.partitions set created_at = created_at - interval '31 days',"
                        + " last_write_at = last_write_at - interval '31 days'");
        Await.until(
                "the lane to be removed",
                () -> Long.valueOf(0).equals(value("select count(*) from queen_store.partitions")));
    }

    @Test
    void whoWaitsForAPartitionWhenItIsRemovedIsServedWhatComesNext() throws SQLException {
        String pinned = "/api/v1/pop/queue/orders/partition/a";
        http.push("orders", "a", "1");
        assertEquals(List.of("1"), http.get(pinned + "?autoAck=true").payloads());
        CompletableFuture<Http.Reply> waiting =
                http.getLater(pinned + "?wait=true&timeout=50000&autoAck=true");
        broker.awaitParked(1);
        removeTheLane();
        // By one that has never heard of the lane that is gone.
        try (TestBroker other = TestBroker.withEnvironment(database, OFTEN)) {
            other.http().push("orders", "a", "2");
            assertEquals(List.of("2"), waiting.join().payloads());
        }
    }

    @Test
    void aDeletedQueueIsRemovedBehindTheAnswer() throws SQLException {
        http.push("orders", "a", "1");
        assertEquals(1, http.pop("orders", "subscriptionMode=all").json().size("messages"));
        value(
                "select queen_store.delete_queue("
                        + "'00000000-0000-0000-0000-000000000001', 'orders')");
        Await.until(
                "the queue to be removed",
                () -> Long.valueOf(0).equals(value("select count(*) from queen_store.queues")));
        assertEquals(0L, value("select count(*) from queen_store.partitions"));
        assertEquals(0L, value("select count(*) from queen_store.cursors"));
        http.push("orders", "a", "2");
        assertEquals(List.of("2"), http.pop("orders", "subscriptionMode=all").payloads());
    }

    @Test
    void anotherBrokerGoesOnWhereOneStops() throws SQLException {
        http.push("orders", "a", "1");
        configure("orders", "\"maxWaitTimeSeconds\":3600");
        TestBroker second = TestBroker.withEnvironment(database, OFTEN);
        age();
        awaitMessages(0);
        second.close();
        http.push("orders", "a", "2");
        age();
        awaitMessages(0);
        Await.until(
                "every job to rest",
                () ->
                        Long.valueOf(0)
                                .equals(
                                        value(
                                                "select count(*) from queen.jobs"
                                                        + " where state <> 'at rest'")));
        assertTrue(
                Boolean.TRUE.equals(
                        value("select runs >= 2 from queen.jobs where job = 'retention'")));
    }
}
