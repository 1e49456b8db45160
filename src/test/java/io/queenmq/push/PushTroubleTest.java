package io.queenmq.push;

import static io.queenmq.push.TestEngine.item;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.dedup.DedupConfig;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What becomes of a push when something beside the database goes wrong. */
@Timeout(120)
class PushTroubleTest {
    private static TestDatabase server;

    @BeforeAll
    static void open() {
        server = TestDatabase.migrated();
    }

    @AfterAll
    static void close() {
        server.close();
    }

    private static List<String> stored(Connection connection, String queue) throws SQLException {
        return Lines.lines(
                connection,
                "select p.name || ' ' || d.transaction_id from queen_store.queues q join"
                        + " queen_store.partitions p on p.queue_id = q.id join queen_store.segments"
                        + " s on s.partition_id = p.id cross join lateral"
                        + " queen_store.decode_segment(s.partition_id, s.base_offset, s.created_at,"
                        + " s.keys, s.frames) d where q.name = '"
                        + queue
                        + "' order by s.epoch, p.name, d.\"offset\"");
    }

    /** Goal: nobody is told that it failed, nothing is stored twice, the lane goes on. */
    @Test
    @Contract("error-3")
    void whatIsStoredIsAnsweredAlsoWhenNobodyCanBeToldOfIt() throws SQLException {
        AtomicBoolean broken = new AtomicBoolean();
        try (TestEngine engine =
                        new TestEngine(
                                server,
                                server.port(),
                                PushConfig.defaults(),
                                DedupConfig.defaults(),
                                Clock.SYSTEM,
                                lanes -> {
                                    if (broken.get()) {
                                        throw new IllegalStateException("on purpose");
                                    }
                                });
                Connection witness = server.connect()) {
            engine.push(item("broken", "a", "1", "x"), item("broken", "b", "1", "x"));
            broken.set(true);
            for (PushResult result :
                    engine.push(item("broken", "a", "2", "x"), item("broken", "b", "2", "x"))) {
                assertInstanceOf(PushResult.Queued.class, result);
            }
            broken.set(false);
            engine.push(item("broken", "a", "3", "x"), item("broken", "b", "3", "x"));
            List<String> stored = stored(witness, "broken").stream().sorted().toList();
            assertEquals(List.of("a 1", "a 2", "a 3", "b 1", "b 2", "b 3"), stored);
        }
    }

    /**
     * Goal: after a fail-over that lost lanes their numbers are handed out again, and what was on
     * its way to the old one must not land there. Method: a push waits behind another of its lane
     * while that takes another name and its own goes to a new one.
     */
    @Test
    void pushThatOutlivesItsServerLooksItsLaneUpAgain() throws Exception {
        CountDownLatch goOn = new CountDownLatch(1);
        AtomicBoolean stored = new AtomicBoolean();
        try (TestEngine engine =
                        new TestEngine(
                                server,
                                server.port(),
                                PushConfig.defaults(),
                                DedupConfig.defaults(),
                                Clock.SYSTEM,
                                lanes -> {
                                    stored.set(true);
                                    await(goOn);
                                });
                Connection application = server.connect();
                Statement statement = application.createStatement()) {
            FutureTask<List<PushResult>> first =
                    new FutureTask<>(() -> engine.push(item("failover", "fa", "1", "x")));
            Thread.ofPlatform().start(first);
            Await.until("the message to be stored", stored::get);
            FutureTask<List<PushResult>> second =
                    new FutureTask<>(() -> engine.push(item("failover", "fa", "2", "x")));
            Thread waiting = Thread.ofPlatform().start(second);
            Await.until(
                    "the caller to wait", () -> waiting.getState() == Thread.State.TIMED_WAITING);

            statement.execute("update queen_store.partitions set name = 'other' where name = 'fa'");
            statement.execute(
                    "insert into queen_store.partitions (queue_id, name) select queue_id, 'fa' from"
                            + " queen_store.partitions where name = 'other'");
            engine.memory.serverIs(
                    "another", System.currentTimeMillis(), engine.catalog::serverChanged);
            goOn.countDown();

            assertInstanceOf(PushResult.Queued.class, first.get().getFirst());
            assertInstanceOf(PushResult.Queued.class, second.get().getFirst());
            assertEquals(
                    List.of("fa 2", "other 1"),
                    stored(application, "failover").stream().sorted().toList());
        }
    }

    private static void await(CountDownLatch latch) {
        try {
            latch.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    @Contract("push-20")
    void pushThatIsLateSaysWhatItWaitedFor() throws Exception {
        try (TestEngine engine =
                        new TestEngine(
                                server,
                                server.port(),
                                TestEngine.impatient(Duration.ofSeconds(2)),
                                DedupConfig.defaults());
                Connection application = server.connect();
                Statement statement = application.createStatement();
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            engine.push(item("late", "held", "1", "x"));
            application.setAutoCommit(false);
            statement.execute(
                    "select 1 from queen_store.partitions where name = 'held' for no key update");
            Future<QueenException> first = threads.submit(() -> late(engine, "2"));
            Await.until("a busy verdict", () -> engine.push.meters().busy.count() > 0);
            assertTrue(first.get().detail().contains("held by somebody else"), "the first");
            application.rollback();
        }
    }

    private static QueenException late(TestEngine engine, String id) {
        return assertThrows(QueenException.class, () -> engine.push(item("late", "held", id, "x")));
    }
}
