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

    /** Each route has its form, and none shows the files and statements of the server. */
    @Test
    @Contract({"http-11", "kv-24", "timer-7"})
    void wantOfRoomIsToldInTheFormOfEachRoute() throws SQLException {
        http.push("roomy", "p", "1", "2");
        Json popped = http.pop("roomy", "batch=1").json();
        execute(
                """
                create function public.full() returns trigger language plpgsql as $$
                begin
                    raise exception 'could not extend file "base/1/2"' using errcode = 'disk_full';
                end
                $$""");
        for (String table : List.of("segments", "kv", "timers", "queues", "cursors", "groups")) {
            execute(
                    "create trigger full_%1$s before insert or update on queen_store.%1$s for each"
                                    .formatted(table)
                            + " row execute function public.full()");
        }
        try {
            String told = "the database refuses work: its disk is full";
            refused(
                    http.put("/api/v1/kv/n/k", "{\"value\":1,\"forever\":true}"),
                    "{\"error\":\"kv_unavailable\",\"reason\":\"connection\",\"detail\":\"%s\"}"
                            .formatted(told));
            refused(
                    http.post(
                            "/api/v1/timers",
                            "[{\"op\":\"schedule\",\"queue\":\"q\",\"timerKey\":\"k\",\"txn\":\"t\","
                                    + "\"delayMs\":60000,\"payload\":\"MQ==\"}]"),
                    "{\"error\":\"timers_unavailable\",\"reason\":\"connection\",\"detail\":\"%s\"}"
                            .formatted(told));
            String plain = "{\"error\":\"%s\"}".formatted(told);
            refused(http.post("/api/v1/configure", "{\"queue\":\"roomy\"}"), plain);
            refused(http.pop("roomy", "consumerGroup=new&subscriptionMode=all"), plain);
            refused(
                    http.post(
                            "/api/v1/consumer-groups/__QUEUE_MODE__/queues/roomy/seek",
                            "{\"toEnd\":true}"),
                    plain);
            for (Http.Reply reply :
                    List.of(
                            http.pushItems(List.of(Http.item("roomy", "p", "x", "3"))),
                            http.post(
                                    "/api/v1/ack",
                                    "{\"partitionId\":\"%s\",\"transactionId\":\"%s\",\"leaseId\":\"%s\",\"status\":\"completed\"}"
                                            .formatted(
                                                    popped.text("messages", 0, "partitionId"),
                                                    popped.text("messages", 0, "transactionId"),
                                                    popped.text("messages", 0, "leaseId"))),
                            http.post(
                                    "/api/v1/transaction",
                                    "{\"operations\":[{\"type\":\"push\",\"items\":["
                                            + Http.item("roomy", "p", "y", "4")
                                            + "]}]}"))) {
                assertFalse(
                        reply.body().matches("(?s).*(base/1/2|PL/pgSQL|Where|ERROR).*"),
                        reply.body());
            }
        } finally {
            execute("drop function public.full() cascade");
        }
    }

    private static void refused(Http.Reply reply, String body) {
        assertEquals(503, reply.status(), reply.body());
        assertEquals(body, reply.body());
        assertTrue(reply.response().headers().firstValue("Retry-After").isPresent());
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
