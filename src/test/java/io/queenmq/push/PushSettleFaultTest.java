package io.queenmq.push;

import static io.queenmq.push.TestEngine.minted;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.dedup.DedupConfig;
import io.queenmq.model.Caller;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.ready.LaneWrites;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.TcpProxy;
import io.queenmq.testkit.TestDatabase;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * The link to the database breaks at the worst moments. Whatever the answer to the client is, the
 * lane must hold what it says: queued is stored once, failed is not stored.
 */
@Timeout(120)
class PushSettleFaultTest {
    private static TestDatabase server;

    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private TcpProxy link;
    private Connection witness;

    @BeforeAll
    static void open() {
        server = TestDatabase.migrated();
    }

    @AfterAll
    static void close() {
        server.close();
    }

    @BeforeEach
    void connect() throws IOException, SQLException {
        link = new TcpProxy(server.host(), server.port());
        witness = server.connect();
    }

    @AfterEach
    void disconnect() throws IOException, SQLException {
        threads.shutdownNow();
        witness.close();
        link.close();
    }

    private TestEngine engine(PushConfig config) {
        return new TestEngine(server, link.port(), config, DedupConfig.defaults());
    }

    private List<String> payloads(String queue) throws SQLException {
        List<String> payloads = new ArrayList<>();
        for (Object[] row :
                TestDatabase.rows(
                        witness,
                        """
                        select p.name || ' ' || convert_from(d.payload, 'UTF8')
                        from queen_store.queues q
                        join queen_store.partitions p on p.queue_id = q.id
                        join queen_store.segments s on s.partition_id = p.id
                        cross join lateral queen_store.decode_segment(
                            s.partition_id, s.base_offset, s.created_at, s.keys, s.frames) d
                        where q.name = ?
                        order by p.name, d."offset"
                        """,
                        queue)) {
            payloads.add((String) row[0]);
        }
        return payloads;
    }

    private void awaitStored(String queue, int count) throws SQLException {
        Await.until(count + " stored messages", () -> payloads(queue).size() >= count);
    }

    @Test
    @Contract("push-22")
    void committedBatchWhoseAnswerIsLostIsQueuedOnce() throws Exception {
        try (TestEngine engine = engine(PushConfig.defaults())) {
            engine.push(minted("lost", "a", "1"));
            link.swallowAnswers(true);
            Future<List<PushResult>> pushed =
                    threads.submit(() -> engine.push(minted("lost", "a", "2")));
            awaitStored("lost", 2);
            assertFalse(pushed.isDone());
            link.swallowAnswers(false);
            link.cut();
            PushResult.Queued queued =
                    assertInstanceOf(PushResult.Queued.class, pushed.get().getFirst());
            assertEquals(queued.transactionId(), queued.messageId().toString());
            assertTrue(engine.push.meters().settled.count() >= 1);
            engine.push(minted("lost", "a", "3"));
        }
        assertEquals(List.of("a 1", "a 2", "a 3"), payloads("lost"));
    }

    /** The old server process still waits inside append when its connection breaks. */
    @Test
    @Contract("push-22")
    void uncommittedBatchWhoseConnectionBreaksIsStoredOnceAndInOrder() throws Exception {
        try (TestEngine engine = engine(PushConfig.defaults());
                Connection blocker = server.connect();
                Statement statement = blocker.createStatement()) {
            engine.push(minted("undone", "a", "1"));
            blocker.setAutoCommit(false);
            statement.execute("lock table queen_store.segments in share mode");
            Future<List<PushResult>> second =
                    threads.submit(() -> engine.push(minted("undone", "a", "2")));
            awaitWaitingBackends();
            link.cut();
            Future<List<PushResult>> third =
                    threads.submit(() -> engine.push(minted("undone", "a", "3")));
            awaitWaitingBackends();
            assertFalse(second.isDone());
            blocker.rollback();
            assertInstanceOf(PushResult.Queued.class, second.get().getFirst());
            assertInstanceOf(PushResult.Queued.class, third.get().getFirst());
        }
        assertEquals(List.of("a 1", "a 2", "a 3"), payloads("undone"));
    }

    /**
     * After a fail-over that lost the end of the log, a lane's number is handed out again. Method:
     * while the link is down and nothing is stored, the number goes to another lane.
     */
    @Test
    @Contract("push-22")
    void whatWasNotStoredBeforeAFailOverGoesWhereTheLaneIsNow() throws Exception {
        try (TestEngine engine = engine(PushConfig.defaults());
                Connection blocker = server.connect();
                Statement statement = blocker.createStatement()) {
            engine.push(minted("reused", "a", "1"));
            blocker.setAutoCommit(false);
            statement.execute("lock table queen_store.segments in share mode");
            Future<List<PushResult>> pushed =
                    threads.submit(() -> engine.push(minted("reused", "a", "2")));
            awaitWaitingBackends();
            link.refuse(true);
            link.cut();
            Await.until("the old process to end", this::endWaitingBackends);
            blocker.rollback();
            TestDatabase.rows(
                    witness,
                    "update queen_store.partitions p set name = 'z' from queen_store.queues q"
                            + " where q.id = p.queue_id and q.name = 'reused' returning p.id");
            failOver(engine);
            link.refuse(false);
            assertInstanceOf(PushResult.Queued.class, pushed.get().getFirst());
        }
        assertEquals(List.of("a 2", "z 1"), payloads("reused"));
    }

    @Test
    @Contract("push-22")
    void whatTheNewServerHasIsNotStoredAgainAfterAFailOver() throws Exception {
        try (TestEngine engine = engine(PushConfig.defaults())) {
            engine.push(minted("kept", "a", "1"));
            link.swallowAnswers(true);
            Future<List<PushResult>> pushed =
                    threads.submit(() -> engine.push(minted("kept", "a", "2")));
            awaitStored("kept", 2);
            failOver(engine);
            link.swallowAnswers(false);
            link.cut();
            assertInstanceOf(PushResult.Queued.class, pushed.get().getFirst());
            assertEquals(
                    List.of(0L, 1L),
                    engine.written.stream().map(LaneWrites.Lane::lastOffset).toList());
        }
        assertEquals(List.of("a 1", "a 2"), payloads("kept"));
    }

    /** The next connection is to a server that the engine does not know. */
    private static void failOver(TestEngine engine) {
        engine.memory.serverIs(
                "a timeline before", System.currentTimeMillis(), engine.catalog::serverChanged);
    }

    private boolean endWaitingBackends() throws SQLException {
        return TestDatabase.rows(
                        witness,
                        "select pg_terminate_backend(pid) from pg_stat_activity where datname ="
                                + " current_database() and application_name like 'queen-%' and"
                                + " wait_event_type = 'Lock'")
                .isEmpty();
    }

    private void awaitWaitingBackends() throws SQLException {
        String waiting =
                "select 1 from pg_stat_activity where datname = current_database()"
                        + " and wait_event_type = 'Lock' and state = 'active'";
        Await.until("a blocked session", () -> !TestDatabase.rows(witness, waiting).isEmpty());
    }

    @Test
    @Contract("push-21")
    void whatStaysInDoubtIsNeverCalledFailed() throws Exception {
        try (TestEngine engine = engine(TestEngine.impatient(Duration.ofSeconds(1)))) {
            engine.push(minted("doubt", "a", "1"));
            link.swallowAnswers(true);
            Future<List<PushResult>> pushed =
                    threads.submit(() -> engine.push(minted("doubt", "a", "2")));
            awaitStored("doubt", 2);
            link.refuse(true);
            link.cut();
            ExecutionException failed = assertThrows(ExecutionException.class, pushed::get);
            QueenException unknown = assertInstanceOf(QueenException.class, failed.getCause());
            assertEquals(Failure.OUTCOME_UNKNOWN, unknown.failure());
            link.swallowAnswers(false);
            link.refuse(false);
        }
        assertEquals(List.of("a 1", "a 2"), payloads("doubt"));
    }

    @Test
    @Contract("push-21")
    void aBugThatShowsWhenALostAnswerIsSettledLeavesItInDoubtAndTheLaneFree() throws Exception {
        try (TestEngine engine = engine(TestEngine.impatient(Duration.ofSeconds(15)));
                Statement statement = witness.createStatement()) {
            engine.push(minted("bug", "a", "1"));
            link.swallowAnswers(true);
            Future<List<PushResult>> pushed =
                    threads.submit(() -> engine.push(minted("bug", "a", "2")));
            awaitStored("bug", 2);
            Object right =
                    TestDatabase.rows(
                                    witness,
                                    "select pg_get_functiondef("
                                            + "'queen_store.find_flushes'::regproc)")
                            .getFirst()[0];
            statement.execute(
                    """
                    create or replace function queen_store.find_flushes(
                        p_partition_ids bigint[], p_flush_ids bigint[], p_settle_above bigint[])
                    returns table (
                        ordinal integer, base_offset bigint, created_at timestamptz,
                        queue_id integer, last_offset bigint, written_by xid)
                    language sql stable parallel safe
                    as 'select 1, 0::bigint, null::timestamptz, 1, 0::bigint, null::xid'
                    """);
            link.swallowAnswers(false);
            link.cut();
            ExecutionException failed = assertThrows(ExecutionException.class, pushed::get);
            QueenException unknown = assertInstanceOf(QueenException.class, failed.getCause());
            assertEquals(Failure.OUTCOME_UNKNOWN, unknown.failure());
            statement.execute(String.valueOf(right));
            assertInstanceOf(
                    PushResult.Queued.class, engine.push(minted("bug", "a", "3")).getFirst());
        }
        assertEquals(List.of("a 1", "a 2", "a 3"), payloads("bug"));
    }

    @Test
    @Contract("push-19")
    void databaseThatRefusesConnectionsMakesItemsFailed() throws Exception {
        link.refuse(true);
        try (TestEngine engine = engine(TestEngine.impatient(Duration.ofSeconds(5)))) {
            List<PushResult> results =
                    engine.push(minted("away", "a", "1"), minted("away", "b", "2"));
            assertInstanceOf(PushResult.Failed.class, results.get(0));
            assertInstanceOf(PushResult.Failed.class, results.get(1));
            link.refuse(false);
            PushResult later = PushResultOnceBack.of(engine, minted("away", "a", "3"));
            assertInstanceOf(PushResult.Queued.class, later);
        }
        assertEquals(List.of("a 3"), payloads("away"));
    }

    /** The pool comes back by itself; until then the same message is refused. */
    private static final class PushResultOnceBack {
        static PushResult of(TestEngine engine, PushItem item) {
            while (true) {
                PushResult result = engine.push(item).getFirst();
                if (!(result instanceof PushResult.Failed)) {
                    return result;
                }
            }
        }
    }

    /**
     * 16 producers push to 4 lanes while the server ends the broker's processes again and again:
     * whatever was answered with queued is stored once, in order; nothing else is stored.
     */
    @Test
    @Contract("push-22")
    void backendsEndedUnderLoadLoseAndDoubleNothing() throws Exception {
        List<Future<List<String>>> producers = new ArrayList<>();
        List<String> queued = new ArrayList<>();
        try (TestEngine engine = engine(PushConfig.defaults())) {
            for (int p = 0; p < 16; p++) {
                int producer = p;
                producers.add(
                        threads.submit(
                                () -> {
                                    List<String> mine = new ArrayList<>();
                                    for (int i = 0; i < 60; i++) {
                                        String payload = producer + "/" + i;
                                        String lane = "lane" + producer % 4;
                                        PushResult result =
                                                engine.push
                                                        .push(
                                                                Caller.ANYONE,
                                                                List.of(
                                                                        minted(
                                                                                "chaos", lane,
                                                                                payload)))
                                                        .getFirst();
                                        if (result instanceof PushResult.Queued) {
                                            mine.add(lane + " " + payload);
                                        }
                                    }
                                    return mine;
                                }));
            }
            while (producers.stream().anyMatch(producer -> !producer.isDone())) {
                TestDatabase.rows(
                        witness,
                        "select pg_terminate_backend(pid, 1000) from pg_stat_activity where"
                                + " application_name like 'queen-%' and query like '%append%'"
                                + " and datname = current_database()");
                TestDatabase.rows(witness, "select pg_sleep(0.1)");
            }
            for (Future<List<String>> producer : producers) {
                queued.addAll(producer.get());
            }
        }
        List<String> stored = payloads("chaos");
        Map<String, Integer> last = new HashMap<>();
        for (String payload : stored) {
            String[] parts = payload.split("[ /]", 3);
            int number = Integer.parseInt(parts[2]);
            assertTrue(last.getOrDefault(parts[1], -1) < number, payload);
            last.put(parts[1], number);
        }
        assertEquals(queued.stream().sorted().toList(), stored.stream().sorted().toList());
    }
}
