package io.queenmq.timer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.metrics.Metrics;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.UUID;
import org.junit.jupiter.api.Test;

class FireLagsTest {
    private static final String FAMILY = "queen_timers_fire_lag_seconds";
    private static final String DROPPED = "queen_timers_fire_lag_tenants_dropped_total";

    private long nanos;
    private final Clock clock =
            new Clock() {
                @Override
                public Instant now() {
                    return Instant.EPOCH;
                }

                @Override
                public long nanos() {
                    return nanos;
                }
            };

    private static long shown(Metrics metrics) {
        return metrics.prometheus().lines().filter(line -> line.startsWith(FAMILY + "{")).count();
    }

    @Test
    void eachTenantHasItsOwn() {
        try (Metrics metrics = new Metrics()) {
            FireLags lags = new FireLags(metrics, clock);
            assertTrue(metrics.prometheus().contains("# TYPE " + FAMILY + " gauge\n"));
            for (int i = 1; i <= 100; i++) {
                lags.record(new UUID(0, 1), i);
            }
            lags.record(new UUID(0, 2), 0.004);
            String text = metrics.prometheus();
            String first = FAMILY + "{tenant=\"" + new UUID(0, 1) + "\",quantile=\"";
            String second = FAMILY + "{tenant=\"" + new UUID(0, 2) + "\",quantile=\"";
            assertTrue(text.contains(first + "0.5\"} 50\n"), text);
            assertTrue(text.contains(first + "0.95\"} 95\n"), text);
            assertTrue(text.contains(second + "0.95\"} 0.004\n"), text);
        }
    }

    @Test
    void tenantsAreBoundedAndWhoHasBeenSilentMakesRoom() {
        try (Metrics metrics = new Metrics()) {
            FireLags lags = new FireLags(metrics, clock);
            for (int i = 0; i < FireLags.TENANTS_MAX + 3; i++) {
                lags.record(new UUID(0, i), 1);
            }
            assertEquals(2 * FireLags.TENANTS_MAX, shown(metrics));
            assertEquals(3, metrics.value(DROPPED));
            nanos += Duration.ofMinutes(11).toNanos();
            assertEquals(0, shown(metrics));
            lags.record(new UUID(7, 7), 1);
            assertEquals(2, shown(metrics));
            assertEquals(3, metrics.value(DROPPED));
            assertFalse(metrics.prometheus().contains(new UUID(0, 1).toString()));
        }
    }
}
