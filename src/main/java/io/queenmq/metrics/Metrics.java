package io.queenmq.metrics;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Timer;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.util.function.Supplier;

/**
 * The meters of one broker, by name. Names are {@code queen_<room>_<what>}; tags are pairs of name
 * and value with a small, fixed set of values: never a queue, lane or group. Asking twice for the
 * same meter returns the same one. Safe for any thread; meters are looked up once, in constructors.
 */
public final class Metrics implements AutoCloseable {
    private static final double[] PERCENTILES = {0.5, 0.99};

    private final PrometheusMeterRegistry registry =
            new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);

    /** Counts events; never falls. */
    public Counter counter(String name, String description, String... tags) {
        return Counter.builder(name).description(description).tags(tags).register(registry);
    }

    /** Reads a value when somebody asks for it; the first supplier of a name stays. */
    public void gauge(String name, String description, Supplier<Number> value, String... tags) {
        Gauge.builder(name, value).description(description).tags(tags).register(registry);
    }

    /** Durations, with their median and 99th percentile. */
    public Timer timer(String name, String description, String... tags) {
        return Timer.builder(name)
                .description(description)
                .publishPercentiles(PERCENTILES)
                .tags(tags)
                .register(registry);
    }

    /** Sizes, with their median and 99th percentile. */
    public DistributionSummary distribution(String name, String description, String... tags) {
        return DistributionSummary.builder(name)
                .description(description)
                .publishPercentiles(PERCENTILES)
                .tags(tags)
                .register(registry);
    }

    /** All meters in the text format of Prometheus. */
    public String prometheus() {
        return registry.scrape();
    }

    /** No gauge is asked any more. */
    @Override
    public void close() {
        registry.close();
    }
}
