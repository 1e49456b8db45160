package io.queenmq.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Http.Reply;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** {@code /api/v1/system/kv-timers}: what operators switch off stays off. */
class SwitchHttpTest {
    private static final String PATH = "/api/v1/system/kv-timers";
    private static final String GET = "[{\"op\":\"get\",\"ns\":\"n\",\"key\":\"k\"}]";

    @Contract({"switch-1", "switch-2", "kv-26"})
    @Test
    void whatIsSwitchedOffIsRefusedByEveryBroker() {
        try (TestDatabase database = TestDatabase.migrated();
                TestBroker one = TestBroker.on(database);
                TestBroker two = TestBroker.on(database)) {
            two.awaitListening();
            Http http = one.http();
            Json state = http.get(PATH).json();
            assertTrue(state.bool("kvEnabled"));
            Json set = http.post(PATH, "{\"kv\":false}").json();
            assertTrue(set.bool("mirrored"));
            assertFalse(set.bool("kvEnabled"));
            assertTrue(set.bool("timersFireEnabled"));
            Reply refused = http.post("/api/v1/kv", GET);
            assertEquals(503, refused.status());
            assertEquals("kv_disabled", refused.json().text("error"));
            assertEquals("1", refused.response().headers().firstValue("Retry-After").orElse(""));
            assertEquals(503, http.post("/api/v1/locks", "[]").status());
            Reply bundle = http.post("/api/v1/transaction", "{\"kv\":" + GET + "}");
            assertEquals(403, bundle.status(), bundle.body());
            assertEquals("kv_disabled", bundle.json().text("reason"));
            http.push("q", "p", "1");
            Await.until(
                    "the other broker refuses too",
                    () -> two.http().post("/api/v1/kv", GET).status() == 503);
            try (TestBroker three = TestBroker.on(database)) {
                Await.until(
                        "a broker that starts knows",
                        () -> !three.http().get(PATH).json().bool("kvEnabled"));
            }
            two.http().post(PATH, "{\"kv\":true,\"timersSchedule\":false}");
            assertEquals(200, two.http().post("/api/v1/kv", GET).status());
            assertFalse(two.http().get(PATH).json().bool("timersScheduleEnabled"));
        }
    }

    @Contract("switch-1")
    @Test
    void aSwitchIsABoolean() {
        try (TestBroker broker = TestBroker.start()) {
            assertEquals(400, broker.http().post(PATH, "{}").status());
            assertEquals(400, broker.http().post(PATH, "{\"kv\":1}").status());
            assertTrue(broker.http().get(PATH).json().bool("kvEnabled"));
        }
    }

    /** What is read while something is being set is older than that. */
    @Contract("switch-2")
    @Test
    void whatIsBeingSetIsNotUndoneByRowsOfBefore() throws Exception {
        try (TestDatabase database = TestDatabase.migrated();
                TestBroker one = TestBroker.on(database);
                TestBroker two = TestBroker.on(database);
                Connection holder = database.connect()) {
            one.awaitListening();
            two.http().post(PATH, "{\"kv\":true}");
            holder.setAutoCommit(false);
            TestDatabase.rows(
                    holder, "select 1 from queen_store.switches where name = 'kv' for update");
            CompletableFuture<Reply> setting = one.http().postLater(PATH, "{\"kv\":false}");
            Await.until("it holds at once", () -> !one.http().get(PATH).json().bool("kvEnabled"));
            two.http().post(PATH, "{\"timersSchedule\":false}");
            Await.until(
                    "the rows are read again",
                    () -> !one.http().get(PATH).json().bool("timersScheduleEnabled"));
            assertFalse(one.http().get(PATH).json().bool("kvEnabled"));
            holder.rollback();
            assertTrue(setting.join().json().bool("mirrored"));
            assertFalse(one.http().get(PATH).json().bool("kvEnabled"));
            Await.until("the other is told", () -> !two.http().get(PATH).json().bool("kvEnabled"));
        }
    }
}
