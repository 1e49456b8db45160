package io.queenmq.dedup;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.model.Slice;
import io.queenmq.runtime.Clock;
import io.queenmq.segment.Frame;
import io.queenmq.segment.FrameWriter;
import io.queenmq.segment.Segment;
import io.queenmq.testkit.Contract;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What the memory vouches for when the commits of a lane are not told in their order. */
class KeyMemoryTest {
    private static final int WINDOW = 3_600;
    private static final long LANE = 7;

    private final KeyMemory memory = new KeyMemory(DedupConfig.defaults(), Clock.SYSTEM);

    private static List<Segment> messages(String... ids) {
        return FrameWriter.segments(
                Arrays.stream(ids).map(id -> Frame.of(id, null, null, Slice.utf8("1"))).toList());
    }

    private void stored(long base, String... ids) {
        memory.stored(
                memory.epoch(),
                LANE,
                WINDOW,
                base,
                Clock.SYSTEM.now().toEpochMilli(),
                messages(ids));
    }

    private Range vouched(String id) {
        return memory.vouch(LANE, WINDOW, messages(id));
    }

    @Test
    @Contract("dedup-3")
    void aCommitToldBeforeAnEarlierOneIsNotVouchedFor() {
        memory.created(LANE, WINDOW);
        stored(0, "a");
        stored(3, "d");
        assertEquals(new Range(0, 0), vouched("fresh"));
        stored(1, "b", "c");
        assertEquals(new Range(0, 2), vouched("fresh"));
        assertTrue(vouched("d").isNothing(), "known all the same");
        stored(4, "e");
        assertEquals(new Range(0, 2), vouched("fresh"));
    }

    @Test
    void anEarlierCommitOfALaneNotKnownBeginsAnew() {
        stored(5, "f");
        assertEquals(5, vouched("fresh").to());
        stored(3, "d", "e");
        assertEquals(new Range(3, 4), vouched("fresh"));
        stored(5, "f");
        assertEquals(new Range(3, 5), vouched("fresh"));
    }
}
