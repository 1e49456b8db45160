package io.queenmq.timer;

import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.LatestValues;
import io.queenmq.metrics.Metrics;
import io.queenmq.metrics.MetricsText;
import io.queenmq.runtime.Clock;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/**
 * How much later than scheduled messages were stored of late, tenant by tenant: one that waits
 * behind others is seen. Any thread.
 */
final class FireLags {
    /** Tenants that are shown: their number is a tenant's affair, and what scrapes keeps them. */
    static final int TENANTS_MAX = 1_024;

    private static final String FAMILY = "queen_timers_fire_lag_seconds";
    private static final List<String> QUANTILES = List.of("0.5", "0.95");

    private final ConcurrentHashMap<UUID, LatestValues> tenants = new ConcurrentHashMap<>();
    private final Counter dropped;
    private final Clock clock;

    FireLags(Metrics metrics, Clock clock) {
        this.clock = clock;
        this.dropped =
                metrics.counter(
                        "queen_timers_fire_lag_tenants_dropped_total",
                        "Timers of tenants whose lag is not shown: there are too many tenants.");
        metrics.family(this::show);
    }

    void record(UUID tenant, double seconds) {
        LatestValues lags = tenants.get(tenant);
        if (lags == null) {
            // Two threads at once may let in one more each: a bound, not a promise.
            if (tenants.size() >= TENANTS_MAX) {
                dropped.increment();
                return;
            }
            lags = tenants.computeIfAbsent(tenant, _ -> new LatestValues(clock::nanos));
        }
        lags.record(seconds);
    }

    /** Whoever had no timer of late makes room for others, at the next scrape. */
    private void show(MetricsText text) {
        text.gauge(FAMILY, "How much later than scheduled messages were stored of late.");
        for (Map.Entry<UUID, LatestValues> tenant : tenants.entrySet()) {
            for (String quantile : QUANTILES) {
                Double lag = tenant.getValue().quantile(Double.parseDouble(quantile));
                if (lag == null) {
                    tenants.remove(tenant.getKey(), tenant.getValue());
                } else {
                    text.sample(
                            FAMILY,
                            lag,
                            "tenant",
                            tenant.getKey().toString(),
                            "quantile",
                            quantile);
                }
            }
        }
    }
}
