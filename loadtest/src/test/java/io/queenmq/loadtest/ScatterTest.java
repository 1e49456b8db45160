package io.queenmq.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class ScatterTest {
    @Test
    void everyNumberHasAPlaceOfItsOwnAndIsFoundThere() {
        for (int size : new int[] {1, 2, 7, 2_000, 4_096, 99_990}) {
            Scatter scatter = Scatter.of(size);
            Scatter inverse = scatter.inverse();
            assertEquals(
                    size,
                    IntStream.range(0, size).map(scatter::at).distinct().count(),
                    "of " + size);
            for (int number = 0; number < size; number++) {
                int place = scatter.at(number);
                assertTrue(place >= 0 && place < size, "of " + size);
                assertEquals(number, inverse.at(place), "of " + size);
            }
        }
    }

    @Test
    void theFirstFewAreSpreadEvenlyOverAMillion() {
        Scatter scatter = Scatter.of(1_000_000);
        int[] places = IntStream.range(0, 200).map(scatter::at).sorted().toArray();
        for (int i = 1; i < places.length; i++) {
            int apart = places[i] - places[i - 1];
            // Even would be 5,000.
            assertTrue(apart > 1_500 && apart < 10_000, "apart " + apart);
        }
    }

    @Test
    void nothingCannotBeScattered() {
        assertThrows(IllegalArgumentException.class, () -> Scatter.of(0));
    }
}
