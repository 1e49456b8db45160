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
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Keys have connections of their own, and only those. */
class KvBulkheadHttpTest {
    private static final String PUT =
            "[{\"op\":\"put\",\"ns\":\"n\",\"key\":\"k\",\"value\":1,\"forever\":true}]";
    private static final String GET = "[{\"op\":\"get\",\"ns\":\"n\",\"key\":\"k\"}]";

    @Contract({"kv-24", "kv-25"})
    @Test
    void whoFindsNoRoomIsRefusedAndMessagesGoOn() throws SQLException {
        try (TestDatabase database = TestDatabase.migrated();
                TestBroker broker =
                        TestBroker.withEnvironment(
                                database,
                                Map.of(
                                        "QUEEN_KV_POOL_SIZE",
                                        "1",
                                        "QUEEN_KV_STANDALONE_SHED_AFTER",
                                        "1"));
                Connection application = database.connect()) {
            Http http = broker.http();
            assertEquals(200, http.post("/api/v1/kv", PUT).status());
            application.setAutoCommit(false);
            TestDatabase.rows(application, "select * from queen.kv_put('n', 'k', '2', null)");
            CompletableFuture<Reply> waits = http.postLater("/api/v1/kv", PUT);
            Await.until(
                    "the put holds the only connection",
                    () -> broker.metrics().contains("queen_kv_pool{state=\"available\"} 0.0"));
            assertRefused(http.post("/api/v1/kv", GET), "kv_pool_exhausted");
            assertRefused(http.post("/api/v1/kv", PUT), "kv_standalone_paused");
            http.push("q", "p", "1");
            application.rollback();
            assertEquals(200, waits.join().status(), waits.join().body());
            assertEquals(200, http.post("/api/v1/kv", PUT).status());
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

    private static void assertRefused(Reply reply, String reason) {
        assertEquals(503, reply.status(), reply.body());
        assertEquals("kv_unavailable", reply.json().text("error"));
        assertEquals(reason, reply.json().text("reason"), reply.body());
        assertTrue(reply.response().headers().firstValue("Retry-After").isPresent());
    }
}
