package io.queenmq.timer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.queenmq.metrics.Metrics;
import io.queenmq.runtime.Clock;
import io.queenmq.timer.TimerProcedures.Probe;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;

/** What the numbers say while nothing works. */
class TimerMetersTest {
    private static final String LATE = "queen_timers_oldest_late_seconds";
    private static final Instant NOW = Instant.parse("2026-11-30T10:00:00Z");

    private long nanos;
    private final Clock clock =
            new Clock() {
                @Override
                public Instant now() {
                    return NOW;
                }

                @Override
                public long nanos() {
                    return nanos;
                }
            };

    @Test
    void howLateTheOldestIsGrowsWhileNobodyLooks() {
        try (Metrics metrics = new Metrics()) {
            TimerMeters meters = new TimerMeters(metrics, clock, 10, true);
            assertEquals(0, metrics.value(LATE));
            meters.looked(new Probe(NOW, NOW.plusSeconds(60), 0, null), nanos);
            nanos += Duration.ofSeconds(59).toNanos();
            assertEquals(0, metrics.value(LATE));
            nanos += Duration.ofSeconds(11).toNanos();
            assertEquals(10, metrics.value(LATE));
            meters.looked(new Probe(NOW, null, 0, null), nanos);
            assertEquals(0, metrics.value(LATE), "there is none");
        }
    }

    @Test
    void aBrokerThatNeverLooksDoesNotSayThatNothingIsDue() {
        try (Metrics metrics = new Metrics()) {
            new TimerMeters(metrics, clock, 10, false);
            assertFalse(metrics.prometheus().contains("queen_timers_due"));
            assertFalse(metrics.prometheus().contains(LATE));
        }
    }
}
