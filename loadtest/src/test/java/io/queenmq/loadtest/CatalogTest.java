package io.queenmq.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class CatalogTest {
    @Test
    void holdsEveryGroupWithoutAGap() {
        List<String> expected = new ArrayList<>();
        for (String group : List.of("W 13", "R 16", "M 14", "I 10", "L 11")) {
            String letter = group.substring(0, 1);
            IntStream.rangeClosed(1, Integer.parseInt(group.substring(2)))
                    .mapToObj(number -> letter + number)
                    // Tenants that are kept apart are measured where there are tenants.
                    .filter(id -> !id.equals("L5"))
                    .forEach(expected::add);
        }
        expected.addAll(List.of("F1", "F2", "F5", "F6", "F7", "C1", "C2", "C3", "C4"));
        List<String> ids = Catalog.all().stream().map(Benchmark::id).toList();
        assertEquals(new HashSet<>(expected), new HashSet<>(ids));
        assertEquals(expected.size(), ids.size());
    }

    @Test
    void everyBenchmarkHasFiguresWithALimitAndAName() {
        for (Benchmark benchmark : Catalog.all()) {
            assertFalse(benchmark.gates().isEmpty(), benchmark.id());
            List<String> figures = benchmark.gates().stream().map(Gate::figure).toList();
            assertEquals(figures.size(), new HashSet<>(figures).size(), benchmark.id());
            for (Gate gate : benchmark.gates()) {
                assertFalse(Double.isNaN(gate.must()) && Double.isNaN(gate.aim()), benchmark.id());
            }
        }
    }

    @Test
    void findsSeveralByNameAndNothingIfOneIsUnknown() {
        assertEquals(
                List.of("W1", "R3"), Catalog.named("w1,R3").stream().map(Benchmark::id).toList());
        assertTrue(Catalog.named("W1,X9").isEmpty());
        assertEquals(
                List.of("cost", "rules"),
                Catalog.named("cost,rules").stream().map(Benchmark::id).toList());
    }
}
