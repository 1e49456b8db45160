package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.PostgresLink;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Keys have connections of their own, and only those. */
class KvBulkheadHttpTest {
    private static final String PUT =
            "[{\"op\":\"put\",\"ns\":\"n\",\"key\":\"k\",\"value\":1,\"forever\":true}]";
    private static final String PUT_IF_VERSION_7 =
            "{\"op\":\"put\",\"ns\":\"n\",\"key\":\"none\",\"value\":1,\"forever\":true,\"expect\":7}";
    private static final String GET = "[{\"op\":\"get\",\"ns\":\"n\",\"key\":\"k\"}]";

    @Contract({"kv-24", "kv-25"})
    @Test
    void whoFindsNoRoomIsRefusedAndMessagesGoOn() throws Exception {
        try (TestDatabase database = TestDatabase.migrated();
                PostgresLink link = new PostgresLink(database.host(), database.port());
                TestBroker broker =
                        TestBroker.withEnvironment(
                                database,
                                Map.of(
                                        "PG_PORT",
                                        Integer.toString(link.port()),
                                        "QUEEN_KV_POOL_SIZE",
                                        "1",
                                        "QUEEN_KV_STANDALONE_SHED_AFTER",
                                        "1"))) {
            Http http = broker.http();
            assertEquals(200, http.post("/api/v1/kv", PUT).status());
            PostgresLink.Halt halt = link.haltAt("run_kv", PostgresLink.Point.REQUEST);
            CompletableFuture<Reply> waits = http.postLater("/api/v1/kv", PUT);
            halt.awaitReached();
            assertRefused(http.post("/api/v1/kv", GET), "kv_pool_exhausted");
            assertRefused(http.post("/api/v1/kv", PUT), "kv_standalone_paused");
            http.push("q", "p", "1");
            halt.pass();
            assertEquals(200, waits.join().status(), waits.join().body());
            assertEquals(200, http.post("/api/v1/kv", PUT).status());
        }
    }

    /** Each has its own verdict; those that write the same key go one after the other. */
    @Contract("kv-25")
    @Test
    void requestsThatComeTogetherShareACommit() throws Exception {
        try (TestDatabase database = TestDatabase.migrated();
                PostgresLink link = new PostgresLink(database.host(), database.port());
                TestBroker broker =
                        TestBroker.withEnvironment(
                                database,
                                Map.of(
                                        "PG_PORT",
                                        Integer.toString(link.port()),
                                        "QUEEN_KV_POOL_SIZE",
                                        "1"));
                Connection witness = database.connect()) {
            PostgresLink.Halt halt = link.haltAt("run_kv", PostgresLink.Point.REQUEST);
            CompletableFuture<Reply> first = broker.http().postLater("/api/v1/kv", PUT);
            halt.awaitReached();
            List<CompletableFuture<Reply>> sent =
                    Stream.of(
                                    incr("a"),
                                    incr("b") + "," + incr("c"),
                                    incr("d") + "," + PUT_IF_VERSION_7,
                                    incr("a"))
                            .map(ops -> broker.http().postLater("/api/v1/kv", "[" + ops + "]"))
                            .toList();
            Await.until(
                    "they wait",
                    () -> broker.metric("queen_kv_pool\\{state=\"waiting\"}") == sent.size());
            halt.pass();
            first.join();
            List<Json> replies = sent.stream().map(reply -> reply.join().json()).toList();
            assertEquals(List.of("1", "1"), replies.get(1).each("results", "value"));
            assertEquals("absent", replies.get(2).text("results", 1, "reason"));
            assertEquals(
                    Set.of("1", "2"),
                    Set.of(
                            replies.get(0).text("results", 0, "value"),
                            replies.get(3).text("results", 0, "value")));
            assertEquals(
                    1L,
                    TestDatabase.rows(
                                    witness,
                                    "select count(distinct xmin::text) from queen_store.kv where"
                                            + " key in ('b', 'c', 'd')")
                            .getFirst()[0]);
            assertEquals(5, broker.metric("queen_kv_group_members_total"));
            assertEquals(3, broker.metric("queen_kv_group_calls_total"));
        }
    }

    /** A lost condition takes back its own request alone. */
    @Contract({"kv-15", "kv-25"})
    @Test
    void aConditionThatIsLostTakesBackItsOwnRequestAlone() throws Exception {
        try (TestDatabase database = TestDatabase.migrated();
                PostgresLink link = new PostgresLink(database.host(), database.port());
                TestBroker broker =
                        TestBroker.withEnvironment(
                                database,
                                Map.of(
                                        "PG_PORT",
                                        Integer.toString(link.port()),
                                        "QUEEN_KV_POOL_SIZE",
                                        "1"));
                Connection witness = database.connect()) {
            PostgresLink.Halt halt = link.haltAt("run_kv", PostgresLink.Point.REQUEST);
            CompletableFuture<Reply> first = broker.http().postLater("/api/v1/kv", PUT);
            halt.awaitReached();
            String required = PUT_IF_VERSION_7.replace("}", ",\"required\":true}");
            CompletableFuture<Reply> loses =
                    broker.http().postLater("/api/v1/kv", "[" + incr("a") + "," + required + "]");
            CompletableFuture<Reply> wins =
                    broker.http().postLater("/api/v1/kv", "[" + incr("b") + "]");
            Await.until(
                    "they wait", () -> broker.metric("queen_kv_pool\\{state=\"waiting\"}") == 2);
            halt.pass();
            first.join();
            assertEquals("kv_precondition", loses.join().json().text("reason"));
            assertEquals("1", loses.join().json().text("failedIndex"));
            assertTrue(wins.join().json().bool("results", 0, "applied"));
            assertEquals(
                    List.of("b", "k"),
                    TestDatabase.rows(witness, "select key from queen_store.kv order by key")
                            .stream()
                            .map(row -> row[0])
                            .toList());
            assertEquals(1, broker.metric("queen_kv_group_apart_total"));
        }
    }

    private static String incr(String key) {
        return "{\"op\":\"incr\",\"ns\":\"n\",\"key\":\"%s\",\"delta\":1,\"forever\":true}"
                .formatted(key);
    }

    /** Who waits for a key gives way to those who do not. */
    @Contract("kv-25")
    @Test
    void aKeyThatSomebodyHoldsIsInNobodyElsesWay() throws SQLException {
        try (TestDatabase database = TestDatabase.migrated();
                TestBroker broker =
                        TestBroker.withEnvironment(database, Map.of("QUEEN_KV_POOL_SIZE", "1"));
                Connection application = database.connect()) {
            Http http = broker.http();
            application.setAutoCommit(false);
            TestDatabase.rows(application, "select * from queen.kv_put('n', 'k', '2', null)");
            CompletableFuture<Reply> waits = http.postLater("/api/v1/kv", PUT);
            Await.until("it waits for the key", () -> retries(broker) > 0);
            Reply other = http.post("/api/v1/kv", PUT.replace("\"k\"", "\"other\""));
            assertEquals(200, other.status(), other.body());
            assertFalse(waits.isDone(), "the key is held");
            application.rollback();
            assertEquals(200, waits.join().status(), waits.join().body());
        }
    }

    /** The lock is waited for some seconds, and longer by nobody. */
    @Contract("kv-24")
    @Test
    void aKeyThatStaysLockedIsATimeout() throws SQLException {
        try (TestBroker broker = TestBroker.start();
                Connection application = broker.database().connect()) {
            application.setAutoCommit(false);
            TestDatabase.rows(application, "select * from queen.kv_put('n', 'k', '2', null)");
            assertRefused(broker.http().post("/api/v1/kv", PUT), "kv_timeout");
            application.commit();
            assertTrue(broker.http().post("/api/v1/kv", PUT).json().bool("results", 0, "applied"));
        }
    }

    /** A lock whose token was lost with the answer would be held by nobody. */
    @Contract("lock-1")
    @Test
    void whatWasTakenIsToldThoughTheRestCannotBe() throws Exception {
        try (TestDatabase database = TestDatabase.migrated();
                PostgresLink link = new PostgresLink(database.host(), database.port());
                TestBroker broker = TestBroker.over(link, database)) {
            PostgresLink.Halt looks = link.haltAt("run_kv", PostgresLink.Point.REQUEST);
            CompletableFuture<Reply> call =
                    broker.http()
                            .postLater(
                                    "/api/v1/locks",
                                    """
                                    [{"op":"acquire","name":"a","ttlSeconds":60},
                                     {"op":"release","name":"b","token":1}]""");
            looks.awaitReached();
            PostgresLink.Halt takes = link.haltAt("run_kv", PostgresLink.Point.REQUEST);
            looks.pass();
            takes.awaitReached();
            PostgresLink.Halt asksWho = link.haltAt("run_kv", PostgresLink.Point.REQUEST);
            takes.pass();
            asksWho.awaitReached();
            link.refuse(true);
            link.cut();
            Reply reply = call.join();
            assertEquals(200, reply.status(), reply.body());
            assertTrue(reply.json().bool("results", 0, "acquired"));
            assertEquals("lost", reply.json().text("results", 1, "reason"));
        }
    }

    private static double retries(TestBroker broker) {
        return broker.metric("queen_db_retries_total\\{reason=\"lock_timeout\"}");
    }

    private static void assertRefused(Reply reply, String reason) {
        assertEquals(503, reply.status(), reply.body());
        assertEquals("kv_unavailable", reply.json().text("error"));
        assertEquals(reason, reply.json().text("reason"), reply.body());
        assertTrue(reply.response().headers().firstValue("Retry-After").isPresent());
    }
}
