package io.queenmq.push;

import static io.queenmq.push.TestEngine.batch;
import static io.queenmq.push.TestEngine.item;
import static io.queenmq.push.TestEngine.minted;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.combine.CombinerConfig;
import io.queenmq.dedup.DedupConfig;
import io.queenmq.model.Caller;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.model.Slice;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(120)
class PushEngineTest {
    private static TestDatabase server;
    private static TestEngine engine;

    @BeforeAll
    static void open() {
        server = TestDatabase.migrated();
        engine = new TestEngine(server);
    }

    @AfterAll
    static void close() {
        engine.close();
        server.close();
    }

    private static List<Object[]> stored(String queue) throws SQLException {
        try (Connection connection = server.connect()) {
            return new ArrayList<>(
                    TestDatabase.rows(
                            connection,
                            """
                            select p.name, d."offset", d.transaction_id, d.message_id,
                                convert_from(d.payload, 'UTF8')
                            from queen_store.queues q
                            join queen_store.partitions p on p.queue_id = q.id
                            join queen_store.segments s on s.partition_id = p.id
                            cross join lateral queen_store.decode_segment(
                                s.partition_id, s.base_offset, s.created_at, s.keys, s.frames) d
                            where q.name = ? and q.deleted_at is null
                            order by p.name, d."offset"
                            """,
                            queue));
        }
    }

    private static List<String> payloads(String queue) throws SQLException {
        return stored(queue).stream().map(row -> (String) row[4]).toList();
    }

    @Test
    void storesItemsLaneByLaneAndAnswersInRequestOrder() throws SQLException {
        List<PushResult> results =
                engine.push(
                        item("order", "a", "x1", "1"),
                        item("order", "b", "x1", "2"),
                        minted("order", "a", "3"),
                        item("order", "", "5d1c9a36-0d8a-4c80-8c3c-2f0a0ab5d8f1", "4"));
        assertEquals(List.of("1", "3", "2", "4"), payloadsByLane("order", "a", "b", "Default"));
        for (PushResult result : results) {
            assertInstanceOf(PushResult.Queued.class, result);
        }
        List<Object[]> rows = stored("order");
        Map<Object, Object> idByTransaction = new HashMap<>();
        rows.forEach(row -> idByTransaction.put(row[0] + "/" + row[2], row[3]));
        assertEquals(idByTransaction.get("a/x1"), messageId(results.get(0)));
        assertEquals(idByTransaction.get("b/x1"), messageId(results.get(1)));
        assertEquals(
                messageId(results.get(2)).toString(),
                results.get(2).transactionId(),
                "a minted id is the transactionId as well");
        assertEquals(
                idByTransaction.get("a/" + results.get(2).transactionId()),
                messageId(results.get(2)));
    }

    private static List<String> payloadsByLane(String queue, String... lanes) throws SQLException {
        List<String> payloads = new ArrayList<>();
        for (String lane : lanes) {
            for (Object[] row : stored(queue)) {
                if (lane.equals(row[0])) {
                    payloads.add((String) row[4]);
                }
            }
        }
        return payloads;
    }

    private static UUID messageId(PushResult result) {
        return switch (result) {
            case PushResult.Queued queued -> queued.messageId();
            case PushResult.Duplicate duplicate -> duplicate.messageId();
            case PushResult.Failed failed -> failed.messageId();
        };
    }

    @Test
    @Contract("model-11")
    void payloadBytesAreStoredAsTheyCame() throws SQLException {
        String payload =
                "{\"a\":1e400,\"a\":[12345678901234567890123456789012345678901,\"\\u0000\\ud800\"]}";
        engine.push(minted("verbatim", "p", payload));
        assertEquals(List.of(payload), payloads("verbatim"));
    }

    @Test
    @Contract("dedup-5")
    void sameTransactionIdTwiceInARequestIsStoredOnce() throws SQLException {
        List<PushResult> results =
                engine.push(
                        item("twice", "a", "t", "first"),
                        item("twice", "b", "t", "other lane"),
                        item("twice", "a", "t", "second"));
        assertInstanceOf(PushResult.Queued.class, results.get(0));
        assertInstanceOf(PushResult.Queued.class, results.get(1));
        assertInstanceOf(PushResult.Duplicate.class, results.get(2));
        assertEquals(messageId(results.get(0)), messageId(results.get(2)));
        assertEquals(List.of("first", "other lane"), payloads("twice"));
    }

    @Test
    @Contract({"push-18", "dedup-7"})
    void repeatedPushAnswersWithTheOriginalIdsAndStoresTheRest() throws SQLException {
        List<PushItem> items = batch("repeat", "a", 10, "m");
        List<PushResult> first = engine.push.push(Caller.ANYONE, items);
        List<PushItem> mixed = new ArrayList<>(items);
        mixed.add(3, minted("repeat", "a", "new1"));
        mixed.add(minted("repeat", "a", "new2"));
        List<PushResult> second = new ArrayList<>(engine.push.push(Caller.ANYONE, mixed));
        assertInstanceOf(PushResult.Queued.class, second.remove(3 + 8));
        assertInstanceOf(PushResult.Queued.class, second.remove(3));
        for (int i = 0; i < 10; i++) {
            assertInstanceOf(PushResult.Duplicate.class, second.get(i));
            assertEquals(messageId(first.get(i)), messageId(second.get(i)));
        }
        assertEquals(12, payloads("repeat").size());
        assertEquals(List.of("new1", "new2"), payloads("repeat").subList(10, 12));
    }

    @Test
    void windowOfZeroStoresARepeatedIdAgainButNotTwiceInARequest() throws SQLException {
        engine.configure("window0", "dedupWindowSeconds", "0");
        engine.push(item("window0", "a", "t", "1"), item("window0", "a", "t", "2"));
        assertInstanceOf(
                PushResult.Queued.class, engine.push(item("window0", "a", "t", "3")).getFirst());
        assertEquals(List.of("1", "3"), payloads("window0"));
    }

    /**
     * 32 producers push batches to 4 lanes, each waiting for its answer before the next: every lane
     * must hold each producer's messages once, in the order they were pushed, at consecutive
     * offsets.
     */
    @Test
    @Contract({"push-10", "push-14"})
    void manyProducersOverFewLanesKeepOrderWithoutGapsOrDuplicates() throws Exception {
        int producers = 32;
        int rounds = 20;
        parallel(
                producers,
                producer -> {
                    for (int round = 0; round < rounds; round++) {
                        List<PushItem> items = new ArrayList<>();
                        for (int i = 0; i < 8; i++) {
                            items.add(
                                    minted(
                                            "many",
                                            "lane" + i % 4,
                                            producer + " " + (round * 8 + i)));
                        }
                        for (PushResult result : engine.push.push(Caller.ANYONE, items)) {
                            assertInstanceOf(PushResult.Queued.class, result);
                        }
                    }
                });
        Map<String, Long> nextOffset = new HashMap<>();
        Map<String, Integer> lastOfProducer = new HashMap<>();
        List<Object[]> rows = stored("many");
        assertEquals(producers * rounds * 8, rows.size());
        for (Object[] row : rows) {
            String lane = (String) row[0];
            assertEquals(nextOffset.getOrDefault(lane, 0L), row[1]);
            nextOffset.put(lane, (Long) row[1] + 1);
            String[] payload = ((String) row[4]).split(" ", 2);
            String key = lane + "/" + payload[0];
            int number = Integer.parseInt(payload[1]);
            assertTrue(lastOfProducer.getOrDefault(key, -1) < number, key);
            lastOfProducer.put(key, number);
        }
    }

    private interface Producer {
        void run(int number) throws Exception;
    }

    private static void parallel(int count, Producer producer) throws Exception {
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<Boolean>> futures = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                int number = i;
                Callable<Boolean> task =
                        () -> {
                            producer.run(number);
                            return true;
                        };
                futures.add(threads.submit(task));
            }
            for (Future<Boolean> future : futures) {
                future.get();
            }
        }
    }

    @Test
    void singleMessagesOfManyProducersShareCommits() throws Exception {
        try (TestEngine own = new TestEngine(server)) {
            own.push(minted("w5", "warm", "0"));
            double commits = own.push.meters().commits.count();
            double messages = own.push.meters().messages.count();
            parallel(
                    64,
                    producer -> {
                        for (int i = 0; i < 50; i++) {
                            own.push(minted("w5", "lane" + producer % 16, "m"));
                        }
                    });
            double perCommit =
                    (own.push.meters().messages.count() - messages)
                            / (own.push.meters().commits.count() - commits);
            assertTrue(perCommit >= 5, "messages per commit: " + perCommit);
        }
    }

    /** Two brokers are given the same ids at the same time, over and over. */
    @Test
    @Contract("dedup-6")
    void sameIdRacedByTwoBrokersIsQueuedOnce() throws Exception {
        try (TestEngine other = new TestEngine(server)) {
            List<String> ids = new ArrayList<>();
            for (int i = 0; i < 300; i++) {
                ids.add(UUID.randomUUID().toString());
            }
            Map<String, List<PushResult>> results = new ConcurrentHashMap<>();
            parallel(
                    6,
                    racer -> {
                        TestEngine mine = racer % 2 == 0 ? engine : other;
                        for (String id : ids) {
                            PushResult result = mine.push(item("race", "a", id, "m")).getFirst();
                            results.merge(
                                    id,
                                    List.of(result),
                                    (a, b) -> {
                                        List<PushResult> both = new ArrayList<>(a);
                                        both.addAll(b);
                                        return both;
                                    });
                        }
                    });
            assertEquals(300, stored("race").size());
            for (List<PushResult> ofId : results.values()) {
                assertEquals(6, ofId.size());
                assertEquals(1, ofId.stream().filter(PushResult.Queued.class::isInstance).count());
                assertEquals(1, ofId.stream().map(PushEngineTest::messageId).distinct().count());
            }
        }
    }

    @Test
    @Contract("push-15")
    void laneHeldByAnOpenTransactionDelaysOnlyItself() throws Exception {
        engine.push(minted("held", "held", "0"), minted("held", "free", "0"));
        try (Connection application = server.connect();
                Statement statement = application.createStatement();
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            double before = engine.push.meters().busy.count();
            application.setAutoCommit(false);
            statement.execute(
                    "select 1 from queen_store.partitions where name = 'held' for no key update");
            Future<List<PushResult>> first =
                    threads.submit(() -> engine.push(minted("held", "held", "1")));
            for (int i = 1; i <= 50; i++) {
                engine.push(minted("held", "free", Integer.toString(i)));
            }
            Future<List<PushResult>> second =
                    threads.submit(() -> engine.push(minted("held", "held", "2")));
            while (engine.push.meters().busy.count() < before + 4) {
                engine.push(minted("held", "other", "m"));
                assertFalse(first.isDone());
            }
            application.rollback();
            assertInstanceOf(PushResult.Queued.class, first.get().getFirst());
            assertInstanceOf(PushResult.Queued.class, second.get().getFirst());
        }
        assertEquals(List.of("0", "1", "2"), payloadsByLane("held", "held"));
    }

    @Test
    @Contract({"push-20", "limit-2"})
    void laneHeldPastTheDeadlineIsRefusedAndNothingIsStored() throws Exception {
        try (TestEngine own =
                        new TestEngine(
                                server,
                                server.port(),
                                TestEngine.impatient(Duration.ofMillis(700)),
                                DedupConfig.defaults());
                Connection application = server.connect();
                Statement statement = application.createStatement()) {
            own.push(minted("stuck", "stuck", "0"), minted("stuck", "free", "0"));
            application.setAutoCommit(false);
            statement.execute(
                    "select 1 from queen_store.partitions where name = 'stuck' for no key update");
            QueenException refused =
                    assertThrows(
                            QueenException.class, () -> own.push(minted("stuck", "stuck", "1")));
            assertEquals(Failure.BUSY, refused.failure());
            List<PushResult> mixed =
                    own.push(minted("stuck", "free", "1"), minted("stuck", "stuck", "2"));
            assertInstanceOf(PushResult.Queued.class, mixed.get(0));
            assertInstanceOf(PushResult.Failed.class, mixed.get(1));
            application.rollback();
            own.push(minted("stuck", "stuck", "3"));
        }
        assertEquals(List.of("0", "3"), payloadsByLane("stuck", "stuck"));
    }

    @Test
    void deletedQueueIsMadeAgain() throws SQLException {
        engine.push(minted("again", "a", "1"));
        try (TestEngine other = new TestEngine(server)) {
            assertTrue(other.queues.delete(Caller.DEFAULT_TENANT, "again").existed());
        }
        assertInstanceOf(
                PushResult.Queued.class, engine.push(minted("again", "a", "2")).getFirst());
        assertEquals(List.of("2"), payloads("again"));
    }

    /** A queue that an open transaction has just created can be pushed to once that has ended. */
    @Test
    @Contract("push-15")
    void queueBeingCreatedByAnotherIsWaitedForWithoutDelayingOthers() throws Exception {
        try (Connection application = server.connect();
                Statement statement = application.createStatement();
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            application.setAutoCommit(false);
            statement.execute(
                    "select * from queen_store.ensure_lanes("
                            + "array['00000000-0000-0000-0000-000000000001']::uuid[],"
                            + " array['newborn'], array['a'])");
            Future<List<PushResult>> waiting =
                    threads.submit(() -> engine.push(minted("newborn", "a", "1")));
            for (int i = 0; i < 20; i++) {
                engine.push(minted("unrelated", "p" + i, "m"));
            }
            assertFalse(waiting.isDone());
            application.commit();
            assertInstanceOf(PushResult.Queued.class, waiting.get().getFirst());
        }
    }

    @Test
    @Contract({"http-4", "push-2"})
    void badNamesRefuseTheRequestAndStoreNothing() throws SQLException {
        List<PushItem> bad =
                List.of(
                        minted("", "a", "1"),
                        minted("x".repeat(1_025), "a", "1"),
                        minted("q", "a\u0000", "1"),
                        item("q", "a", "\ud800", "1"),
                        item("q", "a", "t".repeat(65_536), "1"));
        for (PushItem item : bad) {
            QueenException refused =
                    assertThrows(
                            QueenException.class,
                            () -> engine.push(minted("badnames", "a", "1"), item));
            assertEquals(Failure.BAD_REQUEST, refused.failure());
            assertTrue(refused.detail().startsWith("items[1]."), refused.detail());
        }
        assertEquals(List.of(), payloads("badnames"));
        engine.push(item("q/ü'\"", "p/🐘", "t".repeat(65_535), "1"));
        assertEquals(List.of("1"), payloads("q/ü'\""));
    }

    @Test
    void tellsOfTheLanesItWrote() throws SQLException {
        engine.push(minted("told", "a", "1"), minted("told", "a", "2"), minted("told", "b", "1"));
        List<String> told =
                engine.written.stream()
                        .filter(lane -> lane.queue().equals("told"))
                        .map(lane -> lane.partition() + lane.lastOffset())
                        .sorted()
                        .toList();
        assertEquals(List.of("a1", "b0"), told);
    }

    @Test
    void largeRequestsAreSplitIntoSegmentsAndStayWhole() throws SQLException {
        List<PushItem> items = batch("large", "a", 12_000, "x".repeat(200));
        for (PushResult result : engine.push.push(Caller.ANYONE, items)) {
            assertInstanceOf(PushResult.Queued.class, result);
        }
        List<Object[]> rows = stored("large");
        assertEquals(12_000, rows.size());
        for (int i = 0; i < rows.size(); i++) {
            assertEquals(items.get(i).transactionId(), rows.get(i)[2]);
        }
    }

    @Test
    @Contract({"push-20", "error-8"})
    void fullBrokerRefusesWithoutStoring() throws Exception {
        CombinerConfig small = CombinerConfig.named("push");
        PushConfig config =
                new PushConfig(
                        Duration.ofSeconds(5),
                        Duration.ofSeconds(1),
                        Duration.ofMillis(50),
                        1,
                        1,
                        new CombinerConfig(
                                small.name(),
                                small.flushers(),
                                small.patients(),
                                small.call(),
                                // Patient enough for the first push to be out of the room.
                                new CombinerConfig.Room(10, 1 << 20, 1, 10, Duration.ofSeconds(2)),
                                small.backOffMax()));
        try (TestEngine own =
                        new TestEngine(server, server.port(), config, DedupConfig.defaults());
                Connection application = server.connect();
                Statement statement = application.createStatement();
                ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            own.push(minted("full", "full", "0"));
            application.setAutoCommit(false);
            statement.execute(
                    "select 1 from queen_store.partitions where name = 'full' for no key update");
            Future<List<PushResult>> held =
                    threads.submit(
                            () -> own.push.push(Caller.ANYONE, batch("full", "full", 10, "m")));
            Await.until(
                    "the lane to be found busy",
                    () -> {
                        assertFalse(held.isDone(), "refused instead of held");
                        return own.push.meters().busy.count() > 0;
                    });
            QueenException refused =
                    assertThrows(
                            QueenException.class, () -> own.push(minted("full", "full", "late")));
            assertEquals(Failure.OVERLOADED, refused.failure());
            assertEquals(Failure.Retry.LATER, refused.failure().retry());
            application.rollback();
            held.get();
        }
        assertEquals(11, payloads("full").size());
    }

    @Test
    void payloadOfAnySizeIsAlone() throws SQLException {
        byte[] large = new byte[3 << 20];
        Arrays.fill(large, (byte) 'x');
        large[0] = '"';
        large[large.length - 1] = '"';
        PushItem item = new PushItem("huge", "a", null, null, Slice.of(large));
        assertInstanceOf(PushResult.Queued.class, engine.push(item).getFirst());
        assertEquals(large.length, payloads("huge").getFirst().length());
    }
}
