package io.queenmq.push;

import static io.queenmq.push.TestEngine.item;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.dedup.DedupConfig;
import io.queenmq.dedup.Range;
import io.queenmq.model.Caller;
import io.queenmq.queue.LaneName;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * A broker that meets lanes with more recent messages than may be looked through under their lock.
 */
@Timeout(120)
class PushColdTest {
    private static final int SEGMENTS = 2_500;

    private static TestDatabase server;

    @BeforeAll
    static void open() {
        server = TestDatabase.migrated();
    }

    @AfterAll
    static void close() {
        server.close();
    }

    /**
     * A lane with the ids {@code t1} to {@code t2500}, one to a segment, written by nobody here.
     */
    private static void fill(String queue) throws SQLException {
        try (TestEngine engine = new TestEngine(server);
                Connection connection = server.connect()) {
            engine.push(item(queue, "a", "t0", "0"));
            TestDatabase.rows(
                    connection,
                    """
                    insert into queen_store.segments
                    select 1, p.id, i, i, clock_timestamp(), i, e.keys, e.frames
                    from queen_store.partitions p
                    join queen_store.queues q on q.id = p.queue_id and q.name = ?
                    cross join generate_series(1, ?) i
                    cross join lateral queen_store.encode_frames(
                        array['t' || i], array['1'::bytea], array[null::uuid], null,
                        array[null::uuid]) e
                    """,
                    queue,
                    SEGMENTS);
            TestDatabase.rows(
                    connection,
                    """
                    update queen_store.partitions p
                    set last_offset = ?, last_created_at = clock_timestamp()
                    from queen_store.queues q where q.id = p.queue_id and q.name = ?
                    """,
                    SEGMENTS,
                    queue);
        }
    }

    private static String storedId(String queue, String transactionId) throws SQLException {
        try (Connection connection = server.connect()) {
            return String.valueOf(
                    TestDatabase.rows(
                                    connection,
                                    """
                                    select d.message_id::text
                                    from queen_store.queues q
                                    join queen_store.partitions p on p.queue_id = q.id
                                    join queen_store.segments s on s.partition_id = p.id
                                    cross join lateral queen_store.decode_segment(
                                        s.partition_id, s.base_offset, s.created_at, s.keys,
                                        s.frames) d
                                    where q.name = ? and d.transaction_id = ?
                                    """,
                                    queue,
                                    transactionId)
                            .getFirst()[0]);
        }
    }

    private static void assertExact(TestEngine engine, String queue) throws SQLException {
        List<PushResult> results =
                engine.push(
                        item(queue, "a", "t1", "x"),
                        item(queue, "a", "new1", "x"),
                        item(queue, "a", "t1250", "x"),
                        item(queue, "a", "t2500", "x"),
                        item(queue, "a", "new2", "x"));
        for (int i : new int[] {0, 2, 3}) {
            PushResult.Duplicate duplicate =
                    assertInstanceOf(PushResult.Duplicate.class, results.get(i));
            assertEquals(
                    storedId(queue, duplicate.transactionId()), duplicate.messageId().toString());
        }
        assertInstanceOf(PushResult.Queued.class, results.get(1));
        assertInstanceOf(PushResult.Queued.class, results.get(4));
        assertInstanceOf(
                PushResult.Duplicate.class, engine.push(item(queue, "a", "new1", "x")).getFirst());
    }

    @Test
    void readsKeysBackOnceThenKnowsTheLane() throws SQLException {
        fill("cold");
        try (TestEngine engine = new TestEngine(server)) {
            assertExact(engine, "cold");
            assertTrue(engine.push.meters().cold.count() >= 1);
            double before = engine.push.meters().cold.count();
            for (int i = 0; i < 20; i++) {
                engine.push(item("cold", "a", "later" + i, "x"));
            }
            assertEquals(before, engine.push.meters().cold.count());
            long number =
                    engine.catalog.laneNumber(new LaneName(Caller.DEFAULT_TENANT, "cold", "a"));
            assertEquals(new Range(0, SEGMENTS + 22), engine.memory.known(number, 3_600));
        }
    }

    @Test
    @Contract("dedup-3")
    void answersExactlyWithoutAnyMemory() throws SQLException {
        fill("forgetful");
        try (TestEngine engine =
                new TestEngine(server, server.port(), PushConfig.defaults(), new DedupConfig(0))) {
            assertExact(engine, "forgetful");
        }
    }

    /**
     * The clock of the server decides what a duplicate is, also when that of the broker is slow.
     */
    @Test
    @Contract("dedup-2")
    void keyThatIsOutOfTheWindowIsNoDuplicateWhateverTheBrokersClockSays() throws SQLException {
        fill("slow");
        try (Connection connection = server.connect()) {
            TestDatabase.rows(
                    connection,
                    """
                    update queen_store.queues set dedup_window_seconds = 300 where name = 'slow'
                    """);
            TestDatabase.rows(
                    connection,
                    """
                    update queen_store.segments s
                    set created_at = s.created_at - interval '301 seconds'
                    from queen_store.partitions p
                    join queen_store.queues q on q.id = p.queue_id
                    where s.partition_id = p.id and q.name = 'slow' and s.base_offset <= 1250
                    """);
        }
        try (TestEngine engine =
                new TestEngine(
                        server,
                        server.port(),
                        PushConfig.defaults(),
                        DedupConfig.defaults(),
                        new SlowClock(),
                        null)) {
            List<PushResult> results =
                    engine.push(item("slow", "a", "t1250", "x"), item("slow", "a", "t1251", "x"));
            assertInstanceOf(PushResult.Queued.class, results.get(0));
            assertInstanceOf(PushResult.Duplicate.class, results.get(1));
            assertTrue(engine.push.meters().cold.count() >= 1);
        }
    }

    private static final class SlowClock implements Clock {
        @Override
        public Instant now() {
            return Clock.SYSTEM.now().minusSeconds(600);
        }

        @Override
        public long nanos() {
            return Clock.SYSTEM.nanos();
        }
    }

    /** A window that grew just now makes append doubt what brokers vouch for, but not for ever. */
    @Test
    @Contract("dedup-13")
    void servesALaneWithManyKeysWhoseWindowGrew() throws SQLException {
        fill("grown");
        try (TestEngine engine = new TestEngine(server)) {
            engine.configure("grown", "dedupWindowSeconds", "86400");
            assertExact(engine, "grown");
            for (int i = 0; i < 5; i++) {
                assertInstanceOf(
                        PushResult.Queued.class,
                        engine.push(item("grown", "a", "later" + i, "x")).getFirst());
            }
        }
    }

    /** With no permit for it, reading back is left for later: the lane is not held meanwhile. */
    @Test
    void noPushWaitsForKeysThatAreReadOnlyToBeRemembered() {
        PushConfig defaults = PushConfig.defaults();
        PushConfig config =
                new PushConfig(
                        Duration.ofSeconds(10),
                        defaults.grace(),
                        defaults.lockTimeout(),
                        0,
                        defaults.searchers(),
                        defaults.combiner());
        try (TestEngine before = new TestEngine(server);
                TestEngine after =
                        new TestEngine(server, server.port(), config, DedupConfig.defaults())) {
            before.push(item("reboot", "a", "first", "x"));
            for (int i = 0; i < 30; i++) {
                assertInstanceOf(
                        PushResult.Queued.class,
                        after.push(item("reboot", "a", "after" + i, "x")).getFirst());
            }
        }
    }

    /** Another broker's writes end what this one can vouch for, until it has read them back. */
    @Test
    @Contract("dedup-3")
    void catchesUpWithAnotherBroker() throws SQLException {
        try (TestEngine one = new TestEngine(server);
                TestEngine two = new TestEngine(server)) {
            for (int i = 0; i < 60; i++) {
                one.push(item("shared", "a", "one" + i, "x"));
                two.push(item("shared", "a", "two" + i, "x"));
            }
            for (int i = 0; i < 60; i++) {
                assertInstanceOf(
                        PushResult.Duplicate.class,
                        one.push(item("shared", "a", "two" + i, "x")).getFirst());
                assertInstanceOf(
                        PushResult.Duplicate.class,
                        two.push(item("shared", "a", "one" + i, "x")).getFirst());
            }
            for (int i = 0; i < 10; i++) {
                one.push(item("shared", "a", "last" + i, "x"));
            }
            long number =
                    one.catalog.laneNumber(new LaneName(Caller.DEFAULT_TENANT, "shared", "a"));
            assertEquals(0, one.memory.known(number, 3_600).from());
        }
    }
}
