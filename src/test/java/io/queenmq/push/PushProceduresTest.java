package io.queenmq.push;

import static io.queenmq.push.AppendCall.message;
import static io.queenmq.push.AppendCall.messages;
import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.push.AppendCall.Verdict;
import io.queenmq.segment.Frame;
import io.queenmq.segment.FrameWriter;
import io.queenmq.segment.Segment;
import io.queenmq.testkit.Contract;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

class PushProceduresTest extends PushScene {
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
    @Contract("dedup-6")
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

    /** A negative number is that of a lane which was lost with its server, or was not. */
    @Test
    void laneOfALostServerIsLookedIntoButNotWritten() throws SQLException {
        long stored = lane("a");
        long reused = lane("b");
        AppendCall.of(stored, "before").runAlone(first);
        new AppendCall().lane(stored, 77, messages("x")).runAlone(first);
        AppendCall.of(stored, "after").runAlone(first);

        List<Verdict> verdicts =
                new AppendCall()
                        .lane(-stored, 77, 1, 0, 0L, messages("x"))
                        .lane(-reused, 78, 1, 0, -1L, messages("x"))
                        .lane(reused, 79, 1, 0, -1L, messages("y"))
                        .run(first);

        assertEquals(List.of("queued", "unknown_partition", "queued"), names(verdicts));
        assertEquals(1L, verdicts.getFirst().baseOffset());
        assertEquals(2L, verdicts.getFirst().lastOffset());
        assertEquals(queue, verdicts.getFirst().queueId());
        assertEquals("3", segments(stored));
        assertEquals("1", segments(reused));
    }

    @Test
    @Contract("model-5")
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
    @Contract({"model-4", "model-5"})
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
        // The first message of an empty lane enters it into the index of what expires.
        AppendCall.of(lane, "first").runAlone(first);
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
        refused(single(lane).segment(1, 2, new byte[16], new byte[5]));
        refused(single(lane).segment(1, 0, new byte[0], new byte[5]));
        refused(single(lane).segment(1, 1_001, new byte[16_016], new byte[5]));
        refused(single(lane).segment(2, 1, new byte[16], new byte[5]));
        refused(single(lane).segment(0, 1, new byte[16], new byte[5]));
        assertEquals("0", segments(lane));
        assertTrue(new AppendCall().run(first).isEmpty());
    }

    /** A lane-batch whose only segment is still to be told. */
    private static AppendCall single(long lane) {
        return new AppendCall().lane(lane, lane, List.of());
    }

    @Test
    void segmentsComeInAnyOrderOfTheirLanes() throws SQLException {
        long a = lane("a");
        long b = lane("b");
        AppendCall call = single(a).lane(b, b, List.of());
        int at = 0;
        for (int lane : new int[] {2, 1, 2}) {
            Segment segment = FrameWriter.segments(messages("m" + lane + "-" + at++)).getFirst();
            call.segment(lane, 1, segment.keys(), segment.frames());
        }
        call.run(first);
        assertEquals("1", segments(a));
        assertEquals("2", segments(b));
        assertEquals(List.of("0|0", "1|1"), page(b, 0, 1, 1_000, 10).reversed());
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
}
