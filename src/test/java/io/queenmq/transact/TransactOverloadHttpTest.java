package io.queenmq.transact;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.PostgresLink;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A transaction that a broker has no room for is refused for the moment, and has certainly not
 * taken effect: it may come again as it is. What is wrong with the transaction itself is never told
 * like that.
 */
class TransactOverloadHttpTest extends TransactScene {
    private static final String LEASE = "/api/v1/lease/01a228a2-ce41-7000-8000-004000000000/extend";
    private static final int CALLS = 2;

    @Override
    Bounds bounds() {
        return Bounds.usual().withCalls(CALLS).withWaiting(1).withPatience(Duration.ofMillis(200));
    }

    private static String incr(String key) {
        return "{\"kv\":[{\"op\":\"incr\",\"ns\":\"n\",\"key\":\"%s\",\"delta\":1,\"forever\":true}]}"
                .formatted(key);
    }

    private List<String> keys() throws SQLException {
        return lines("select key || ' ' || value from queen_store.kv order by key");
    }

    private static void assertComeAgain(Reply reply) {
        assertEquals(503, reply.status(), reply.body());
        assertTrue(reply.response().headers().firstValue("Retry-After").isPresent());
        Json json = reply.json();
        assertEquals(
                List.of("transactionId", "success", "reason", "error", "results"), json.names());
        assertEquals("false db_error", json.text("success") + " " + json.text("reason"));
        assertEquals(0, json.size("results"));
    }

    private List<PostgresLink.Halt> halted(
            String procedure, int calls, List<CompletableFuture<Reply>> sent, String path)
            throws InterruptedException {
        List<PostgresLink.Halt> halts = new ArrayList<>();
        for (int i = 0; i < calls; i++) {
            halts.add(link.haltAt(procedure, PostgresLink.Point.REQUEST));
            sent.add(http.postLater(path, path.equals(PATH) ? incr("under-way-" + i) : "{}"));
            halts.getLast().awaitReached();
        }
        return halts;
    }

    /**
     * Every connection is in use: the bundle with all there is in it comes again, and counts once.
     */
    @Contract({"tx-reason-8", "error-2"})
    @Test
    void whereThePoolIsFullNothingIsBegun() throws Exception {
        http.push("in", "p", "1");
        http.push("out", "p", "\"first\"");
        Json popped = http.pop("in", "").json();
        String bundle =
                """
                {"operations":[{"type":"ack","transactionId":"%s","partitionId":"%s","leaseId":"%s"},
                   {"type":"push","queue":"out","partition":"p","transactionId":"o","payload":2}],
                 "kv":[{"op":"incr","ns":"n","key":"k","delta":1,"forever":true}],
                 "timers":[{"op":"schedule","queue":"out","key":"t","delaySeconds":60,"payload":3}]}
                """
                        .formatted(
                                popped.text("messages", 0, "transactionId"),
                                popped.text("partitionId"),
                                popped.text("leaseId"));
        List<CompletableFuture<Reply>> others = new ArrayList<>();
        List<PostgresLink.Halt> halts = halted("extend_lease", CONNECTIONS, others, LEASE);
        assertComeAgain(http.post(PATH, bundle));
        assertEquals(List.of(), keys());
        assertEquals(List.of("0"), lines("select count(*) from queen_store.timers"));
        assertEquals(List.of("-1"), lines("select committed from queen_store.cursors"));
        assertEquals(
                List.of("\"first\""),
                lines("select payload from queen.messages where queue = 'out'"));
        halts.forEach(PostgresLink.Halt::pass);
        for (CompletableFuture<Reply> other : others) {
            assertEquals(200, other.join().status());
        }
        Reply again = http.post(PATH, bundle);
        assertTrue(again.json().bool("success"), again.body());
        assertEquals(List.of("k 1"), keys());
    }

    /** As many calls as may be are in the database, and none of them ends. */
    @Contract("tx-reason-8")
    @Test
    void whoFindsNoRoomForACallIsRefusedAndThoseUnderWayAreNot() throws Exception {
        List<CompletableFuture<Reply>> under = new ArrayList<>();
        List<PostgresLink.Halt> halts = halted("transact", CALLS, under, PATH);
        assertComeAgain(http.post(PATH, incr("refused")));
        assertEquals(1, broker.metrics().value("queen_transact_refused_total"));
        halts.forEach(PostgresLink.Halt::pass);
        for (CompletableFuture<Reply> each : under) {
            assertTrue(each.join().json().bool("success"));
        }
        assertEquals(List.of("under-way-0 1", "under-way-1 1"), keys());
    }

    /** One may wait in the database for what an application holds; the next may not. */
    @Contract({"tx-reason-6", "tx-11"})
    @Test
    void whoFindsNoRoomToWaitForOthersIsRefused() throws Exception {
        try (Connection application = server.connect()) {
            application.setAutoCommit(false);
            for (String key : List.of("a", "b")) {
                TestDatabase.rows(
                        application, "select * from queen.kv_put('n', ?, '1', null)", key);
            }
            CompletableFuture<Reply> waits = http.postLater(PATH, incr("a"));
            Await.until(
                    "it waits beside the calls",
                    () ->
                            broker.metrics().value("queen_transact_inflight") == 0
                                    && !lines(
                                                    "select pid from pg_stat_activity where datname ="
                                                            + " current_database() and"
                                                            + " wait_event_type = 'Lock'")
                                            .isEmpty());
            assertComeAgain(http.post(PATH, incr("b")));
            assertTrue(http.post(PATH, incr("c")).json().bool("success"), "others go on");
            application.rollback();
            assertTrue(waits.join().json().bool("success"));
        }
        assertEquals(List.of("a 1", "c 1"), keys());
    }

    /** Whatever it answers while it stops is true. */
    @Contract({"tx-reason-8", "http-19"})
    @Test
    void aBrokerThatStopsHasDoneWhatItSaysAndNothingElse() throws Exception {
        List<CompletableFuture<Reply>> sent = new ArrayList<>();
        List<PostgresLink.Halt> halts = halted("transact", CALLS, sent, PATH);
        for (int i = 0; i < 6; i++) {
            sent.add(http.postLater(PATH, incr("waits-" + i)));
        }
        Await.until(
                "all are here",
                () ->
                        broker.metrics().value("queen_transact_waiting")
                                        + broker.metrics().value("queen_transact_refused_total")
                                == 6);
        CompletableFuture<Void> stopped = CompletableFuture.runAsync(broker::close);
        halts.forEach(PostgresLink.Halt::pass);
        List<String> done = new ArrayList<>();
        for (int i = 0; i < sent.size(); i++) {
            Reply reply = sent.get(i).join();
            if (reply.status() == 200) {
                assertTrue(reply.json().bool("success"), reply.body());
                done.add((i < CALLS ? "under-way-" + i : "waits-" + (i - CALLS)) + " 1");
            } else {
                assertComeAgain(reply);
            }
        }
        stopped.join();
        assertEquals(done, keys());
        assertTrue(done.size() >= CALLS, done.toString());
    }

    /** What the database, or the broker before it, has against a bundle is no affair of 5xx. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '~',
            value = {
                "200 duplicate | 'operations':[{'type':'push','queue':'out','partition':'p',"
                        + "'transactionId':'there','payload':1}]",
                "200 ack_rejected | 'operations':[{'type':'ack','transactionId':'never','partitionId':"
                        + "'LANE','leaseId':'HELD'}]",
                "200 ack_rejected | 'operations':[{'type':'ack','transactionId':'there','partitionId':"
                        + "'LANE','leaseId':'01a228a2-ce41-7000-8000-004000000000'}]",
                "200 ack_rejected | 'operations':[{'type':'ack','transactionId':'there','partitionId':"
                        + "'LANE'}],'requiredLeases':['01a228a2-ce41-7000-8000-004000000000']",
                "200 ack_rejected | 'operations':[{'type':'ack','transactionId':'there','partitionId':"
                        + "'11111111-2222-4333-8444-555555555555'}]",
                "200 ack_rejected | 'operations':[{'type':'ack','transactionId':'there','partitionId':"
                        + "'LANE','consumerGroup':'stranger'}]",
                "200 kv_precondition | 'kv':[{'op':'put','ns':'n','key':'k','value':1,'forever':true,"
                        + "'expect':7,'required':true}]",
                "200 kv_precondition | 'kv':[{'op':'check','ns':'n','key':'k','expect':7}]",
                "400 bad_request | 'operations':{}",
                "400 bad_request | 'operations':[{'type':'pop'}]",
                "400 bad_request | 'operations':[{'type':'push','queue':''}]",
                "400 bad_request | 'kv':[{'op':'getPrefix','ns':'n','prefix':'k'}]",
                "400 bad_request | 'kv':[{'op':'put','ns':'n','key':'k','value':1,'ttlSeconds':-1}]",
                "400 bad_request | 'kv':[{'op':'put','ns':'n','key':'k','value':1,"
                        + "'ttlSeconds':9e18}]",
                "400 bad_request | 'timers':[{'op':'schedule','queue':'out','timerKey':'t',"
                        + "'delayMs':1,'txn':'t','payload':'***'}]",
                "403 timer_horizon_exceeded | 'timers':[{'op':'schedule','queue':'out','key':'t',"
                        + "'delaySeconds':1e15,'payload':1}]",
                "413 payload_too_large | 'kv':[{'op':'put','ns':'n','key':'k','value':'LONG',"
                        + "'forever':true}]",
                "413 payload_too_large | 'timers':[{'op':'schedule','queue':'out','key':'t',"
                        + "'delaySeconds':1,'payload':'LONG'}]"
            })
    @Contract({"tx-reason-5", "tx-reason-11", "tx-reason-12", "error-3"})
    void noVerdictAboutABundleIsAServerError(String verdict, String fields) throws SQLException {
        http.pushItems(List.of(Http.item("out", "p", "there", "1")));
        Json popped = http.pop("out", "").json();
        Reply reply =
                http.post(
                        PATH,
                        ("{" + fields + "}")
                                .replace("LANE", popped.text("partitionId"))
                                .replace("HELD", popped.text("leaseId"))
                                .replace("LONG", "x".repeat(2 << 20))
                                .replace('\'', '"'));
        assertEquals(verdict, reply.status() + " " + reply.json().text("reason"), reply.body());
        assertEquals("false", reply.json().text("success"));
        assertEquals(0, reply.json().size("results"));
        assertTrue(reply.response().headers().firstValue("Retry-After").isEmpty());
        assertEquals(List.of(), keys());
        assertEquals(List.of("0"), lines("select count(*) from queen_store.timers"));
    }
}
