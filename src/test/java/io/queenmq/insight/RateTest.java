package io.queenmq.insight;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;

class RateTest {
    private long nanos = 17;

    private final Clock clock =
            new Clock() {
                @Override
                public Instant now() {
                    return Instant.EPOCH.plusNanos(nanos);
                }

                @Override
                public long nanos() {
                    return nanos;
                }
            };

    private final Rate rate = new Rate(100, clock);

    private double after(int seconds, double total) {
        nanos += Duration.ofSeconds(seconds).toNanos();
        return rate.of(total);
    }

    @Test
    void isThatOfAllTheTimeUntilItIsAMinute() {
        assertEquals(10, after(10, 200));
        assertEquals(5, after(10, 200));
    }

    @Test
    void forgetsWhatIsOlderThanAMinute() {
        assertEquals(10, after(10, 200));
        assertEquals(2, after(60, 320));
        assertEquals(0, after(60, 320));
        assertEquals(0, after(3_600, 320));
    }

    @Test
    void isNothingAtFirstAndWhereTheTotalFalls() {
        assertEquals(0, after(2, 1_000));
        assertEquals(300, after(1, 1_000));
        assertEquals(0, after(1, 50));
    }

    @Test
    void whoAsksAllTheTimeGetsTheSame() {
        for (int i = 1; i <= 1_000; i++) {
            nanos += Duration.ofMillis(100).toNanos();
            rate.of(100 + i);
        }
        assertEquals(10, rate.of(1_100), 1e-9);
    }
}
