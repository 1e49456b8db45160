package io.queenmq.maintain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.db.Database;
import io.queenmq.metrics.Metrics;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/**
 * Space on demand beside a broker whose clients go on. Goal: bytes of a deleted queue come back
 * while another queue is written and read; of that one nothing is lost, doubled or reordered,
 * though its messages lie in the tables that go.
 */
class ReclaimHttpTest {
    private static final int DEAD_PUSHES = 100;
    private static final int DEAD_BYTES = 20_000;
    private static final String POP = "batch=50&autoAck=true&subscriptionMode=all&consumerGroup=g";

    private final List<String> pushed = Collections.synchronizedList(new ArrayList<>());
    private final List<String> popped = Collections.synchronizedList(new ArrayList<>());
    private final AtomicBoolean enough = new AtomicBoolean();

    private void push(Http http) {
        while (!enough.get()) {
            String number = Integer.toString(pushed.size());
            http.push("live", "a", number);
            pushed.add(number);
        }
    }

    private void pop(Http http) {
        while (!enough.get()) {
            Http.Reply reply = http.pop("live", POP);
            if (reply.status() == 200) {
                popped.addAll(reply.payloads());
            }
        }
    }

    @Test
    void bytesComeBackBesideABrokerAndNothingIsLost() throws Exception {
        try (TestDatabase database = TestDatabase.migrated();
                TestBroker broker = TestBroker.on(database);
                Connection connection = database.connect();
                Database pool = database.pool();
                Metrics metrics = new Metrics()) {
            Http http = broker.http();
            // Incompressible, so that it takes its size wherever the server compresses.
            String payload =
                    Lines.line(
                            connection,
                            "select '\"' || string_agg(md5(random()::text), '') || '\"' from"
                                    + " generate_series(1, "
                                    + DEAD_BYTES / 32
                                    + ")");
            for (int i = 0; i < DEAD_PUSHES; i++) {
                http.push("old", "a", payload);
                String number = Integer.toString(pushed.size());
                http.push("live", "a", number);
                pushed.add(number);
            }
            assertEquals(200, http.delete("/api/v1/resources/queues/old").status());

            CompletableFuture<Void> pushing = CompletableFuture.runAsync(() -> push(http));
            CompletableFuture<Void> popping = CompletableFuture.runAsync(() -> pop(http));
            Await.until("traffic", () -> !popped.isEmpty() && pushed.size() > DEAD_PUSHES);
            long wanted = DEAD_PUSHES * (long) DEAD_BYTES / 2;
            Reclaim.Outcome outcome =
                    new Reclaim(pool, metrics, Clock.SYSTEM)
                            .run(wanted, Duration.ofSeconds(60), line -> {});
            int atTheEnd = popped.size();
            Await.until(
                    "traffic goes on",
                    () -> popped.size() > atTheEnd || pushing.isDone() || popping.isDone());
            enough.set(true);
            pushing.get();
            popping.get();

            assertEquals(Optional.empty(), outcome.stoppedBy());
            assertTrue(outcome.freedBytes() >= wanted, outcome.toString());
            assertEquals(
                    "0",
                    Lines.line(
                            connection, "select count(*) from queen_store.epochs where epoch = 1"));
            while (popped.size() < pushed.size()) {
                Http.Reply reply = http.pop("live", POP);
                assertEquals(200, reply.status(), "lost behind " + popped.size());
                popped.addAll(reply.payloads());
            }
            assertEquals(pushed, popped);
            assertEquals(stored(connection), pushed, "those that were moved are stored, too");
            assertEquals(
                    List.of(),
                    Lines.lines(connection, "select * from queen.violations('live', 'a')"));
        }
    }

    private List<String> stored(Connection connection) throws SQLException {
        List<String> stored =
                Lines.lines(
                        connection,
                        "select payload from queen.messages where queue = 'live' order by"
                                + " \"offset\"");
        assertEquals(
                IntStream.range(0, stored.size()).mapToObj(Integer::toString).toList(), stored);
        return stored;
    }
}
