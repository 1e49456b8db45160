package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Transactions that take no effect: why, and how the answer says so. */
class TransactRefusalsHttpTest extends TransactScene {
    // What an ack cannot do.

    @Contract("tx-reason-2")
    @Test
    void anIdThatResolvesNowhereRollsBack() {
        Json popped = popped();
        assertRolledBack(
                send(
                        push(target, null, "1"),
                        ack(popped, 0, leaseOf(popped) + ",\"transactionId\":\"never\"")),
                200,
                "ack_rejected",
                "QTXN ack references unknown transactionId; transaction rolled back");
        assertEquals(List.of(), stored(target));
    }

    @Contract("tx-reason-3")
    @Test
    void anIdBehindTheBatchRollsBackAndSaysSo() {
        Json popped = popped();
        String behind =
                lines(
                                "select transaction_id from queen.messages where queue = ? and payload = '4'",
                                source)
                        .getFirst();
        assertRolledBack(
                send(ack(popped, 0, leaseOf(popped) + ",\"transactionId\":\"" + behind + "\"")),
                200,
                "ack_rejected",
                "QTXN ack failed for partition "
                        + popped.text("partitionId")
                        + " group \"__QUEUE_MODE__\": unresolvable");
    }

    @Contract("tx-reason-3")
    @Test
    void aGroupThatNeverPoppedRollsBack() {
        Json popped = popped();
        assertRolledBack(
                send(ack(popped, 0, ",\"consumerGroup\":\"strangers\"")),
                200,
                "ack_rejected",
                "QTXN ack failed for partition "
                        + popped.text("partitionId")
                        + " group \"strangers\": consumer not found");
    }

    @Contract("tx-reason-4")
    @ParameterizedTest
    @ValueSource(
            strings = {
                "00000000-0000-8000-8000-000fffffffff",
                "11111111-2222-4333-8444-555555555555"
            })
    void anUnknownPartitionRollsBack(String partition) {
        assertRolledBack(
                send(
                        "{\"type\":\"ack\",\"transactionId\":\"x\",\"partitionId\":\""
                                + partition
                                + "\"}",
                        push(target, null, "1")),
                200,
                "ack_rejected",
                "QTXN ack references partition " + partition + " not owned by this tenant");
        assertEquals(List.of(), stored(target));
    }

    @Contract("tx-reason-4")
    @Test
    void aPartitionOfAnotherTenantRollsBack() {
        try (TestBroker shared = TestBroker.withTenancy()) {
            Http other = shared.http().as("22222222-2222-4222-8222-222222222222");
            other.push("q", "p", "0");
            Json popped = other.pop("q", "").json();
            Reply reply =
                    shared.http()
                            .post(
                                    PATH,
                                    "{\"operations\":[" + ack(popped, 0, leaseOf(popped)) + "]}");
            assertRolledBack(reply, 200, "ack_rejected", "QTXN ack references partition");
            assertTrue(other.ack(popped, 0, "completed").bool(0, "success"));
        }
    }

    // What is refused before anything is asked.

    @Contract({"tx-2", "tx-4", "tx-14", "tx-reason-5"})
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '`',
            value = {
                "{}|transaction requires an operations array",
                "{\"operations\":null}|transaction requires an operations array, got null",
                "{\"operations\":{}}|transaction requires an operations array, got an object",
                "{\"kv\":[],\"timers\":null}|transaction requires an operations array",
                "{\"operations\":[],\"kv\":{}}|kv must be an array, got an object",
                "{\"operations\":[],\"timers\":7}|timers must be an array, got a number",
                "{\"operations\":[],\"kv\":[{\"op\":\"put\"}]}|kv_bad_request: kv[0].value is"
                        + " required",
                "{\"operations\":{},\"timers\":[]}|transaction requires an operations array",
                "{\"operations\":[7]}|operations[0] must be an object, got a number",
                "{\"operations\":[{}]}|operations[0].type is required",
                "{\"operations\":[{\"type\":5}]}|operations[0].type must be a string",
                "{\"operations\":[{\"type\":\"pop\"}]}|operations[0].type must be push or ack",
                "{\"operations\":[{\"type\":\"kv\"}]}|operations[0].type must be push or ack, got"
                        + " kv: kv and timers are arrays beside operations",
                "{\"operations\":[{\"type\":\"push\",\"items\":7}]}|operations[0].items must be an"
                        + " array",
                "{\"operations\":[{\"type\":\"push\",\"items\":[7]}]}|operations[0].items[0] must"
                        + " be an object",
                "{\"operations\":[{\"type\":\"push\"}]}|operations[0].queue must be 1 to 1024",
                "{\"operations\":[{\"type\":\"push\",\"queue\":\"\"}]}|operations[0].queue must be"
                        + " 1 to 1024",
                "{\"operations\":[{\"type\":\"push\",\"items\":[{\"queue\":\"\"}]}]}"
                        + "|operations[0].items[0].queue must be 1 to 1024 bytes, got 0",
                "{\"operations\":[{\"type\":\"push\",\"queue\":\"a\\u0000\"}]}|operations[0].queue"
                        + " must not contain a NUL",
                "{\"operations\":[{\"type\":\"push\",\"queue\":\"q\",\"transactionId\":5}]}"
                        + "|operations[0].transactionId must be a string, got a number",
                "{\"operations\":[{\"type\":\"ack\",\"transactionId\":\"x\",\"partitionId\":"
                        + "\"nope\"}]}|operations[0].partitionId must be a UUID, got nope",
                "{\"operations\":[{\"type\":\"ack\",\"transactionId\":\"x\"}]}"
                        + "|operations[0].partitionId must be a UUID",
                "{\"operations\":[{\"type\":\"ack\",\"partitionId\":"
                        + "\"00000000-0000-8000-8000-000000000001\"}]}|operations[0].transactionId"
                        + " is required",
                "{\"operations\":[{\"type\":\"ack\",\"transactionId\":\"x\",\"partitionId\":"
                        + "\"00000000-0000-8000-8000-000000000001\",\"status\":5}]}"
                        + "|operations[0].status must be a string, got a number",
            })
    void aBodyThatIsNoTransactionIsABadRequest(String body, String error) {
        assertRolledBack(http.post(PATH, body), 400, "bad_request", error);
    }

    @Contract({"http-5", "tx-reason-7"})
    @ParameterizedTest
    @ValueSource(strings = {"", "{", "[]", "{\"operations\":[}", "{\"operations\":[]} {}"})
    void whatIsNoJsonIsABadBody(String body) {
        Reply reply = http.post(PATH, body);
        assertEquals(400, reply.status(), reply.body());
        assertEquals(List.of("error"), reply.json().names());
        assertTrue(reply.json().text("error").startsWith("bad body: "), reply.body());
    }

    // Bounds.

    @Contract("tx-12")
    @Test
    void moreThan256LanesAreRefusedAndNoneIsMade() {
        List<String> items = new ArrayList<>();
        for (int i = 0; i < 257; i++) {
            items.add(Http.item(target, "lane" + i, null, "1"));
        }
        assertRolledBack(
                send("{\"type\":\"push\",\"items\":[" + String.join(",", items) + "]}"),
                400,
                "bad_request",
                "a transaction takes at most 256 partitions to push to, got 257");
        assertEquals(
                List.of(), lines("select name from queen_store.queues where name = ?", target));
        items.removeLast();
        Json json =
                committed(send("{\"type\":\"push\",\"items\":[" + String.join(",", items) + "]}"));
        assertEquals(256, json.size("results"));
        assertEquals(256, stored(target).size());
    }

    @Contract("tx-12")
    @Test
    void moreThan10000StepsAreRefused() {
        List<String> items = new ArrayList<>();
        for (int i = 0; i < 10_001; i++) {
            items.add(Http.item(target, "p", null, "1"));
        }
        assertRolledBack(
                send("{\"type\":\"push\",\"items\":[" + String.join(",", items) + "]}"),
                400,
                "bad_request",
                "a transaction takes at most 10000 push items and acks, got 10001");
        items.removeLast();
        assertEquals(
                10_000,
                committed(send("{\"type\":\"push\",\"items\":[" + String.join(",", items) + "]}"))
                        .size("results"));
    }

    @Contract("tx-12")
    @Test
    void whatIsBeyondTheBoundsIsCountedAndNotKept() {
        assertRolledBack(
                http.post(PATH, "{\"operations\":[" + "{},".repeat(99_999) + "{}]}"),
                400,
                "bad_request",
                "a transaction takes at most 10000 push items and acks, got 100000");
        assertRolledBack(
                send("{\"type\":\"push\",\"items\":[" + "7,".repeat(99_999) + "7]}"),
                400,
                "bad_request",
                "a transaction takes at most 10000 push items and acks, got 100000");
        assertRolledBack(
                http.post(
                        PATH,
                        "{\"operations\":[],\"requiredLeases\":[" + "0,".repeat(10_000) + "0]}"),
                400,
                "bad_request",
                "a transaction takes at most 10000 requiredLeases, got 10001");
    }

    @Contract("tx-2")
    @Test
    void itemsOfItemsAreNotRead() {
        String deep = "{\"items\":[".repeat(4_000) + "]}".repeat(4_000);
        assertRolledBack(send(deep), 400, "bad_request", "operations[0].type is required");
    }

    @Contract("tx-12")
    @Test
    void moreThan16MebibytesOfPayloadAreRefused() {
        String eight = "\"" + "x".repeat((8 << 20) - 2) + "\"";
        assertRolledBack(
                send(push(target, null, eight), push(target, null, eight), push(target, null, "1")),
                400,
                "bad_request",
                "a transaction takes at most 16777216 bytes of payload, got 16777217");
        committed(send(push(target, null, eight), push(target, null, eight)));
        assertEquals(2, stored(target).size());
    }

    @Contract("tx-12")
    @Test
    void moreThan256CursorsAreRefused() {
        List<String> acks = new ArrayList<>();
        for (int i = 1; i <= 257; i++) {
            acks.add(
                    "{\"type\":\"ack\",\"transactionId\":\"x\",\"partitionId\":\"00000000-0000-8000-8000-%012x\"}"
                            .formatted(i));
        }
        assertRolledBack(
                send(acks.toArray(String[]::new)),
                400,
                "bad_request",
                "a transaction takes at most 256 partitions and groups to ack, got 257");
    }

    // What is in the way.

    @Contract("tx-11")
    @Test
    void aLaneHeldByAnOpenTransactionIsWaitedFor() throws SQLException {
        http.push(target, "p", "0");
        CompletableFuture<Reply> sent;
        try (Connection holder = broker.database().connect()) {
            holder.setAutoCommit(false);
            TestDatabase.rows(holder, "select from queen.push(?, 'p', '1')", target);
            sent = http.postLater(PATH, "{\"operations\":[" + push(target, null, "2") + "]}");
            awaitWaiter();
            holder.commit();
        }
        committed(sent.join());
        assertEquals(List.of("0", "1", "2"), stored(target));
    }

    @Contract({"tx-11", "tx-reason-6"})
    @Test
    void aLaneHeldTooLongIsADatabaseErrorToTryAgainLater() throws SQLException {
        http.push(target, "p", "0");
        try (Connection holder = broker.database().connect()) {
            holder.setAutoCommit(false);
            TestDatabase.rows(holder, "select from queen.push(?, 'p', '1')", target);
            Reply reply = send(push(target, "again", "2"));
            assertRolledBack(reply, 503, "db_error", "rows this request needs are held");
            assertEquals("1", reply.response().headers().firstValue("Retry-After").orElseThrow());
            holder.rollback();
        }
        committed(send(push(target, "again", "2")));
        assertEquals(List.of("0", "2"), stored(target));
    }

    @Contract("tx-reason-14")
    @Test
    void whatTheDatabaseRefusesForReasonsOfItsOwnIsAnAnswerToo() throws SQLException {
        http.push(source, "p", "0");
        Json popped = http.pop(source, "").json();
        try (Connection operator = broker.database().connect()) {
            Lines.lines(
                    operator,
                    """
                    create function public.no_poison() returns trigger language plpgsql as $$
                    begin
                        if position('poison'::bytea in new.frames) > 0 then
                            raise exception 'this one is poison';
                        end if;
                        return new;
                    end $$;
                    create trigger no_poison before insert on queen_store.segments
                        for each row execute function public.no_poison()
                    """);
            try {
                assertRolledBack(
                        send(
                                push(target, null, "\"good\""),
                                push(target + "-2", null, "\"poison\""),
                                ack(popped, 0, leaseOf(popped))),
                        200,
                        "db_error",
                        "internal error");
            } finally {
                Lines.lines(operator, "drop trigger no_poison on queen_store.segments");
            }
        }
        assertEquals(List.of(), stored(target));
        assertTrue(http.ack(popped, 0, "completed").bool(0, "success"));
    }

    @Contract("tx-13")
    @Test
    void aDeletedQueueIsMadeAgain() {
        committed(send(push(target, "t", "1")));
        deleteBehindTheBroker();
        committed(send(push(target, "t", "2")));
        assertEquals(List.of("2"), stored(target));
    }

    private static void awaitWaiter() {
        Await.until(
                "a transaction that waits for a lane",
                () ->
                        !lines(
                                        "select 1 from pg_stat_activity where wait_event_type ="
                                                + " 'Lock' and query like ? and datname ="
                                                + " current_database()",
                                        "%transact%")
                                .isEmpty());
    }

    private void deleteBehindTheBroker() {
        lines("select queen_store.delete_queue('00000000-0000-0000-0000-000000000001', ?)", target);
    }
}
