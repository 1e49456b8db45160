package io.queenmq.transact;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.PostgresLink;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/**
 * The link to the database breaks between a commit and its answer, or before the commit: whatever
 * the client is told, the transaction has taken effect exactly once, or is said to be in doubt.
 */
class TransactFaultTest extends TransactScene {

    @Override
    Bounds bounds() {
        return Bounds.usual().withGrace(Duration.ofMillis(500));
    }

    private List<String> stored() throws SQLException {
        return lines("select payload from queen.messages where queue = 'out' order by \"offset\"");
    }

    /** Three messages of which the first two are leased. */
    private Json popped() {
        http.push("in", "p", "0", "1", "2");
        http.push("out", "p", "\"first\"");
        return http.pop("in", "batch=2").json();
    }

    private static String ack(Json popped, int index, String more) {
        return "{\"type\":\"ack\",\"transactionId\":\""
                + popped.text("messages", index, "transactionId")
                + "\",\"partitionId\":\""
                + popped.text("partitionId")
                + "\",\"leaseId\":\""
                + popped.text("leaseId")
                + "\""
                + more
                + "}";
    }

    private static String push(String payload) {
        return "{\"type\":\"push\",\"queue\":\"out\",\"partition\":\"p\",\"payload\":"
                + payload
                + "}";
    }

    private CompletableFuture<Reply> sendLater(String... operations) {
        return http.postLater(PATH, "{\"operations\":[" + String.join(",", operations) + "]}");
    }

    private Json committed(CompletableFuture<Reply> sent) {
        Reply reply = sent.join();
        assertEquals(200, reply.status(), reply.body());
        assertTrue(reply.json().bool("success"), reply.body());
        return reply.json();
    }

    @Contract("tx-15")
    @Test
    void aCommitWithPushesWhoseAnswerIsLostIsAnsweredFromWhatIsStored()
            throws SQLException, InterruptedException {
        Json popped = popped();
        PostgresLink.Halt commit = link.haltAt("transact", PostgresLink.Point.ANSWER);
        CompletableFuture<Reply> sent =
                sendLater(
                        ack(popped, 0, ""),
                        ack(popped, 1, ",\"status\":\"dlq\",\"error\":\"why\""),
                        push("\"second\""));
        commit.awaitReached();
        assertFalse(sent.isDone());
        link.cut();
        Json json = committed(sent);
        assertFalse(json.bool("results", 0, "dlq"));
        assertTrue(json.bool("results", 1, "dlq"));
        assertEquals(
                lines(
                        "select message_id from queen.messages where queue = 'out' and payload ="
                                + " '\"second\"'"),
                List.of(json.text("results", 2, "messageId")));
        assertEquals(List.of("\"first\"", "\"second\""), stored());
        assertEquals(1, lines("select error from queen.dead_letters").size());
        assertEquals(List.of("2"), http.pop("in", "").payloads(), "the lane is free");
    }

    @Contract("tx-15")
    @Test
    void aCommitWithoutPushesWhoseAnswerIsLostIsNotRepeated()
            throws SQLException, InterruptedException {
        Json popped = popped();
        PostgresLink.Halt commit = link.haltAt("transact", PostgresLink.Point.ANSWER);
        CompletableFuture<Reply> sent =
                sendLater(ack(popped, 0, ""), ack(popped, 1, ",\"status\":\"failed\""));
        commit.awaitReached();
        link.cut();
        committed(sent);
        assertEquals(
                List.of("1"), lines("select retry_count from queen_store.cursors"), "charged once");
        assertEquals(List.of("1", "2"), http.pop("in", "batch=9").payloads());
    }

    @Contract({"tx-15", "tx-16"})
    @Test
    void whatKeysAnsweredIsAnsweredAgainAndTheyAreWrittenOnce()
            throws SQLException, InterruptedException {
        PostgresLink.Halt commit = link.haltAt("transact", PostgresLink.Point.ANSWER);
        CompletableFuture<Reply> sent =
                http.postLater(
                        PATH,
                        "{\"kv\":[{\"op\":\"incr\",\"ns\":\"n\",\"key\":\"k\",\"delta\":2,"
                                + "\"forever\":true},{\"op\":\"put\",\"ns\":\"n\",\"key\":\"no\","
                                + "\"value\":1,\"forever\":true,\"expect\":7},{\"op\":\"get\","
                                + "\"ns\":\"n\",\"key\":\"k\"}],\"operations\":["
                                + push("\"second\"")
                                + "]}");
        commit.awaitReached();
        String version =
                lines("update queen_store.kv set value = '9' where key = 'k' returning version")
                        .getFirst();
        link.cut();
        Json json = committed(sent);
        assertEquals(List.of("push", "kv", "kv", "kv"), json.each("results", "type"));
        assertEquals("2", json.text("results", 1, "value"));
        assertEquals(version, json.text("results", 1, "version"));
        assertEquals("absent", json.text("results", 2, "reason"));
        assertEquals("2", json.text("results", 3, "value"));
        assertEquals(List.of("9"), lines("select value from queen_store.kv where key = 'k'"));
        assertEquals(List.of("\"second\""), stored());
    }

    @Contract({"tx-15", "tx-18"})
    @Test
    void whatTimersAnsweredIsAnsweredAgainAlthoughTheyHaveFiredSince()
            throws SQLException, InterruptedException {
        http.post("/api/v1/timers", "[" + timer("old", 3_600) + "]");
        PostgresLink.Halt commit = link.haltAt("transact", PostgresLink.Point.ANSWER);
        CompletableFuture<Reply> sent =
                http.postLater(
                        PATH,
                        "{\"timers\":["
                                + timer("new", 0)
                                + ",{\"op\":\"cancel\",\"queue\":\"out\",\"key\":\"old\"},"
                                + "{\"op\":\"cancel\",\"queue\":\"out\",\"key\":\"none\"}],"
                                + "\"operations\":["
                                + push("\"second\"")
                                + "]}");
        commit.awaitReached();
        // Another broker may fire it meanwhile, and whoever schedules it again changes nothing.
        lines("update queen_store.timers set deliver_at = deliver_at + interval '1 hour'");
        link.cut();
        Json json = committed(sent);
        assertEquals(List.of("push", "timer", "timer", "timer"), json.each("results", "type"));
        assertEquals("scheduled", json.text("results", 1, "status"));
        assertEquals(
                lines("select message_id from queen_store.timers"),
                List.of(json.text("results", 1, "messageId")));
        assertEquals(
                lines(
                        "select to_char((deliver_at - interval '1 hour') at time zone 'UTC',"
                                + " 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"') from queen_store.timers"),
                List.of(json.text("results", 1, "deliverAt")));
        assertEquals("cancelled", json.text("results", 2, "status"));
        assertEquals("id-old", json.text("results", 2, "txn"));
        assertEquals("absent", json.text("results", 3, "status"));
        lines("update queen_store.timers set deliver_at = deliver_at - interval '1 hour'");
        http.post("/api/v1/timers", "[" + timer("last", 0) + "]");
        Await.until("all messages", () -> stored().size() == 3);
        assertEquals(List.of("\"second\"", "\"new\"", "\"last\""), stored());
    }

    private static String timer(String key, int delaySeconds) {
        return "{\"op\":\"schedule\",\"queue\":\"out\",\"partition\":\"p\",\"key\":\"%1$s\","
                        .formatted(key)
                + "\"delaySeconds\":%d,\"txn\":\"id-%2$s\",\"payload\":\"%2$s\"}"
                        .formatted(delaySeconds, key);
    }

    @Contract("tx-15")
    @Test
    void whatHadNotCommittedWhenTheLinkBrokeIsCarriedOutOnce() throws SQLException {
        Json popped = popped();
        CompletableFuture<Reply> sent;
        try (Connection blocker = server.connect();
                Statement statement = blocker.createStatement()) {
            blocker.setAutoCommit(false);
            statement.execute("lock table queen_store.segments in share mode");
            sent = sendLater(ack(popped, 1, ""), push("\"second\""));
            Await.until("a wait", () -> !waiting().isEmpty());
            List<String> before = waiting();
            link.cut();
            Await.until("another try", () -> !waiting().isEmpty() && !waiting().equals(before));
            blocker.rollback();
        }
        committed(sent);
        assertEquals(List.of("\"first\"", "\"second\""), stored());
        assertEquals(List.of("2"), http.pop("in", "").payloads());
    }

    private List<String> waiting() throws SQLException {
        return lines(
                "select pid from pg_stat_activity where datname = current_database() and"
                        + " wait_event_type = 'Lock' and query like '%transact%'");
    }

    @Contract("tx-reason-9")
    @Test
    void whatStaysInDoubtIsSaidToBe() throws SQLException, InterruptedException {
        broker.close();
        http.close();
        serve(bounds().withDeadline(Duration.ofSeconds(1)));
        Json popped = popped();
        PostgresLink.Halt commit = link.haltAt("transact", PostgresLink.Point.ANSWER);
        CompletableFuture<Reply> sent = sendLater(ack(popped, 1, ""), push("\"second\""));
        commit.awaitReached();
        link.refuse(true);
        link.cut();
        Reply reply = sent.join();
        link.refuse(false);
        assertInDoubt(reply);
        assertEquals(List.of("\"first\"", "\"second\""), stored());
    }

    @Contract("tx-reason-9")
    @Test
    void aBugThatShowsWhenALostAnswerIsSettledLeavesTheTransactionInDoubt()
            throws SQLException, InterruptedException {
        Json popped = popped();
        PostgresLink.Halt commit = link.haltAt("transact", PostgresLink.Point.ANSWER);
        CompletableFuture<Reply> sent = sendLater(ack(popped, 1, ""));
        commit.awaitReached();
        try (Statement bug = witness.createStatement()) {
            bug.execute(
                    """
                    create or replace function queen_store.settled_acks(
                        p_partition_ids bigint[], p_group_names text[], p_units integer[],
                        p_keys bytea[], p_statuses smallint[], p_written_by xid)
                    returns table (
                        item integer, lease_released boolean, dead_lettered boolean,
                        partition_id bigint, group_id integer, queue_id integer,
                        committed bigint, last_offset bigint)
                    language sql stable parallel safe
                    as 'select 99, true, true, 1::bigint, 1, 1, 1::bigint, 1::bigint'
                    """);
        }
        link.cut();
        assertInDoubt(sent.join());
    }

    private static void assertInDoubt(Reply reply) {
        assertEquals(503, reply.status(), reply.body());
        assertEquals("outcome_unknown", reply.json().text("reason"));
        assertTrue(reply.response().headers().firstValue("Retry-After").isPresent());
    }

    @Contract("tx-reason-6")
    @Test
    void whatIsNotBegunInTimeIsNeverBegun() throws SQLException {
        Json popped = popped();
        broker.close();
        http.close();
        serve(bounds().withDeadline(Duration.ZERO));
        Reply reply = sendLater(ack(popped, 1, "")).join();
        assertEquals(503, reply.status(), reply.body());
        assertEquals("db_error", reply.json().text("reason"));
        assertEquals(List.of("-1"), lines("select committed from queen_store.cursors"));
    }

    @Contract("tx-reason-6")
    @Test
    void whatWaitsInTheDatabaseIsStoppedInTime() throws SQLException {
        http.push("out", "p", "\"first\"");
        broker.close();
        http.close();
        serve(bounds().withDeadline(Duration.ofSeconds(1)));
        Reply reply;
        try (Connection blocker = server.connect();
                Statement statement = blocker.createStatement()) {
            blocker.setAutoCommit(false);
            statement.execute("lock table queen_store.segments in share mode");
            reply = sendLater(push("\"second\"")).join();
            blocker.rollback();
        }
        assertEquals(503, reply.status(), reply.body());
        assertEquals("db_error", reply.json().text("reason"));
        assertFalse(reply.json().text("error").contains("held by somebody else"), reply.body());
        assertEquals(List.of("\"first\""), stored());
    }

    @Contract("tx-reason-8")
    @Test
    void aLinkThatBreaksWhileAPartitionIsMadeLeavesNothingInDoubt() throws SQLException {
        http.push("out", "p", "\"first\"");
        CompletableFuture<Reply> sent;
        try (Connection blocker = server.connect();
                Statement statement = blocker.createStatement()) {
            blocker.setAutoCommit(false);
            statement.execute("lock table queen_store.partitions in share mode");
            sent = sendLater("{\"type\":\"push\",\"queue\":\"out\",\"partition\":\"new\"}");
            Await.until(
                    "a wait",
                    () ->
                            !lines(
                                            "select pid from pg_stat_activity where datname ="
                                                    + " current_database() and wait_event_type ="
                                                    + " 'Lock'")
                                    .isEmpty());
            link.refuse(true);
            link.cut();
            Reply reply = sent.join();
            link.refuse(false);
            assertEquals(503, reply.status(), reply.body());
            assertEquals("db_error", reply.json().text("reason"), reply.body());
            blocker.rollback();
        }
        assertEquals(List.of("\"first\""), stored());
    }

    @Contract("tx-reason-8")
    @Test
    void aDatabaseOutOfReachIsNoRollbackVerdict() {
        http.push("out", "p", "1");
        link.refuse(true);
        link.cut();
        Await.until(
                "a refusal",
                () -> {
                    Reply reply =
                            http.post(
                                    PATH,
                                    "{\"operations\":[{\"type\":\"push\",\"queue\":\"out\","
                                            + "\"partition\":\"p\",\"transactionId\":\""
                                            + UUID.randomUUID()
                                            + "\"}]}");
                    assertEquals(503, reply.status(), reply.body());
                    return reply.json().text("reason").equals("db_error");
                });
        link.refuse(false);
    }
}
