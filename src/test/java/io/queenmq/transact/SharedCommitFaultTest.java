package io.queenmq.transact;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.PostgresLink;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/**
 * Transactions that come together share a call and its commit, and none of them can tell: not when
 * one of them cannot take effect, not when the answer is lost.
 */
class SharedCommitFaultTest extends TransactScene {
    /** One call at a time: who comes meanwhile shares the next. */
    @Override
    Bounds bounds() {
        return Bounds.usual().withCalls(1).withPatience(Duration.ofSeconds(20));
    }

    private static String body(String operations, String keys) {
        return "{\"operations\":[" + operations + "],\"kv\":[" + keys + "]}";
    }

    private static String push(String lane, String id) {
        return "{\"type\":\"push\",\"queue\":\"out\",\"partition\":\"%s\",\"transactionId\":\"%s\",\"payload\":\"%s\"}"
                .formatted(lane, id, id);
    }

    private static String ack(Json popped, int message, String lease) {
        return "{\"type\":\"ack\",\"transactionId\":\"%s\",\"partitionId\":\"%s\",\"leaseId\":\"%s\"}"
                .formatted(
                        popped.text("messages", message, "transactionId"),
                        popped.text("messages", message, "partitionId"),
                        lease);
    }

    private static String incr(String key) {
        return "{\"op\":\"incr\",\"ns\":\"n\",\"key\":\"%s\",\"delta\":1,\"forever\":true}"
                .formatted(key);
    }

    private static String required(String key) {
        return ("{\"op\":\"put\",\"ns\":\"n\",\"key\":\"%s\",\"value\":1,\"forever\":true,"
                        + "\"expect\":7,\"required\":true}")
                .formatted(key);
    }

    /** Sends them while a first one is under way, which then goes on. */
    private List<CompletableFuture<Reply>> together(String... bodies) throws InterruptedException {
        PostgresLink.Halt first = link.haltAt("transact", PostgresLink.Point.REQUEST);
        List<CompletableFuture<Reply>> sent = new ArrayList<>();
        CompletableFuture<Reply> held = send(body("", incr("first")));
        first.awaitReached();
        for (String body : bodies) {
            sent.add(send(body));
        }
        Await.until(
                "all wait",
                () -> broker.metrics().value("queen_transact_waiting") == bodies.length);
        first.pass();
        assertTrue(held.join().json().bool("success"));
        return sent;
    }

    private CompletableFuture<Reply> send(String body) {
        return http.postLater(PATH, body);
    }

    private static Json committed(CompletableFuture<Reply> sent) {
        Reply reply = sent.join();
        assertEquals(200, reply.status(), reply.body());
        assertTrue(reply.json().bool("success"), reply.body());
        return reply.json();
    }

    private static void rolledBack(String reason, CompletableFuture<Reply> sent) {
        Reply reply = sent.join();
        assertEquals(reason, reply.json().text("reason"), reply.body());
        assertEquals("false", reply.json().text("success"), reply.body());
    }

    private int commitsOf(String table, String where) throws SQLException {
        return Integer.parseInt(
                lines("select count(distinct xmin::text) from queen_store." + table + where)
                        .getFirst());
    }

    @Contract("tx-20")
    @Test
    void whoComeTogetherShareACommit() throws SQLException, InterruptedException {
        http.push("in", "p1", "1");
        http.push("in", "p2", "2");
        Json one = http.pop("in", "").json();
        Json two = http.pop("in", "").json();
        List<CompletableFuture<Reply>> sent =
                together(
                        body(ack(one, 0, one.text("leaseId")) + "," + push("a", "x"), incr("k1")),
                        body(ack(two, 0, two.text("leaseId")), incr("k2")),
                        body(push("b", "y") + "," + push("c", "z"), ""),
                        body("", incr("k3") + "," + incr("k4")));
        assertEquals("1", committed(sent.get(0)).text("results", 2, "value"));
        assertEquals("1", committed(sent.get(1)).text("results", 1, "value"));
        Json pushed = committed(sent.get(2));
        committed(sent.get(3));
        assertEquals(
                lines(
                        "select message_id from queen.messages where queue = 'out' and"
                                + " partition = 'c'"),
                List.of(pushed.text("results", 1, "messageId")));
        assertEquals(1, commitsOf("kv", " where key like 'k%'"));
        assertEquals(2, broker.metrics().value("queen_transact_group_calls_total"));
        assertEquals(5, broker.metrics().value("queen_transact_group_members_total"));
        assertEquals(204, http.pop("in", "").status());
    }

    @Contract("tx-20")
    @Test
    void oneThatCannotTakeEffectSpoilsNobodyElses() throws SQLException, InterruptedException {
        http.push("in", "p", "1");
        committed(send(body(push("a", "x"), "")));
        Json popped = http.pop("in", "").json();
        List<CompletableFuture<Reply>> sent =
                together(
                        body("", incr("k1") + "," + required("none")),
                        body(push("a", "x"), incr("k2")),
                        body(ack(popped, 0, "00000000-0000-4000-8000-000000000001"), incr("k3")),
                        body(push("b", "y"), incr("k4")));
        rolledBack("kv_precondition", sent.get(0));
        rolledBack("duplicate", sent.get(1));
        rolledBack("ack_rejected", sent.get(2));
        committed(sent.get(3));
        assertEquals(List.of("first", "k4"), lines("select key from queen_store.kv order by key"));
        assertEquals(
                List.of("\"x\"", "\"y\""),
                lines("select payload from queen.messages where queue = 'out' order by payload"));
        assertEquals(1, broker.metrics().value("queen_transact_group_apart_total"));
    }

    @Contract({"tx-15", "tx-20"})
    @Test
    void aLostAnswerIsSettledForAllThatSharedIt() throws SQLException, InterruptedException {
        http.push("in", "p", "0", "1");
        http.push("out", "b", "\"first\"");
        Json popped = http.pop("in", "batch=2").json();
        PostgresLink.Halt first = link.haltAt("transact", PostgresLink.Point.REQUEST);
        CompletableFuture<Reply> held = send(body("", incr("first")));
        first.awaitReached();
        List<CompletableFuture<Reply>> sent =
                List.of(
                        send(body(ack(popped, 0, popped.text("leaseId")), incr("k1"))),
                        send(body(push("b", "y"), incr("k2"))),
                        send(body(push("c", "z"), "")));
        Await.until("all wait", () -> broker.metrics().value("queen_transact_waiting") == 3);
        PostgresLink.Halt commit = link.haltAt("transact", PostgresLink.Point.ANSWER);
        first.pass();
        // The first answer is that of the first call.
        commit.awaitReached();
        PostgresLink.Halt shared = link.haltAt("transact", PostgresLink.Point.ANSWER);
        commit.pass();
        committed(held);
        shared.awaitReached();
        link.cut();
        assertEquals("1", committed(sent.get(0)).text("results", 1, "value"));
        Json pushed = committed(sent.get(1));
        committed(sent.get(2));
        assertEquals(
                lines("select message_id from queen.messages where payload = '\"y\"'"),
                List.of(pushed.text("results", 0, "messageId")));
        assertEquals(
                List.of("1", "1", "1"), lines("select value from queen_store.kv order by key"));
        assertEquals(
                List.of("\"first\"", "\"y\"", "\"z\""),
                lines("select payload from queen.messages where queue = 'out' order by payload"));
        assertEquals(List.of("0"), lines("select committed from queen_store.cursors"));
    }

    /** Each waits for the other here, not in the database. */
    @Contract("tx-20")
    @Test
    void whoTouchesTheSameHasACommitOfItsOwn() throws SQLException, InterruptedException {
        List<CompletableFuture<Reply>> sent =
                together(
                        body("", incr("k") + "," + incr("k1")),
                        body("", incr("k") + "," + incr("k2")),
                        body("", incr("k3")));
        sent.forEach(SharedCommitFaultTest::committed);
        assertEquals(List.of("2"), lines("select value from queen_store.kv where key = 'k'"));
        assertEquals(2, commitsOf("kv", " where key in ('k1', 'k2')"));
        assertEquals(2, commitsOf("kv", " where key in ('k1', 'k2', 'k3')"));
    }

    /** Nobody's ack profits from a lease that another transaction names. */
    @Contract("tx-20")
    @Test
    void anAckIsJudgedByTheLeasesOfItsOwnTransaction() throws SQLException, InterruptedException {
        http.push("in", "p1", "1", "2");
        Json stale = http.pop("in", "batch=2").json();
        http.push("in", "p2", "3", "4");
        Json live = http.pop("in", "batch=2&partitions=2").json();
        String lease = live.text("leaseId");
        // Since then the holder of the second lease has the first partition too.
        lines(
                "update queen_store.cursors set prev_lease = lease_id, lease_id = '%s' where lease_id = '%s' returning 1"
                        .formatted(lease, stale.text("leaseId")));
        List<CompletableFuture<Reply>> sent =
                together(
                        body(ack(stale, 0, stale.text("leaseId")), incr("k1")),
                        body(ack(live, 0, lease), incr("k2")));
        rolledBack("ack_rejected", sent.get(0));
        committed(sent.get(1));
        assertEquals(List.of("first", "k2"), lines("select key from queen_store.kv order by key"));
    }

    /** What the broker remembers of a lease is a hint: where it is wrong the keys decide. */
    @Contract("tx-20")
    @Test
    void aBatchThatIsNotWhatWasRememberedIsAcknowledgedByKey() throws SQLException {
        http.push("in", "p", "0", "1");
        Json popped = http.pop("in", "batch=2").json();
        String lease = popped.text("leaseId");
        lines("update queen_store.cursors set batch_end = 0 returning 1");
        Reply refused =
                send(body(ack(popped, 0, lease) + "," + ack(popped, 1, lease), incr("k"))).join();
        assertEquals("ack_rejected", refused.json().text("reason"), refused.body());
        lines("update queen_store.cursors set batch_end = 1 returning 1");
        committed(send(body(ack(popped, 0, lease) + "," + ack(popped, 1, lease), incr("k"))));
        assertEquals(List.of("1"), lines("select committed from queen_store.cursors"));
        assertEquals(1, broker.metrics().value("queen_ack_batches_total"));
    }
}
