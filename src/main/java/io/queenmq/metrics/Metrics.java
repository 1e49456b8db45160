package io.queenmq.metrics;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.FunctionCounter;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.binder.jvm.JvmGcMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.distribution.ValueAtPercentile;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.LongStream;

/**
 * The meters of one broker, by name. Names are {@code queen_<room>_<what>}; tags are pairs of name
 * and value with a small, fixed set of values: never a queue, lane or group; what has a label of
 * its own making is a {@link #family}. Asking twice for the same meter returns the same one. Safe
 * for any thread; meters are looked up once, in constructors.
 */
public final class Metrics implements AutoCloseable {
    private static final double[] PERCENTILES = {0.5, 0.99};

    private static final Duration[] BOUNDS =
            LongStream.of(1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 30_000)
                    .mapToObj(Duration::ofMillis)
                    .toArray(Duration[]::new);

    private final PrometheusMeterRegistry registry =
            new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);

    private final List<Consumer<MetricsText>> families = new CopyOnWriteArrayList<>();

    private final JvmGcMetrics collections = new JvmGcMetrics();

    /** The virtual machine is shown from the start, under the names that its dashboards know. */
    public Metrics() {
        new JvmMemoryMetrics().bindTo(registry);
        new JvmThreadMetrics().bindTo(registry);
        collections.bindTo(registry);
    }

    /** Counts events; never falls. */
    public Counter counter(String name, String description, String... tags) {
        return Counter.builder(name).description(description).tags(tags).register(registry);
    }

    /** Shows what is counted elsewhere, and never falls; the first supplier of a name stays. */
    public void counterOf(String name, String description, Supplier<Number> value, String... tags) {
        // The registry holds what it asks weakly, the function that asks it strongly.
        FunctionCounter.builder(name, this, self -> value.get().doubleValue())
                .description(description)
                .tags(tags)
                .register(registry);
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

    /** Durations in buckets, which can be added up over brokers. */
    public Timer histogram(String name, String description, String... tags) {
        return Timer.builder(name)
                .description(description)
                .serviceLevelObjectives(BOUNDS)
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

    /** Gauges of the median and 99th percentile of what is recorded last; 0 = nothing was. */
    public LatestValues latest(
            String name, String description, LongSupplier nanoClock, String... tags) {
        LatestValues values = new LatestValues(nanoClock);
        for (double share : PERCENTILES) {
            Gauge.builder(
                            name,
                            values,
                            latest -> Objects.requireNonNullElse(latest.quantile(share), 0.0))
                    .description(description)
                    .tags(tags)
                    .tag("quantile", String.valueOf(share))
                    .strongReference(true)
                    .register(registry);
        }
        return values;
    }

    /**
     * What the meters of this name with these tags say now, summed: of durations how many there
     * were. 0 = there is none.
     */
    public double value(String name, String... tags) {
        double sum = 0;
        for (Meter meter : registry.find(name).tags(tags).meters()) {
            sum += meter.measure().iterator().next().getValue();
        }
        return sum;
    }

    /** What this tag says of the meters of this name whose value is above zero, sorted. */
    public List<String> tagsAboveZero(String name, String tag) {
        return registry.find(name).gauges().stream()
                .filter(gauge -> gauge.value() > 0)
                .map(gauge -> gauge.getId().getTag(tag))
                .filter(Objects::nonNull)
                .sorted()
                .toList();
    }

    /** Below which the share {@code percentile} of recent durations stays; 0 = there were none. */
    public double millis(double percentile, String name, String... tags) {
        double longest = 0;
        for (Timer timer : registry.find(name).tags(tags).timers()) {
            for (ValueAtPercentile at : timer.takeSnapshot().percentileValues()) {
                if (at.percentile() == percentile) {
                    longest = Math.max(longest, at.value(TimeUnit.MILLISECONDS));
                }
            }
        }
        return longest;
    }

    /** Shown behind the meters: families whose labels come and go, in a number that is bounded. */
    public void family(Consumer<MetricsText> family) {
        families.add(family);
    }

    /** All meters in the text format of Prometheus. */
    public String prometheus() {
        MetricsText text = new MetricsText(registry.scrape());
        families.forEach(family -> family.accept(text));
        return text.toString();
    }

    /** No gauge is asked any more. */
    @Override
    public void close() {
        collections.close();
        registry.close();
    }
}
