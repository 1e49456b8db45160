package io.queenmq.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TcpProxy;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** A replay whose answer is lost with the connection to the database. */
class LostReplayHttpTest {
    @Test
    @Contract("dlq-8")
    void nobodyClaimsToKnowWhatBecameOfIt() throws Exception {
        try (TestDatabase database = TestDatabase.migrated();
                TcpProxy link = new TcpProxy(database.host(), database.port());
                TestBroker broker = TestBroker.over(link, database);
                Connection holder = database.connect()) {
            Http http = broker.http();
            http.push("q", "p", "1");
            http.ack(http.pop("q", "").json(), 0, "dlq");
            Json letter = http.get("/api/v1/dlq").json().at("messages", 0);
            holder.setAutoCommit(false);
            TestDatabase.rows(holder, "select from queen_store.partitions for no key update");
            CompletableFuture<Http.Reply> replay =
                    http.postLater("/api/v1/dlq/" + letter.text("id") + "/replay", "");
            Await.until(
                    "the replay waits for the lane",
                    () ->
                            !TestDatabase.rows(holder, "select from pg_locks where not granted")
                                    .isEmpty());
            link.cut();
            Http.Reply reply = replay.get();
            assertEquals(500, reply.status(), reply.body());
            assertEquals(
                    List.of("success", "error", "dlqRowRemoved", "message"), reply.json().names());
            assertFalse(reply.json().bool("success"));
            assertTrue(reply.json().isNull("dlqRowRemoved"));
            holder.rollback();
        }
    }
}
