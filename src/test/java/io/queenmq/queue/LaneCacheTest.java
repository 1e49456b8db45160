package io.queenmq.queue;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class LaneCacheTest {
    @Test
    void findsByNameAndByNumber() {
        LaneCache cache = new LaneCache(64 << 20);
        for (int i = 1; i <= 100_000; i++) {
            cache.put(i % 7, "lane-" + i, i, i * 10L);
        }
        for (int i = 1; i <= 100_000; i += 97) {
            assertEquals(i, cache.number(i % 7, "lane-" + i));
            assertEquals(i * 10L, cache.lastOffset(i));
        }
        assertEquals(0, cache.number(6, "lane-1"));
        assertEquals(-1, cache.lastOffset(100_001));
        assertTrue(cache.bytes() < 100_000 * 120, "bytes " + cache.bytes());
    }

    @Test
    void staysWithinItsBoundAndKeepsWhatIsUsed() {
        LaneCache cache = new LaneCache(1 << 20);
        cache.put(1, "used", 1, 5);
        for (int i = 2; i <= 100_000; i++) {
            cache.put(1, "lane-" + i, i, -1);
            assertEquals(1, cache.number(1, "used"));
        }
        assertTrue(cache.bytes() <= 1 << 20, "bytes " + cache.bytes());
        assertEquals(0, cache.number(1, "lane-2"));
        assertEquals(100_000, cache.number(1, "lane-100000"));
        assertEquals(5, cache.lastOffset(1));
    }

    @Test
    void remembersHowFarALaneHasCome() {
        LaneCache cache = new LaneCache(1 << 20);
        cache.put(1, "a", 1, -1);
        cache.wrote(1, 41);
        assertEquals(41, cache.lastOffset(1));
        cache.put(1, "a", 1, 40);
        assertEquals(41, cache.lastOffset(1), "an older look-up takes nothing back");
        assertEquals(-1, cache.lastOffset(2));
    }

    @Test
    void forgottenLaneIsFoundByNeither() {
        LaneCache cache = new LaneCache(1 << 20);
        cache.put(1, "a", 1, 5);
        cache.forget(1);
        assertEquals(0, cache.number(1, "a"));
        assertEquals(-1, cache.lastOffset(1));
        cache.put(1, "a", 2, 7);
        assertEquals(2, cache.number(1, "a"));
        assertEquals(7, cache.lastOffset(2));
    }
}
