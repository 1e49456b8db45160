package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** One request, several fates: what the database refuses is told item by item. */
class DatabaseRefusesHttpTest {
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

    private static void execute(String sql) throws SQLException {
        try (Connection connection = broker.database().connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static void refuse(String table, String condition) throws SQLException {
        execute(
                """
                create function public.refuse() returns trigger language plpgsql as $$
                begin
                    if %s then
                        raise exception 'refused' using errcode = 'check_violation';
                    end if;
                    return new;
                end
                $$;
                create trigger refuse before insert or update on queen_store.%s
                for each row execute function public.refuse()
                """
                        .formatted(condition, table));
    }

    private static void accept() throws SQLException {
        execute("drop function public.refuse() cascade");
    }

    private static long lane(String queue, String partition) throws SQLException {
        try (Connection connection = broker.database().connect()) {
            return (Long)
                    TestDatabase.rows(
                                    connection,
                                    "select p.id from queen_store.partitions p join"
                                            + " queen_store.queues q on q.id = p.queue_id where"
                                            + " q.name = ? and p.name = ?",
                                    queue,
                                    partition)
                            .getFirst()[0];
        }
    }

    @Test
    @Contract({"push-11", "push-16", "push-17", "push-18", "push-19", "dedup-5"})
    void queuedDuplicateAndFailedStandInOneAnswer() throws SQLException {
        Json originals =
                http.pushItems(
                                List.of(
                                        Http.item("mixed", "good", "known", "0"),
                                        Http.item("mixed", "bad", "known", "0")))
                        .json();
        List<String> items =
                List.of(
                        Http.item("mixed", "bad", "b-1", "1"),
                        Http.item("mixed", "good", "g-1", "2"),
                        Http.item("mixed", "good", "known", "3"),
                        Http.item("mixed", "good", "g-1", "4"),
                        Http.item("mixed", "bad", "known", "5"),
                        Http.item("mixed", "bad", "b-1", "6"));
        refuse("segments", "new.partition_id = " + lane("mixed", "bad"));
        Json mixed;
        try {
            mixed = http.pushItems(items).json();
        } finally {
            accept();
        }
        assertEquals(
                List.of("failed", "queued", "duplicate", "duplicate", "duplicate", "failed"),
                statuses(mixed));
        String none = "00000000-0000-0000-0000-000000000000";
        assertEquals(none, mixed.text(0, "message_id"));
        assertEquals(originals.text(0, "message_id"), mixed.text(2, "message_id"));
        assertEquals(mixed.text(1, "message_id"), mixed.text(3, "message_id"));
        assertEquals(originals.text(1, "message_id"), mixed.text(4, "message_id"));
        assertEquals(none, mixed.text(5, "message_id"));
        assertEquals("b-1", mixed.text(5, "transaction_id"));
        assertEquals(
                List.of("queued", "duplicate", "duplicate", "duplicate", "duplicate", "duplicate"),
                statuses(http.pushItems(items).json()));
        assertEquals(List.of("0", "1"), payloads("bad"));
        assertEquals(List.of("0", "2"), payloads("good"));
    }

    private static List<String> statuses(Json pushed) {
        return List.of(
                pushed.text(0, "status"),
                pushed.text(1, "status"),
                pushed.text(2, "status"),
                pushed.text(3, "status"),
                pushed.text(4, "status"),
                pushed.text(5, "status"));
    }

    private static List<String> payloads(String partition) {
        return http.get("/api/v1/pop/queue/mixed/partition/" + partition).payloads();
    }

    @Test
    @Contract({"ack-error-9", "ack-3", "ack-4"})
    void anAckWhoseCommitFailsSaysSoAndItsNeighboursDoNotNotice() throws SQLException {
        http.push("acks", "bad", "1");
        http.push("acks", "good", "2");
        Json bad = http.get("/api/v1/pop/queue/acks/partition/bad").json();
        Json good = http.get("/api/v1/pop/queue/acks/partition/good").json();
        refuse("cursors", "new.partition_id = " + lane("acks", "bad"));
        Json refused;
        try {
            refused = http.ack(bad, 0, "completed");
            assertEquals("true", http.ack(good, 0, "completed").text(0, "success"));
        } finally {
            accept();
        }
        assertEquals(
                "[{index=0, transactionId="
                        + bad.text("messages", 0, "transactionId")
                        + ", success=false, error=ack flush failed; lease will expire and"
                        + " redeliver, leaseReleased=false, dlq=false, noop=false}]",
                refused.toString());
        assertEquals("true", http.ack(bad, 0, "completed").text(0, "leaseReleased"));
    }
}
