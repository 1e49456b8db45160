package io.queenmq.push;

import static io.queenmq.push.TestEngine.item;
import static io.queenmq.push.TestEngine.minted;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import io.queenmq.dedup.DedupConfig;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** A broker that knows another window than the one in force. */
class PushWindowTest {
    private static final int REQUESTS = 4;

    private TestDatabase database;
    private TestEngine one;
    private TestEngine two;

    @BeforeEach
    void open() {
        database = TestDatabase.migrated();
        one = new TestEngine(database);
        two = new TestEngine(database);
    }

    @AfterEach
    void close() {
        one.close();
        two.close();
        database.close();
    }

    /** Requests of one id that wait for the same lane, and so could share a flush. */
    private List<PushResult> pushedAtOnce(String queue) throws Exception {
        try (Connection application = database.connect();
                Statement statement = application.createStatement();
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            application.setAutoCommit(false);
            statement.execute("select from queen_store.partitions for no key update");
            List<Future<List<PushResult>>> pushes = new ArrayList<>();
            for (int i = 0; i < REQUESTS; i++) {
                pushes.add(threads.submit(() -> one.push(item(queue, "p", "same", "1"))));
            }
            Await.until(
                    "all of them to be held",
                    () ->
                            one.metrics
                                    .prometheus()
                                    .matches("(?s).*queen_push_held_messages\\S* 4\\.0.*"));
            application.rollback();
            List<PushResult> results = new ArrayList<>();
            for (Future<List<PushResult>> push : pushes) {
                results.addAll(push.get());
            }
            return results;
        }
    }

    private String stored() throws SQLException {
        try (Connection connection = database.connect()) {
            return Lines.line(
                    connection,
                    "select count(*) from queen.messages where transaction_id = 'same'");
        }
    }

    @Test
    void aWindowThatAnotherBrokerOpenedHoldsForWhatWaitsTogether() throws Exception {
        one.configure("opened", "dedupWindowSeconds", "0");
        one.push(item("opened", "p", "first", "1"));
        two.configure("opened", "dedupWindowSeconds", "3600");
        List<PushResult> results = pushedAtOnce("opened");
        assertEquals(1, results.stream().filter(PushResult.Queued.class::isInstance).count());
        assertEquals("1", stored());
    }

    @Test
    void withoutAWindowEveryRequestIsStored() throws Exception {
        one.configure("closed", "dedupWindowSeconds", "0");
        one.push(item("closed", "p", "first", "1"));
        List<PushResult> results = pushedAtOnce("closed");
        for (PushResult result : results) {
            assertInstanceOf(PushResult.Queued.class, result);
        }
        assertEquals(Integer.toString(REQUESTS), stored());
    }

    /**
     * A key that was out of a window of a second, and so forgotten, is back in one of an hour: what
     * a broker vouches for by the shorter window does not hold.
     */
    @Test
    @Contract("dedup-13")
    void aWindowThatAnotherBrokerWidenedHoldsForWhatWasForgotten() throws SQLException {
        one.configure("widened", "dedupWindowSeconds", "1");
        one.push(item("widened", "p", "same", "1"));
        awaitClock(8);
        one.push(item("widened", "p", "other", "1"));
        two.configure("widened", "dedupWindowSeconds", "3600");
        assertInstanceOf(
                PushResult.Duplicate.class, one.push(item("widened", "p", "same", "1")).getFirst());
    }

    /** The memory of keys allows for clocks that are some seconds apart. */
    private void awaitClock(int seconds) throws SQLException {
        try (Connection connection = database.connect()) {
            String due =
                    Lines.line(
                            connection,
                            "select clock_timestamp() + make_interval(secs => " + seconds + ")");
            Await.until(
                    "time",
                    () ->
                            Lines.line(connection, "select clock_timestamp() > '" + due + "'")
                                    .equals("t"));
        }
    }

    /** An id that the broker made up is nowhere, so nobody looks for it, however much there is. */
    @Test
    void noKeyIsReadForIdsThatTheBrokerMinted() throws SQLException {
        try (TestEngine forgetful =
                        new TestEngine(
                                database,
                                database.port(),
                                PushConfig.defaults(),
                                new DedupConfig(0));
                Connection connection = database.connect()) {
            forgetful.push(item("minted", "p", "t", "1"));
            // A search would read this lane to its end and find it unreadable.
            TestDatabase.rows(
                    connection,
                    "insert into queen_store.segments (epoch, partition_id, base_offset,"
                            + " end_offset, created_at, flush_id, keys, frames)"
                            + " select 1, p.id, i, i, clock_timestamp(), i, s.keys, s.frames"
                            + " from queen_store.partitions p"
                            + " join queen_store.segments s on s.partition_id = p.id"
                            + " cross join generate_series(1, 2000) i");
            TestDatabase.rows(
                    connection,
                    "update queen_store.partitions set last_offset = 2000,"
                            + " last_created_at = clock_timestamp()");
            double before = forgetful.push.meters().cold.count();
            for (int i = 0; i < 10; i++) {
                PushResult result = forgetful.push(minted("minted", "p", "1")).getFirst();
                assertInstanceOf(PushResult.Queued.class, result);
                assertInstanceOf(
                        PushResult.Duplicate.class,
                        forgetful.push(item("minted", "p", result.transactionId(), "1")).getFirst(),
                        "and who brings it again is told so");
            }
            assertEquals(10, forgetful.push.meters().cold.count() - before);
        }
    }
}
