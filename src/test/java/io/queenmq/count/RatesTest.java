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
    void whoDoesNothingSaysNothing() {
        assertEquals(Optional.empty(), Rates.line(totals(10, 5), totals(10, 5), 10));
    }
}
