package io.queenmq.notify;

import static io.queenmq.testkit.ConsumeEngine.payloads;
import static io.queenmq.testkit.ConsumeEngine.queueMode;
import static io.queenmq.testkit.ConsumeEngine.sized;
import static io.queenmq.testkit.ConsumeEngine.waiting;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.ack.AckStatus;
import io.queenmq.db.Database;
import io.queenmq.db.DatabaseConfig;
import io.queenmq.hint.HintOutbox;
import io.queenmq.metrics.Metrics;
import io.queenmq.pop.PopRequest;
import io.queenmq.pop.PopResult;
import io.queenmq.ready.Poll;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.ConsumeEngine;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.LogCapture;
import io.queenmq.testkit.Pooler;
import java.sql.Connection;
import java.sql.DriverManager;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Two brokers over one database, which hear of each other by notifications only. */
@Timeout(120)
class NotifyEngineTest {
    private ConsumeEngine first;
    private ConsumeEngine second;
    private NotifyCarrier firstCarrier;
    private NotifyCarrier secondCarrier;

    @BeforeEach
    void start() {
        first = new ConsumeEngine();
        second = new ConsumeEngine(first.server);
        firstCarrier = carrier(first);
        secondCarrier = carrier(second);
        Await.until("the first listener", firstCarrier::isListening);
        Await.until("the second listener", secondCarrier::isListening);
    }

    @AfterEach
    void stop() {
        firstCarrier.close();
        secondCarrier.close();
        second.close();
        first.close();
    }

    @Test
    @Contract("pop-wait-3")
    void aWriteAtOneBrokerWakesAPollAtTheOther() throws Exception {
        CompletableFuture<PopResult> answer = park(second, queueMode("hinted"));
        first.push("hinted", "a", "1");
        assertEquals(List.of("1"), payloads(answer.get(30, TimeUnit.SECONDS)));
    }

    @Test
    void aPushInSqlWakesAPoll() throws Exception {
        CompletableFuture<PopResult> answer = park(second, queueMode("sql"));
        first.store("sql", "a", "1");
        assertEquals(List.of("1"), payloads(answer.get(30, TimeUnit.SECONDS)));
    }

    @Test
    @Contract("pop-wait-3")
    void aReleaseAtOneBrokerWakesAPollAtTheOther() throws Exception {
        first.push("released", "a", "1", "2");
        PopRequest one = sized(queueMode("released"), 1, 1);
        PopResult held = first.pop(one);
        CompletableFuture<PopResult> answer = park(second, one);
        first.ack(one, held, AckStatus.COMPLETED);
        assertEquals(List.of("2"), payloads(answer.get(30, TimeUnit.SECONDS)));
    }

    @Test
    void aKilledListenerComesBackAndNothingIsMissed() throws Exception {
        CompletableFuture<PopResult> answer = park(second, queueMode("healed"));
        killOthers();
        first.store("healed", "a", "1");
        assertEquals(List.of("1"), payloads(answer.get(30, TimeUnit.SECONDS)));
        Await.until("the second listener", secondCarrier::isListening);
        CompletableFuture<PopResult> next = park(second, queueMode("healed too"));
        first.push("healed too", "a", "2");
        assertEquals(List.of("2"), payloads(next.get(30, TimeUnit.SECONDS)));
    }

    /** It is no outage, so the log says why nobody is told, as of any bug. */
    @Test
    void whatTheServerRefusesIsToldWithItsReason() {
        try (LogCapture log = new LogCapture()) {
            first.rows("alter function pg_catalog.pg_notify(text, text) rename to gone");
            killOthers();
            first.outbox.everythingChanged();
            String reason = "QueenException: the connection for hints is refused: ERROR: function";
            Await.until("the reason", () -> log.text().contains(reason));
            assertTrue(log.text().contains("\tat io.queenmq.notify.NotifyCarrier"), log.text());
        }
    }

    /** One that lends connections for a transaction takes LISTEN, and nothing ever comes. */
    @Test
    void behindAPoolerOfTransactionsItIsKnownToBeDeafAndSaysWhatToDo() throws Exception {
        DatabaseConfig direct = first.server.config();
        try (LogCapture log = new LogCapture();
                Pooler pooler = new Pooler(direct.port(), Pooler.Mode.TRANSACTION)) {
            DatabaseConfig pooled =
                    direct.at(
                            "127.0.0.1",
                            pooler.port(),
                            direct.database(),
                            direct.user(),
                            direct.password());
            try (Database database = new Database(pooled, new Metrics(), Clock.SYSTEM);
                    NotifyCarrier carrier =
                            new NotifyCarrier(
                                    database,
                                    new HintOutbox(),
                                    first.hinted,
                                    new Metrics(),
                                    Clock.SYSTEM)) {
                carrier.start();
                String told =
                        "it goes on loop=notify-listener error=the connection for hints is shared"
                                + " with others by a pooler that lends it for a transaction:"
                                + " connect directly, or let it pool sessions";
                Await.until(
                        "it believes that it listens, or knows better",
                        () -> carrier.isListening() || log.text().contains(told));
                // In a transaction each: the listener gets another server connection now.
                List<Connection> busy = new ArrayList<>();
                for (int i = 0; i < 4; i++) {
                    Connection session =
                            DriverManager.getConnection(
                                    "jdbc:postgresql://127.0.0.1:%d/%s?user=%s&preferQueryMode=simple"
                                            .formatted(
                                                    pooler.port(),
                                                    direct.database(),
                                                    direct.user()));
                    session.setAutoCommit(false);
                    session.createStatement().execute("select 1");
                    busy.add(session);
                }
                Await.until("what to do is told", () -> log.text().contains(told));
                assertFalse(carrier.isListening());
                assertFalse(log.text().contains("\tat "), log.text());
                for (Connection session : busy) {
                    session.close();
                }
            }
        }
    }

    @Test
    @Contract("pop-wait-3")
    void withoutAListenerALookFindsWhatWasWritten() throws Exception {
        secondCarrier.close();
        CompletableFuture<PopResult> answer = park(second, queueMode("bridged"));
        first.store("bridged", "a", "1");
        second.hinted.bridge(() -> false);
        assertEquals(List.of("1"), payloads(answer.get(30, TimeUnit.SECONDS)));
        assertFalse(secondCarrier.isListening());
    }

    @Test
    void whatIsStillToBeToldIsToldOnClose() throws Exception {
        firstCarrier.close();
        first.rows("select set_config('queen.notify', 'off', false)");
        CompletableFuture<PopResult> answer = park(second, queueMode("farewell"));
        first.push("farewell", "a", "1");
        firstCarrier.close();
        assertEquals(List.of("1"), payloads(answer.get(30, TimeUnit.SECONDS)));
    }

    @Test
    void aHintThatCannotBeLookedUpIsCountedAndNotThrown() {
        Poll poll = second.ready.open();
        second.database.close();
        second.hinted.lanesWritten(List.of(1L));
        second.ready.close(poll);
        assertEquals(
                1,
                second.metrics
                        .counter(
                                "queen_ready_hints_unresolved_total",
                                "Hints whose lanes could not be looked up: the tables are read"
                                        + " instead.")
                        .count());
    }

    @Test
    void aQueueDeletedAtOneBrokerIsLookedUpAgainAtTheOther() throws Exception {
        first.push("reborn", "a", "1");
        PopResult result = second.pop(queueMode("reborn"));
        second.ack(queueMode("reborn"), result, AckStatus.COMPLETED);
        CompletableFuture<PopResult> answer = park(second, queueMode("reborn"));
        int queueId = first.lane("reborn", "a").queueId();
        first.rows(
                "select queen_store.delete_queue(?::uuid, 'reborn')",
                "00000000-0000-0000-0000-000000000001");
        first.ready.queueChanged(queueId);
        String reborn =
                "select 1 from queen_store.queues where name = 'reborn' and deleted_at is null";
        Await.until("the queue to be made again", () -> !first.rows(reborn).isEmpty());
        first.push("reborn", "a", "2");
        assertEquals(List.of("2"), payloads(answer.get(30, TimeUnit.SECONDS)));
    }

    /** Ends every server process but the one that asks. */
    private void killOthers() {
        first.rows(
                "select pg_terminate_backend(pid, 5000) from pg_stat_activity"
                        + " where datname = current_database() and pid <> pg_backend_pid()");
    }

    private static NotifyCarrier carrier(ConsumeEngine engine) {
        NotifyCarrier carrier =
                new NotifyCarrier(
                        engine.database,
                        engine.outbox,
                        engine.hinted,
                        engine.metrics,
                        Clock.SYSTEM);
        carrier.start();
        return carrier;
    }

    private static CompletableFuture<PopResult> park(ConsumeEngine engine, PopRequest request) {
        int before = engine.ready.pollCount();
        CompletableFuture<PopResult> answer =
                CompletableFuture.supplyAsync(
                        () -> engine.pop(waiting(request, Duration.ofSeconds(100))),
                        Executors.newVirtualThreadPerTaskExecutor());
        Await.until("a parked poll", () -> engine.ready.pollCount() > before);
        return answer;
    }
}
