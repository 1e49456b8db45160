package io.queenmq.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class IntervalTest {
    @Test
    void whatSlowsBothArmsOfAPairDownCancelsOut() {
        Interval interval = Interval.ofPairs(new double[] {2, 20, 200}, new double[] {1, 10, 100});
        assertEquals(2, interval.mean(), 1e-9);
        assertEquals(2, interval.low(), 1e-9);
        assertEquals(2, interval.high(), 1e-9);
    }

    @Test
    void widthIsStudentsForTheNumberOfPairs() {
        // Logarithms 0 and ln 4: mean ln 2, standard error ln 2, one degree of freedom.
        Interval interval = Interval.ofPairs(new double[] {1, 4}, new double[] {1, 1});
        assertEquals(2, interval.mean(), 1e-9);
        assertEquals(Math.exp(Math.log(2) * (1 + 12.706)), interval.high(), 1e-6);
        assertEquals(Math.exp(Math.log(2) * (1 - 12.706)), interval.low(), 1e-9);
    }

    @Test
    void morePairsOfTheSameSpreadAreNarrower() {
        Interval few = Interval.ofPairs(new double[] {1, 2, 1, 2}, new double[] {1, 1, 1, 1});
        Interval many =
                Interval.ofPairs(
                        new double[] {1, 2, 1, 2, 1, 2, 1, 2},
                        new double[] {1, 1, 1, 1, 1, 1, 1, 1});
        assertTrue(many.high() - many.low() < few.high() - few.low());
    }

    @Test
    void onePairSaysNothing() {
        assertThrows(
                IllegalArgumentException.class,
                () -> Interval.ofPairs(new double[] {1}, new double[] {1}));
    }
}
