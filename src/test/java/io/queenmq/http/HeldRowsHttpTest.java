package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What an application holds in an open transaction is in the way of those who need it alone. */
class HeldRowsHttpTest {
    /** More than the broker has connections. */
    private static final int MANY = 20;

    private TestDatabase database;
    private TestBroker broker;
    private Http http;
    private Connection application;

    @BeforeEach
    void start() throws SQLException {
        database = TestDatabase.migrated();
        broker = TestBroker.withEnvironment(database, Map.of("DB_POOL_SIZE", "8"));
        http = broker.http();
        application = database.connect();
        application.setAutoCommit(false);
    }

    @AfterEach
    void stop() throws SQLException {
        application.close();
        broker.close();
        database.close();
    }

    private static String incr(String key) {
        return ("{\"kv\":[{\"op\":\"incr\",\"ns\":\"n\",\"key\":\"%s\",\"delta\":1,"
                        + "\"forever\":true}]}")
                .formatted(key);
    }

    private static String schedule(String key) {
        return ("[{\"op\":\"schedule\",\"queue\":\"later\",\"key\":\"%s\","
                        + "\"delaySeconds\":3600,\"payload\":1}]")
                .formatted(key);
    }

    /** All of them, once one waits in the database. */
    private List<CompletableFuture<Reply>> many(String path, String body) {
        List<CompletableFuture<Reply>> sent =
                Stream.generate(() -> http.postLater(path, body)).limit(MANY).toList();
        Await.until(
                "one waits",
                () -> broker.metric("queen_db_retries_total\\{reason=\"lock_timeout\"}") > 0);
        return sent;
    }

    private static void assertWaiting(List<CompletableFuture<Reply>> sent) {
        assertTrue(sent.stream().noneMatch(CompletableFuture::isDone), "they wait");
    }

    @Contract("tx-11")
    @Test
    void transactionsWithoutAHeldKeyGoOn() throws SQLException {
        TestDatabase.rows(application, "select * from queen.kv_put('n', 'hot', '1', null)");
        List<CompletableFuture<Reply>> sent = many("/api/v1/transaction", incr("hot"));
        Reply other = http.post("/api/v1/transaction", incr("cold"));
        assertWaiting(sent);
        assertEquals(200, other.status(), other.body());
        http.push("q", "p", "1");
        assertEquals(List.of("1"), http.pop("q", "").payloads());
        assertWaiting(sent);
        application.rollback();
        sent.forEach(reply -> assertTrue(reply.join().json().bool("success")));
        assertEquals(
                "20",
                TestDatabase.rows(application, "select value from queen_store.kv where key = 'hot'")
                        .getFirst()[0]);
    }

    @Contract("timer-26")
    @Test
    void timersAndMessagesGoOnWhileOneTimerIsHeld() throws SQLException {
        http.post("/api/v1/timers", schedule("hot"));
        TestDatabase.rows(
                application, "select * from queen_store.timers where timer_key = 'hot' for update");
        List<CompletableFuture<Reply>> sent = many("/api/v1/timers", schedule("hot"));
        Reply other = http.post("/api/v1/timers", schedule("cold"));
        assertWaiting(sent);
        assertEquals(200, other.status(), other.body());
        http.push("q", "p", "1");
        assertEquals(List.of("1"), http.pop("q", "").payloads());
        assertWaiting(sent);
        application.rollback();
        sent.forEach(reply -> assertEquals(200, reply.join().status()));
    }
}
