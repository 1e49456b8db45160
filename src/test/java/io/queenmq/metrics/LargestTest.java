package io.queenmq.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import org.junit.jupiter.api.Test;

class LargestTest {
    @Test
    void theLargestAreNamedAndTheOthersAddedUp() {
        Map<String, Integer> all = Map.of("a", 1, "b", 5, "c", 5, "d", 2);
        assertEquals(Map.of("b", 5L, "other", 8L), Largest.of(all, 1).shown());
        assertEquals(Map.of("b", 5L, "c", 5L, "other", 3L), Largest.of(all, 2).shown());
        assertEquals(Map.of("a", 1L, "b", 5L, "c", 5L, "d", 2L), Largest.of(all, 4).shown());
        assertEquals(Map.of(), Largest.of(Map.of(), 4).shown());
    }

    @Test
    void aNameLikeThatOfTheOthersIsAmongThem() {
        Map<String, Integer> all = Map.of("other", 7, "b", 5, "c", 1);
        assertEquals(Map.of("other", 13L), Largest.of(all, 1).shown());
        assertEquals(Map.of("other", 8L, "b", 5L), Largest.of(all, 2).shown());
        assertEquals(Map.of("other", 7L, "b", 5L, "c", 1L), Largest.of(all, 3).shown());
    }
}
