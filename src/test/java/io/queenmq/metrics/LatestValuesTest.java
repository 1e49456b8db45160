package io.queenmq.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class LatestValuesTest {
    private long nanos;
    private final LatestValues values = new LatestValues(() -> nanos);

    @Test
    void aQuantileIsAValueThatWasRecorded() {
        assertNull(values.quantile(0.5));
        values.record(7);
        assertEquals(7, values.quantile(0.5));
        assertEquals(7, values.quantile(0.99));
        for (int i = 1; i <= 99; i++) {
            values.record(100 + i);
        }
        assertEquals(149, values.quantile(0.5));
        assertEquals(194, values.quantile(0.95));
        assertEquals(199, values.quantile(1));
    }

    @Test
    void theOldestMakeRoom() {
        for (int i = 0; i < 1_000; i++) {
            values.record(i);
        }
        assertEquals(872, values.quantile(0));
        assertEquals(999, values.quantile(1));
    }

    @Test
    void whatIsOverIsForgotten() {
        values.record(90);
        nanos += Duration.ofMinutes(6).toNanos();
        values.record(1);
        assertEquals(90, values.quantile(1));
        nanos += Duration.ofMinutes(6).toNanos();
        assertEquals(1, values.quantile(1));
        nanos += Duration.ofMinutes(6).toNanos();
        assertNull(values.quantile(1));
    }
}
