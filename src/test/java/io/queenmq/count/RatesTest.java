package io.queenmq.count;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;

class RatesTest {
    private static Map<String, Double> totals(double pushes, double pops) {
        return new TreeMap<>(Map.of("push_s", pushes, "pop_s", pops));
    }

    @Test
    void theLineSaysWhatWentOnPerSecond() {
        assertEquals(
                Optional.of("pop_s=0.2 push_s=0.0"), Rates.line(totals(10, 5), totals(10, 7), 10));
        assertEquals(
                Optional.of("pop_s=0.0 push_s=1000.0"),
                Rates.line(totals(0, 0), totals(2_000, 0), 2));
    }

    @Test
    void whoIsSentAwayIsCountedByWhatItWanted() {
        assertEquals(
                Optional.of("polls=3 pushes=10"),
                Rates.refusals(
                        new TreeMap<>(Map.of("polls", 1.0, "pushes", 0.0, "requests", 7.0)),
                        new TreeMap<>(Map.of("polls", 4.0, "pushes", 10.0, "requests", 7.0))));
        assertEquals(Optional.empty(), Rates.refusals(Map.of("polls", 1.0), Map.of("polls", 1.0)));
    }

    @Test
    void whoDoesNothingSaysNothing() {
        assertEquals(Optional.empty(), Rates.line(totals(10, 5), totals(10, 5), 10));
    }
}
