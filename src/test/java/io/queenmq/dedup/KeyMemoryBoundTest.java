package io.queenmq.dedup;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.runtime.Clock;
import io.queenmq.segment.MessageKey;
import io.queenmq.segment.Segment;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * The memory of a broker with a million lanes, most of which are written to and then never again.
 */
class KeyMemoryBoundTest {
    private static final int LANES = 1_000_000;
    private static final int KEYS_OF_LANE = 3;
    private static final int MIB = 1 << 20;

    private static final class Hand implements Clock {
        long millis = 1_700_000_000_000L;

        @Override
        public Instant now() {
            return Instant.ofEpochMilli(millis);
        }

        @Override
        public long nanos() {
            return millis * 1_000_000;
        }
    }

    private final Hand clock = new Hand();

    /** The keys of a message batch of a lane, others for each round. */
    private static List<Segment> batch(long lane, int round, int keys) {
        byte[] bytes = new byte[keys * MessageKey.BYTES];
        for (int i = 0; i < keys; i++) {
            long high = (lane << 20) + ((long) round << 8) + i;
            new MessageKey(high, 0x8000_0000_0000_0000L).write(bytes, i);
        }
        return List.of(new Segment(keys, bytes, new byte[0]));
    }

    private void store(KeyMemory memory, long lane, int window, int round) {
        memory.stored(
                memory.epoch(),
                lane,
                window,
                (long) round * KEYS_OF_LANE,
                clock.millis,
                batch(lane, round, KEYS_OF_LANE));
    }

    @Test
    void aMillionLanesFitIntoTheDefaultAndGoWhenTheirTimeIsOver() {
        KeyMemory memory = new KeyMemory(DedupConfig.defaults(), clock);
        for (long lane = 1; lane <= LANES; lane++) {
            store(memory, lane, 3_600, 0);
            clock.millis += lane % 10 == 0 ? 1 : 0;
        }
        // Of this, 168 are the lane's row in a table that is 3/8 to 3/4 full.
        long bytesOfLane = memory.bytes() / LANES;
        assertTrue(bytesOfLane <= 280, "bytes of a lane " + bytesOfLane);
        assertEquals(0, memory.evictions());
        for (long lane = 1; lane <= LANES; lane += 997) {
            assertEquals(new Range(0, 2), memory.vouch(lane, 3_600, batch(lane, 1, 1)));
            assertTrue(memory.vouch(lane, 3_600, batch(lane, 0, 1)).isNothing());
        }
        // The window is rounded up to a power of two, and what goes is an eighth of that at a time.
        clock.millis += 4_096_000 / 8 * 9 + 10_000;
        store(memory, 1, 3_600, 1);
        assertTrue(memory.bytes() < MIB, "bytes left " + memory.bytes());
    }

    /**
     * Where they do not fit, what is forgotten is not vouched for, and the bound holds throughout.
     */
    @Test
    void theBoundHoldsWhateverComes() {
        int bound = 32 * MIB;
        KeyMemory memory = new KeyMemory(new DedupConfig(bound), clock);
        for (long lane = 1; lane <= LANES; lane++) {
            int window = lane % 3 == 0 ? 60 : 3_600;
            store(memory, lane, window, 0);
            clock.millis += lane % 10 == 0 ? 1 : 0;
            assertTrue(memory.bytes() <= bound, "bytes " + memory.bytes());
            assertTrue(memory.vouch(lane, window, batch(lane, 0, 1)).isNothing());
        }
        assertTrue(memory.evictions() > 0);
        for (long lane = 1; lane <= LANES; lane += 997) {
            int window = lane % 3 == 0 ? 60 : 3_600;
            assertTrue(memory.vouch(lane, window, batch(lane, 0, KEYS_OF_LANE)).isNothing());
        }
    }

    /** What a broker under load for the whole window remembers. */
    @Test
    void keysOfBusyLanesTakeFewBytes() {
        int batches = 40_000;
        KeyMemory memory = new KeyMemory(new DedupConfig(32L * MIB), clock);
        for (int i = 0; i < batches; i++) {
            long lane = i % 16;
            int round = i / 16;
            memory.stored(
                    memory.epoch(),
                    lane,
                    3_600,
                    round * 100L,
                    clock.millis,
                    batch(lane, round, 100));
            clock.millis += i % 20 == 0 ? 1 : 0;
        }
        assertEquals(0, memory.evictions());
        long bytesOfKey = memory.bytes() / (batches * 100L);
        assertTrue(bytesOfKey <= 5, "bytes of a key " + bytesOfKey);
        for (int i = 0; i < batches; i += 997) {
            assertTrue(
                    memory.vouch(i % 16, 3_600, batch(i % 16, i / 16, 1)).isNothing(),
                    "forgotten: batch " + i);
        }
        Range all = new Range(0, batches / 16 * 100L - 1);
        assertEquals(all, memory.vouch(3, 3_600, batch(3, batches, 100)));
    }

    @Test
    void lanesThatAreMadeAndNeverWrittenToAreBoundedAndGoToo() {
        int bound = 32 * MIB;
        KeyMemory memory = new KeyMemory(new DedupConfig(bound), clock);
        for (long lane = 1; lane <= LANES; lane++) {
            memory.created(lane, 60);
            assertTrue(memory.bytes() <= bound, "bytes " + memory.bytes());
        }
        clock.millis += 120_000;
        store(memory, 1, 3_600, 0);
        assertTrue(memory.bytes() < MIB, "bytes left " + memory.bytes());
    }

    /** Ten thousand new lanes a second, each seen once: the memory is that of the window. */
    @Test
    void nothingLeaksWhereLanesComeAndGo() {
        KeyMemory memory = new KeyMemory(DedupConfig.defaults(), clock);
        long lane = 0;
        long most = 0;
        for (int second = 0; second < 300; second++) {
            for (int i = 0; i < 5_000; i++) {
                store(memory, ++lane, 30, 0);
            }
            clock.millis += 1_000;
            if (second == 149) {
                most = memory.bytes();
            }
        }
        assertTrue(memory.bytes() <= most * 5 / 4, most + " -> " + memory.bytes());
        assertEquals(0, memory.evictions());
    }
}
