package io.queenmq.metrics;

import io.helidon.common.media.type.MediaTypes;
import io.helidon.metrics.api.Counter;
import io.helidon.metrics.api.DistributionStatisticsConfig;
import io.helidon.metrics.api.DistributionSummary;
import io.helidon.metrics.api.Gauge;
import io.helidon.metrics.api.Meter;
import io.helidon.metrics.api.MeterRegistry;
import io.helidon.metrics.api.MetricsConfig;
import io.helidon.metrics.api.Tag;
import io.helidon.metrics.api.Timer;
import io.helidon.metrics.spi.MeterRegistryFormatterProvider;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;

/**
 * The meters of one broker, by name. Names are {@code queen_<room>_<what>}; tags are pairs of name
 * and value with a small, fixed set of values: never a queue, lane or group. Asking twice for the
 * same meter returns the same one. Safe for any thread; meters are looked up once, in constructors.
 */
public final class Metrics implements AutoCloseable {
    private static final double[] PERCENTILES = {0.5, 0.99};

    /**
     * Held while a meter comes or goes. A registry of Helidon takes its own lock, then
     * Micrometer's, and in there those of all others: two brokers of one process would wait for
     * each other.
     */
    private static final ReentrantLock REGISTRATION = new ReentrantLock();

    // Behind it all registries of a process share their meters: two brokers in one process (tests)
    // count together.
    private final MetricsConfig config =
            MetricsConfig.builder().warnOnMultipleRegistries(false).build();
    private final MeterRegistry registry = MeterRegistry.create(config);

    /** Counts events; never falls. */
    public Counter counter(String name, String description, String... tags) {
        return registered(Counter.builder(name).description(description).tags(tags(tags)));
    }

    /** Reads a value when somebody asks for it; the first supplier of a name stays. */
    public <N extends Number> void gauge(
            String name, String description, Supplier<N> value, String... tags) {
        registered(Gauge.builder(name, value).description(description).tags(tags(tags)));
    }

    /** Durations, with their median and 99th percentile. */
    public Timer timer(String name, String description, String... tags) {
        return registered(
                Timer.builder(name)
                        .description(description)
                        .percentiles(PERCENTILES)
                        .tags(tags(tags)));
    }

    /** Sizes, with their median and 99th percentile. */
    public DistributionSummary distribution(String name, String description, String... tags) {
        return registered(
                DistributionSummary.builder(
                                name,
                                DistributionStatisticsConfig.builder().percentiles(PERCENTILES))
                        .description(description)
                        .tags(tags(tags)));
    }

    /** All meters in the text format of Prometheus. */
    public String prometheus() {
        for (MeterRegistryFormatterProvider provider :
                ServiceLoader.load(MeterRegistryFormatterProvider.class)) {
            Optional<Object> text =
                    provider.formatter(
                                    MediaTypes.TEXT_PLAIN,
                                    config,
                                    registry,
                                    Optional.empty(),
                                    List.of(),
                                    List.of())
                            .flatMap(formatter -> formatter.format());
            if (text.isPresent()) {
                return text.get().toString();
            }
        }
        return "";
    }

    /** Takes its meters away, so that a gauge of a stopped broker is asked no more. */
    @Override
    public void close() {
        REGISTRATION.lock();
        try {
            for (Meter meter : List.copyOf(registry.meters())) {
                registry.remove(meter);
            }
            registry.close();
        } finally {
            REGISTRATION.unlock();
        }
    }

    private <B extends Meter.Builder<B, M>, M extends Meter> M registered(B meter) {
        REGISTRATION.lock();
        try {
            return registry.getOrCreate(meter);
        } finally {
            REGISTRATION.unlock();
        }
    }

    private static List<Tag> tags(String... pairs) {
        if (pairs.length % 2 != 0) {
            throw new IllegalArgumentException("tags are pairs of name and value");
        }
        List<Tag> tags = new ArrayList<>();
        for (int i = 0; i < pairs.length; i += 2) {
            tags.add(Tag.create(pairs[i], pairs[i + 1]));
        }
        return tags;
    }
}
