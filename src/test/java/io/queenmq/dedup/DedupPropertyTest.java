package io.queenmq.dedup;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.runtime.Clock;
import io.queenmq.segment.MessageKey;
import io.queenmq.segment.Segment;
import io.queenmq.testkit.Contract;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Random histories of lanes, written by this broker and by others, against a plain list. */
class DedupPropertyTest {
    private static final int LANES = 6;
    private static final int[] WINDOWS = {1, 10, 60, 3_600};

    private record Message(long offset, MessageKey key, long createdMillis) {}

    /** Server and broker have the same clock, which moves when told. */
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
    private final Map<Long, List<Message>> log = new HashMap<>();

    private static Segment segment(List<MessageKey> keys) {
        byte[] bytes = new byte[keys.size() * MessageKey.BYTES];
        for (int i = 0; i < keys.size(); i++) {
            keys.get(i).write(bytes, i);
        }
        return new Segment(keys.size(), bytes, new byte[0]);
    }

    private List<Message> lane(long lane) {
        return log.computeIfAbsent(lane, number -> new ArrayList<>());
    }

    private long append(long lane, List<MessageKey> keys) {
        List<Message> messages = lane(lane);
        long base = messages.size();
        for (MessageKey key : keys) {
            messages.add(new Message(messages.size(), key, clock.millis));
        }
        return base;
    }

    private static List<MessageKey> keys(Random random, int space) {
        List<MessageKey> keys = new ArrayList<>();
        for (int i = random.nextInt(1, 5); i > 0; i--) {
            keys.add(new MessageKey(random.nextInt(space), 0x8000_0000_0000_0000L));
        }
        return keys;
    }

    /** The walk of hydration: everything within the window, newest first. */
    private void readBack(KeyMemory memory, long lane, int window) {
        List<Message> messages = lane(lane);
        long since = memory.cutoffMillis(window);
        int low = messages.size();
        while (low > 0 && messages.get(low - 1).createdMillis() >= since) {
            low--;
            Message message = messages.get(low);
            memory.read(lane, window, message.createdMillis(), message.key().bytes());
        }
        if (low < messages.size()) {
            memory.hydrated(
                    lane,
                    window,
                    new Range(low, messages.size() - 1),
                    low == 0 ? Long.MIN_VALUE : since,
                    messages.get(low).createdMillis(),
                    messages.getLast().createdMillis());
        }
    }

    private void assertTruthful(KeyMemory memory, long lane, int window, List<MessageKey> keys) {
        Range range = memory.vouch(lane, window, List.of(segment(keys)));
        for (Message message : lane(lane)) {
            boolean counts = message.createdMillis() >= clock.millis - window * 1_000L;
            if (counts && range.from() <= message.offset() && message.offset() <= range.to()) {
                assertTrue(!keys.contains(message.key()), range + " " + message);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(longs = {1, 2, 3, 4, 5, 6, 7, 8})
    @Contract("dedup-3")
    void neverVouchesForAKeyThatIsThere(long seed) {
        Random random = new Random(seed);
        // In half of the runs room is so short that keys have to go before their time.
        KeyMemory memory = new KeyMemory(new DedupConfig(seed % 2 == 0 ? 64 << 20 : 60_000), clock);
        int space = seed % 3 == 0 ? 50 : 5_000;
        int[] windowOf = new int[LANES + 1];
        for (int step = 0; step < 6_000; step++) {
            long lane = random.nextInt(1, LANES + 1);
            if (windowOf[(int) lane] == 0 || random.nextInt(2_000) == 0) {
                windowOf[(int) lane] = WINDOWS[random.nextInt(WINDOWS.length)];
            }
            int window = windowOf[(int) lane];
            List<MessageKey> keys = keys(random, space);
            assertTruthful(memory, lane, window, keys);
            switch (random.nextInt(20)) {
                case 0 -> append(lane, keys);
                case 1 -> readBack(memory, lane, window);
                case 2 -> memory.wantsHydration(lane, window);
                case 3 -> clock.millis += random.nextInt(window * 500 + 1);
                default -> {
                    long base = append(lane, keys);
                    memory.stored(
                            memory.epoch(),
                            lane,
                            window,
                            base,
                            clock.millis,
                            List.of(segment(keys)));
                }
            }
            clock.millis += random.nextInt(20);
        }
    }

    @Test
    void vouchesForAllOfALaneThatOnlyThisBrokerWrote() {
        KeyMemory memory = new KeyMemory(DedupConfig.defaults(), clock);
        Random random = new Random(1);
        memory.created(1, 60);
        for (int i = 0; i < 20_000; i++) {
            List<MessageKey> keys =
                    List.of(new MessageKey(random.nextLong(), 0x8000_0000_0000_0000L));
            Range range = memory.vouch(1, 60, List.of(segment(keys)));
            assertEquals(new Range(0, i - 1), range);
            long base = append(1, keys);
            memory.stored(memory.epoch(), 1, 60, base, clock.millis, List.of(segment(keys)));
            clock.millis += 50;
        }
    }

    @Test
    void vouchesForAnOldLaneOnceAWindowHasPassed() {
        KeyMemory memory = new KeyMemory(DedupConfig.defaults(), clock);
        for (int i = 0; i < 100; i++) {
            append(1, List.of(new MessageKey(i, 0x8000_0000_0000_0000L)));
        }
        List<MessageKey> first = List.of(new MessageKey(1_000, 0x8000_0000_0000_0000L));
        memory.stored(
                memory.epoch(), 1, 60, append(1, first), clock.millis, List.of(segment(first)));
        List<Segment> other =
                List.of(segment(List.of(new MessageKey(2_000, 0x8000_0000_0000_0000L))));
        assertEquals(new Range(100, 100), memory.vouch(1, 60, other));
        clock.millis += 66_000;
        assertEquals(new Range(0, 100), memory.vouch(1, 60, other));
    }

    /** Idle lanes must not keep their keys: what expires is the bucket, whoever is in it. */
    @Test
    void forgetsIdleLanesWithTheirKeys() {
        KeyMemory memory = new KeyMemory(DedupConfig.defaults(), clock);
        Random random = new Random(1);
        for (long lane = 1; lane <= 50_000; lane++) {
            List<MessageKey> keys =
                    List.of(new MessageKey(random.nextLong(), 0x8000_0000_0000_0000L));
            memory.stored(memory.epoch(), lane, 60, 0, clock.millis, List.of(segment(keys)));
        }
        long full = memory.bytes();
        clock.millis += 120_000;
        memory.expire();
        assertTrue(memory.bytes() < full / 20, full + " -> " + memory.bytes());
    }

    @Test
    void takesFewBytesPerKeyAndStaysWithinItsBound() {
        KeyMemory memory = new KeyMemory(new DedupConfig(8 << 20), clock);
        Random random = new Random(1);
        long base = 0;
        for (int i = 0; i < 3_000; i++) {
            List<MessageKey> keys = new ArrayList<>();
            for (int k = 0; k < 1_000; k++) {
                keys.add(new MessageKey(random.nextLong(), 0x8000_0000_0000_0000L));
            }
            memory.stored(
                    memory.epoch(), 1 + i % 50, 3_600, base, clock.millis, List.of(segment(keys)));
            base += 1_000;
            clock.millis += 10;
            if (i == 499) {
                assertTrue(memory.bytes() < 500_000 * 12L, "bytes " + memory.bytes());
            }
            assertTrue(memory.bytes() <= 8 << 20, "bytes " + memory.bytes());
        }
        assertTrue(memory.evictions() > 0);
    }

    @Test
    void forgetsEverythingWhenTheServerIsAnotherOne() {
        KeyMemory memory = new KeyMemory(DedupConfig.defaults(), clock);
        memory.serverIs("1/00000001", clock.millis, () -> {});
        int before = memory.epoch();
        List<Segment> batch = List.of(segment(List.of(new MessageKey(1, 0x8000_0000_0000_0000L))));
        List<Segment> other = List.of(segment(List.of(new MessageKey(2, 0x8000_0000_0000_0000L))));
        memory.stored(before, 1, 60, 0, clock.millis, batch);
        assertEquals(new Range(0, 0), memory.vouch(1, 60, other));
        memory.serverIs("1/00000001", clock.millis, () -> {});
        assertEquals(new Range(0, 0), memory.vouch(1, 60, other));
        memory.serverIs("1/00000002", clock.millis, () -> {});
        assertTrue(memory.vouch(1, 60, other).isNothing());
        memory.stored(before, 1, 60, 0, clock.millis, batch);
        assertTrue(memory.vouch(1, 60, other).isNothing(), "that was the old server's answer");
    }
}
