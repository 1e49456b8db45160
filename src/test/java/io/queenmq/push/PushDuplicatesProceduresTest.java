package io.queenmq.push;

import static io.queenmq.push.AppendCall.message;
import static io.queenmq.push.AppendCall.messages;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.model.Ids;
import io.queenmq.model.Slice;
import io.queenmq.model.UuidMint;
import io.queenmq.push.AppendCall.Verdict;
import io.queenmq.segment.Frame;
import io.queenmq.segment.MessageKey;
import io.queenmq.testkit.Contract;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** What append says of keys that its lanes hold already, and how far it looks. */
class PushDuplicatesProceduresTest extends PushScene {
    @Test
    @Contract("dedup-3")
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
    @Contract("dedup-9")
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
    @Contract("dedup-2")
    void originalOutsideOfTheWindowIsNoDuplicate() throws SQLException {
        long lane = lane("a");
        AppendCall.of(lane, "x").runAlone(first);
        age(lane, 0, 3_599 - 60);
        assertEquals("duplicate", AppendCall.of(lane, "x").runAlone(first).verdict());
        age(lane, 0, 121);
        assertEquals("queued", AppendCall.of(lane, "x").runAlone(first).verdict());
        assertEquals(List.of(1L), AppendCall.of(lane, "x").runAlone(first).offsets());
    }

    /** Brokers may vouch for a while by the window they knew before. */
    @Test
    @Contract("dedup-13")
    void vouchingByTheWindowDoesNotCountWhileTheWindowHasJustGrown() throws SQLException {
        long lane = lane("a");
        AppendCall.of(lane, "x").runAlone(first);
        AppendCall.of(lane, "y").runAlone(first);
        lines(
                first,
                "select * from queen_store.configure_queue('00000000-0000-0000-0000-000000000001',"
                        + " (select name from queen_store.queues where id = "
                        + queue
                        + "), true, '{\"dedup_window_seconds\": 7200}')");

        assertEquals("duplicate", vouching(lane, 0, 1, messages("x")).verdict());
        assertEquals("queued", vouching(lane, 1, 1, messages("y")).verdict());
        assertEquals("queued", vouching(lane, -1, 2, messages("x")).verdict());

        lines(
                first,
                "update queen_store.queues set dedup_widened_at = clock_timestamp() - interval '3"
                        + " minutes' where id = "
                        + queue);
        assertEquals("queued", vouching(lane, 0, 3, messages("x")).verdict());
    }

    @Test
    @Contract("push-18")
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
    @Contract("dedup-12")
    void whatADeletedQueueHoldsIsNoOriginal() throws SQLException {
        long lane = lane("deleted under a broker");
        AppendCall.of(lane, "x").runAlone(first);
        lines(
                first,
                "update queen_store.queues set deleted_at = clock_timestamp() where id = " + queue);

        assertEquals("unknown_partition", AppendCall.of(lane, "x").runAlone(first).verdict());
        assertEquals(
                "unknown_partition",
                new AppendCall()
                        .lane(lane, 2, messages("x"))
                        .runWaiting(first)
                        .getFirst()
                        .verdict());
    }
}
