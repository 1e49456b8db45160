package io.queenmq.push;

import static io.queenmq.push.AppendCall.message;
import static io.queenmq.push.AppendCall.messages;
import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.model.Ids;
import io.queenmq.model.Slice;
import io.queenmq.model.UuidMint;
import io.queenmq.push.AppendCall.Verdict;
import io.queenmq.segment.Frame;
import io.queenmq.segment.MessageKey;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class PushProceduresTest {
    private static TestDatabase database;
    private static int queues;

    private Connection first;
    private Connection second;
    private Connection observer;
    private ExecutorService threads;
    private int queue;

    @BeforeAll
    static void createDatabase() {
        database = TestDatabase.migrated();
    }

    @AfterAll
    static void dropDatabase() {
        database.close();
    }

    @BeforeEach
    void connect() throws SQLException {
        first = database.connect();
        second = database.connect();
        observer = database.connect();
        threads = Executors.newVirtualThreadPerTaskExecutor();
        queue =
                Integer.parseInt(
                        line(
                                first,
                                "insert into queen_store.queues (tenant_id, name) values"
                                        + " ('00000000-0000-0000-0000-000000000001', 'q"
                                        + ++queues
                                        + "') returning id"));
    }

    @AfterEach
    void disconnect() throws SQLException {
        first.close();
        second.close();
        observer.close();
        threads.close();
    }

    @Test
    void storesEachLaneBatchFromTheNextOffset() throws SQLException {
        long a = lane("a");
        long b = lane("b");
        List<Frame> many = new ArrayList<>();
        for (int i = 0; i < 1_500; i++) {
            many.add(message("m" + i));
        }

        List<Verdict> verdicts =
                new AppendCall().lane(b, 71, many).lane(a, 72, messages("x")).run(first);
        Verdict again = AppendCall.of(b, "y", "z").runAlone(first);

        assertEquals(List.of("queued", "queued"), names(verdicts));
        assertEquals(0L, verdicts.get(0).baseOffset());
        assertEquals(1_499L, verdicts.get(0).lastOffset());
        assertEquals(queue, verdicts.get(0).queueId());
        assertEquals(0L, verdicts.get(1).lastOffset());
        assertEquals(1_500L, again.baseOffset());
        assertEquals(
                List.of("1|0|999|71", "1|1000|1499|71", "1|1500|1501|" + b),
                lines(
                        first,
                        "select epoch, base_offset, end_offset, flush_id from queen_store.segments"
                                + " where partition_id = "
                                + b
                                + " order by base_offset"));
        assertEquals(
                "1501|0|t|t",
                line(
                        first,
                        "select last_offset, log_start, oldest_live_at = (select min(created_at) from"
                                + " queen_store.segments where partition_id = id), last_created_at ="
                                + " (select max(created_at) from queen_store.segments where partition_id"
                                + " = id) from queen_store.partitions where id = "
                                + b));
    }

    @Test
    void laneThatDoesNotExistOrWhoseQueueIsDeletedIsUnknown() throws SQLException {
        long gone = lane("a");
        lines(
                first,
                "update queen_store.queues set deleted_at = clock_timestamp() where id = " + queue);

        List<Verdict> verdicts =
                new AppendCall()
                        .lane(gone, 1, messages("x"))
                        .lane(gone + 1_000_000, 2, messages("x"))
                        .run(first);

        assertEquals(List.of("unknown_partition", "unknown_partition"), names(verdicts));
        assertEquals(
                List.of("unknown_partition", "unknown_partition"),
                names(
                        new AppendCall()
                                .lane(gone, 1, messages("x"))
                                .lane(gone + 1_000_000, 2, messages("x"))
                                .runWaiting(first)));
        assertEquals("0", segments(gone));
    }

    @Test
    void heldLaneIsBusyAndTheOthersGoOn() throws SQLException {
        long held = lane("a");
        long free = lane("b");
        second.setAutoCommit(false);
        lines(
                second,
                "select 1 from queen_store.partitions where id = " + held + " for no key update");

        List<Verdict> verdicts =
                new AppendCall()
                        .lane(held, 1, messages("x"))
                        .lane(free, 2, messages("x"))
                        .run(first);

        assertEquals(List.of("busy", "queued"), names(verdicts));
        assertNull(verdicts.getFirst().baseOffset());
        second.rollback();
        assertEquals("queued", AppendCall.of(held, "x").runAlone(first).verdict());
        assertEquals(
                "0",
                line(first, "select last_offset from queen_store.partitions where id = " + held));
    }

    @Test
    void waitingFormStoresOnceTheLaneIsFree() throws Exception {
        long lane = lane("a");
        second.setAutoCommit(false);
        assertEquals("queued", AppendCall.of(lane, "x").runAlone(second).verdict());

        Future<List<Verdict>> waiting =
                inBackground(() -> AppendCall.of(lane, "y").runWaiting(first, 60_000));
        awaitBlocked(first);
        second.commit();

        assertEquals(1L, waiting.get().getFirst().baseOffset());
    }

    @Test
    void waitingFormIsBusyWhenItsTimeIsOverAndRestoresTheSetting() throws SQLException {
        long lane = lane("a");
        lines(first, "set lock_timeout = '7s'");
        second.setAutoCommit(false);
        assertEquals("queued", AppendCall.of(lane, "x").runAlone(second).verdict());

        first.setAutoCommit(false);
        assertEquals("busy", AppendCall.of(lane, "y").runWaiting(first, 20).getFirst().verdict());
        assertEquals("7s", line(first, "show lock_timeout"));
        second.commit();
        assertEquals("queued", AppendCall.of(lane, "y").runWaiting(first, 20).getFirst().verdict());
        assertEquals("7s", line(first, "show lock_timeout"));
        first.commit();
    }

    @Test
    void sameIdPushedTwiceAtOnceIsStoredOnce() throws Exception {
        long lane = lane("a");
        second.setAutoCommit(false);
        assertEquals("queued", AppendCall.of(lane, "x").runAlone(second).verdict());

        Future<List<Verdict>> waiting =
                inBackground(() -> AppendCall.of(lane, "x").runWaiting(first));
        awaitBlocked(first);
        second.commit();

        assertEquals("duplicate", waiting.get().getFirst().verdict());
    }

    @Test
    void duplicatesAreNamedWithTheirOriginalsAndNothingIsStored() throws SQLException {
        long lane = lane("a");
        UuidMint mint = new UuidMint(System::currentTimeMillis);
        UUID minted = mint.mint();
        UUID promised = mint.mint();
        Frame promise =
                new Frame(
                        MessageKey.of("p"),
                        Slice.utf8("p"),
                        false,
                        promised,
                        null,
                        null,
                        0,
                        Slice.utf8("1"));
        Verdict stored =
                new AppendCall()
                        .lane(
                                lane,
                                1,
                                List.of(
                                        message("x"),
                                        Frame.minted(minted, null, null, Slice.utf8("2")),
                                        promise))
                        .runAlone(first);
        AppendCall.of(lane, "later").runAlone(first);

        Verdict verdict =
                AppendCall.of(lane, "new", "p", minted.toString(), "x", "later").runAlone(first);

        assertEquals("duplicate", verdict.verdict());
        assertEquals(List.of(1, 2, 3, 4), verdict.positions());
        assertEquals(List.of(2L, 1L, 0L, 3L), verdict.offsets());
        assertEquals(promised, verdict.ids().get(0));
        assertEquals(minted, verdict.ids().get(1));
        assertEquals(
                Ids.messageId(
                        stored.createdAt() == null ? 0 : stored.createdAt().getTime(), lane, 0),
                verdict.ids().get(2));
        assertEquals(3L, verdict.lastOffset());
        assertEquals("2", segments(lane));
    }

    @Test
    void originalIsTheLowestOffsetWithinTheWindow() throws SQLException {
        long lane = lane("a");
        lines(first, "update queen_store.queues set dedup_window_seconds = 0 where id = " + queue);
        for (int i = 0; i < 3; i++) {
            assertEquals("queued", AppendCall.of(lane, "x").runAlone(first).verdict());
        }
        lines(first, "update queen_store.queues set dedup_window_seconds = 60 where id = " + queue);
        age(lane, 0, 61);

        assertEquals(List.of(1L), AppendCall.of(lane, "x").runAlone(first).offsets());
    }

    @Test
    void originalOutsideOfTheWindowIsNoDuplicate() throws SQLException {
        long lane = lane("a");
        AppendCall.of(lane, "x").runAlone(first);
        age(lane, 0, 3_599 - 60);
        assertEquals("duplicate", AppendCall.of(lane, "x").runAlone(first).verdict());
        age(lane, 0, 121);
        assertEquals("queued", AppendCall.of(lane, "x").runAlone(first).verdict());
        assertEquals(List.of(1L), AppendCall.of(lane, "x").runAlone(first).offsets());
    }

    @Test
    void originalWithoutPayloadHasTheNilId() throws SQLException {
        long lane = lane("a");
        AppendCall.of(lane, "x").runAlone(first);
        AppendCall.of(lane, "y").runAlone(first);
        lines(
                first,
                "update queen_store.segments set frames = null where base_offset = 0 and"
                        + " partition_id = "
                        + lane);
        lines(first, "update queen_store.partitions set log_start = 2 where id = " + lane);

        assertEquals(
                List.of(Ids.NIL, Ids.NIL), AppendCall.of(lane, "x", "y").runAlone(first).ids());
    }

    @Test
    void onlyWhatIsOutsideOfTheVouchedRangeIsRead() throws SQLException {
        long lane = lane("a");
        AppendCall.of(lane, "a0", "a1").runAlone(first);
        AppendCall.of(lane, "b2", "b3").runAlone(first);
        AppendCall.of(lane, "c4", "c5").runAlone(first);
        List<Frame> all = messages("a0", "b2", "c4");

        assertEquals(List.of(0L, 4L), vouching(lane, 2, 3, all).offsets());
        assertEquals(List.of(0L), vouching(lane, 2, 100, all).offsets());
        assertEquals(List.of(4L), vouching(lane, 0, 3, all).offsets());
        assertEquals(List.of(0L, 2L, 4L), vouching(lane, 9, 8, all).offsets());
        // A range that ends inside a segment leaves the segment to be read.
        assertEquals(List.of(2L, 4L), vouching(lane, 0, 2, messages("b2", "c4")).offsets());
        assertEquals(List.of(2L, 4L), vouching(lane, 3, 3, messages("b2", "c4")).offsets());
        assertEquals("queued", vouching(lane, 0, 5, all).verdict());
    }

    @Test
    void laneWithTooMuchToReadIsColdAndTheOthersGoOn() throws SQLException {
        long deep = lane("a");
        long shallow = lane("b");
        lines(
                first,
                "insert into queen_store.segments select 1, "
                        + deep
                        + ", i, i, clock_timestamp(), i, uuid_send(gen_random_uuid()), '\\x' from"
                        + " generate_series(0, 1000) i; update queen_store.partitions set last_offset"
                        + " = 1000, last_created_at = clock_timestamp() where id = "
                        + deep);
        AppendCall.of(shallow, "x").runAlone(first);

        List<Verdict> verdicts =
                new AppendCall()
                        .lane(deep, 1, messages("y"))
                        .lane(shallow, 2, messages("x"))
                        .run(first);

        assertEquals(List.of("cold", "duplicate"), names(verdicts));
        assertEquals(1_000L, verdicts.getFirst().lastOffset());
        assertEquals("queued", vouching(deep, 1, 1_000, messages("y")).verdict());
    }

    @Test
    void callWithTooMuchToReadIsColdFromThereOn() throws SQLException {
        AppendCall call = new AppendCall();
        for (int i = 0; i < 4; i++) {
            long lane = lane("l" + i);
            lines(
                    first,
                    "insert into queen_store.segments select 1, "
                            + lane
                            + ", i, i, clock_timestamp(), i, uuid_send(gen_random_uuid()), '\\x'"
                            + " from generate_series(0, 899) i; update queen_store.partitions set"
                            + " last_offset = 899, last_created_at = clock_timestamp() where id = "
                            + lane);
            call.lane(lane, 1, messages("y"));
        }

        assertEquals(List.of("queued", "queued", "cold", "cold"), names(call.run(first)));
    }

    @Test
    void noProbeReachesBackBeyondTheWindowInADeepLane() throws SQLException {
        long lane = lane("a");
        lines(
                first,
                "insert into queen_store.segments select 1, "
                        + lane
                        + ", i, i, clock_timestamp() - interval '2 hours', i,"
                        + " uuid_send(gen_random_uuid()), '\\x' from generate_series(0, 4999) i;"
                        + " update queen_store.partitions set last_offset = 4999, last_created_at ="
                        + " clock_timestamp() - interval '2 hours' where id = "
                        + lane);

        assertEquals("queued", AppendCall.of(lane, "x").runAlone(first).verdict());
        assertEquals(List.of(5_000L), AppendCall.of(lane, "x").runAlone(first).offsets());
    }

    @Test
    void batchThatIsStoredAlreadySettlesWhereItIs() throws SQLException {
        long lane = lane("a");
        long other = lane("b");
        AppendCall.of(lane, "before").runAlone(first);
        Verdict stored =
                new AppendCall().lane(lane, 77, 1, 0, 0L, messages("x", "y")).runAlone(first);
        AppendCall.of(lane, "after").runAlone(first);

        List<Verdict> verdicts =
                new AppendCall()
                        .lane(lane, 77, 1, 0, 0L, messages("x", "y"))
                        .lane(other, 78, 1, 0, -1L, messages("x"))
                        .run(first);

        assertEquals(List.of("queued", "queued"), names(verdicts));
        assertEquals(1L, verdicts.getFirst().baseOffset());
        assertEquals(stored.createdAt(), verdicts.getFirst().createdAt());
        assertEquals(3L, verdicts.getFirst().lastOffset());
        assertEquals("3", segments(lane));
        assertEquals("1", segments(other));
    }

    @Test
    void settlingLooksOnlyAboveTheGivenOffset() throws SQLException {
        long lane = lane("a");
        new AppendCall().lane(lane, 77, messages("x")).runAlone(first);

        assertEquals(
                1L,
                new AppendCall()
                        .lane(lane, 77, 1, 0, 0L, messages("y"))
                        .runAlone(first)
                        .baseOffset());
    }

    @Test
    void createdAtNeverFallsWhenTheClockSteps() throws SQLException {
        long lane = lane("a");
        AppendCall.of(lane, "x").runAlone(first);
        lines(
                first,
                "update queen_store.partitions set last_created_at = '2100-01-01 00:00:00+00' where"
                        + " id = "
                        + lane);

        Verdict verdict = AppendCall.of(lane, "y").runAlone(first);

        assertEquals(
                4_102_444_800_000L,
                verdict.createdAt() == null ? 0 : verdict.createdAt().getTime());
        assertEquals(
                "t",
                line(
                        first,
                        "select created_at = '2100-01-01 00:00:00+00' from queen_store.segments where"
                                + " base_offset = 1 and partition_id = "
                                + lane));
    }

    @Test
    void rollbackLeavesNoHole() throws SQLException {
        long lane = lane("a");
        first.setAutoCommit(false);
        assertEquals(0L, AppendCall.of(lane, "x").runAlone(first).baseOffset());
        first.rollback();
        first.setAutoCommit(true);

        assertEquals(0L, AppendCall.of(lane, "y").runAlone(first).baseOffset());
    }

    @Test
    void offsetsAreDenseAndTimeFollowsThemUnderConcurrency() throws Exception {
        long lane = lane("a");
        List<Future<Integer>> writers = new ArrayList<>();
        for (Connection connection : List.of(first, second)) {
            writers.add(
                    inBackground(
                            () -> {
                                int queued = 0;
                                for (int i = 0; i < 100; i++) {
                                    List<Verdict> verdicts =
                                            AppendCall.of(
                                                            lane,
                                                            connection + "-" + i,
                                                            connection + "+" + i)
                                                    .runWaiting(connection);
                                    queued +=
                                            verdicts.getFirst().verdict().equals("queued") ? 1 : 0;
                                }
                                return queued;
                            }));
        }
        for (Future<Integer> writer : writers) {
            assertEquals(100, writer.get());
        }

        assertEquals(
                "200|t|t",
                line(
                        observer,
                        "select count(*), bool_and(base_offset = place * 2 and end_offset ="
                                + " base_offset + 1), bool_and(coalesce(created_at >= before, true))"
                                + " from (select *, row_number() over w - 1 as place,"
                                + " lag(created_at) over w as before from queen_store.segments where"
                                + " partition_id = "
                                + lane
                                + " window w as (order by base_offset)) s"));
    }

    @Test
    void updatesOfALaneStayHeapOnly() throws SQLException {
        long lane = lane("a");
        lines(
                first,
                "update queen_store.partitions set last_write_at = '2100-01-01' where id = "
                        + lane);
        lines(first, "select pg_stat_force_next_flush()");
        String before =
                line(
                        first,
                        "select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relid ="
                                + " 'queen_store.partitions'::regclass");
        for (int i = 0; i < 50; i++) {
            AppendCall.of(lane, "m" + i).runAlone(first);
        }
        lines(first, "select pg_stat_force_next_flush()");
        String[] counts = before.split("\\|", -1);

        assertEquals(
                "50|50",
                line(
                        first,
                        "select n_tup_upd - "
                                + counts[0]
                                + ", n_tup_hot_upd - "
                                + counts[1]
                                + " from pg_stat_user_tables where relid ="
                                + " 'queen_store.partitions'::regclass"));
    }

    @Test
    void lastWriteMovesWhenASecondHasPassed() throws SQLException {
        long lane = lane("a");
        lines(
                first,
                "update queen_store.partitions set last_write_at = clock_timestamp() - interval '2"
                        + " seconds' where id = "
                        + lane);
        AppendCall.of(lane, "x").runAlone(first);

        assertEquals(
                "t",
                line(
                        first,
                        "select last_write_at = last_created_at from queen_store.partitions where id"
                                + " = "
                                + lane));
    }

    @Test
    void segmentsGoToTheOpenEpoch() throws SQLException {
        long lane = lane("a");
        first.setAutoCommit(false);
        lines(
                first,
                "create table queen_store.segments_2 partition of queen_store.segments for values in"
                        + " (2); update queen_store.epochs set state = 'closed' where epoch = 1;"
                        + " insert into queen_store.epochs (epoch, state) values (2, 'open')");
        AppendCall.of(lane, "x").runAlone(first);

        assertEquals(
                "2",
                line(first, "select epoch from queen_store.segments where partition_id = " + lane));
        first.rollback();
    }

    @Test
    void transactionWithAnOldSnapshotNeverWritesIntoAClosedEpoch() throws SQLException {
        long lane = lane("a");
        first.setAutoCommit(false);
        first.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
        lines(first, "select 1");
        // The same rows in a new version: what a rotation does to the row of the open epoch.
        lines(second, "update queen_store.epochs set closed_at = null where epoch = 1");

        SQLException refusal =
                assertThrows(SQLException.class, () -> AppendCall.of(lane, "x").runAlone(first));
        assertEquals("40001", refusal.getSQLState());
        first.rollback();
    }

    @Test
    void contradictoryCallsAreRefused() throws SQLException {
        long lane = lane("a");
        refused(new AppendCall().lane(lane, 1, messages("x")).lane(lane, 2, messages("y")));
        refused(new AppendCall().lane(lane, 1, messages("x")).lane(lane + 1, 2, List.of()));
        refused(AppendCall.of(lane, "x").segment(3, 1, new byte[16], new byte[5]));
        refused(AppendCall.of(lane, "x").segment(1, 2, new byte[16], new byte[5]));
        refused(AppendCall.of(lane, "x").segment(1, 0, new byte[0], new byte[0]));
        refused(AppendCall.of(lane, "x").segment(1, 1_001, new byte[16_016], new byte[5]));
        assertEquals("0", segments(lane));
        assertTrue(new AppendCall().run(first).isEmpty());
    }

    @Test
    void keysAreReadInPagesFromTheNewest() throws SQLException {
        long lane = lane("a");
        for (int i = 0; i < 5; i++) {
            AppendCall.of(lane, "a" + i, "b" + i).runAlone(first);
        }
        age(lane, 2, 100);

        assertEquals(List.of("8|9", "6|7"), page(lane, 0, 9, 1_000, 2));
        assertEquals(List.of("4|5"), page(lane, 4, 5, 1_000, 10));
        assertEquals(List.of("4|5", "2|3"), page(lane, 3, 4, 1_000, 10));
        assertEquals(List.of("8|9", "6|7", "4|5"), page(lane, 0, 9, 50, 10));
        assertEquals(List.of(), page(lane, 0, 3, 50, 10));
    }

    private List<String> page(long lane, long from, long to, int seconds, int limit)
            throws SQLException {
        return lines(
                first,
                "select base_offset, end_offset from queen_store.read_keys("
                        + lane
                        + ", "
                        + from
                        + ", "
                        + to
                        + ", clock_timestamp() - make_interval(secs => "
                        + seconds
                        + "), "
                        + limit
                        + ")");
    }

    private Verdict vouching(long lane, long from, long to, List<Frame> messages)
            throws SQLException {
        return new AppendCall().lane(lane, 9, from, to, null, messages).runAlone(first);
    }

    private void refused(AppendCall call) {
        SQLException refusal = assertThrows(SQLException.class, () -> call.run(first));
        assertEquals("QN400", refusal.getSQLState());
    }

    /**
     * Makes the segments up to this offset older, and the lane with them when it holds no others.
     */
    private void age(long lane, long upToBase, int seconds) throws SQLException {
        String shift = " - make_interval(secs => " + seconds + ")";
        lines(
                first,
                "update queen_store.segments set created_at = created_at"
                        + shift
                        + " where base_offset <= "
                        + upToBase
                        + " and partition_id = "
                        + lane
                        + "; update queen_store.partitions p set last_created_at = (select"
                        + " max(created_at) from queen_store.segments where partition_id = p.id)"
                        + " where id = "
                        + lane);
    }

    private long lane(String name) throws SQLException {
        return Long.parseLong(
                line(
                        first,
                        "insert into queen_store.partitions (queue_id, name) values ("
                                + queue
                                + ", '"
                                + name
                                + "') returning id"));
    }

    private String segments(long lane) throws SQLException {
        return line(
                first, "select count(*) from queen_store.segments where partition_id = " + lane);
    }

    private static List<String> names(List<Verdict> verdicts) {
        return verdicts.stream().map(Verdict::verdict).toList();
    }

    private <T> Future<T> inBackground(Callable<T> task) {
        return threads.submit(task);
    }

    /** Returns once the connection's statement waits for a lock. */
    private void awaitBlocked(Connection connection) throws SQLException {
        int pid = connection.unwrap(org.postgresql.PGConnection.class).getBackendPID();
        while (line(observer, "select cardinality(pg_blocking_pids(" + pid + "))").equals("0")) {
            Thread.onSpinWait();
        }
    }
}
