package io.queenmq.metrics;

import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class MetricsTest {

    @Test
    void returnsTheSameMeterWhenAskedTwice() {
        try (Metrics metrics = new Metrics()) {
            assertSame(
                    metrics.counter("queen_test_events_total", "Events.", "kind", "a"),
                    metrics.counter("queen_test_events_total", "Events.", "kind", "a"));
            assertSame(
                    metrics.timer("queen_test_seconds", "Time."),
                    metrics.timer("queen_test_seconds", "Time."));
            assertSame(
                    metrics.distribution("queen_test_sizes", "Sizes."),
                    metrics.distribution("queen_test_sizes", "Sizes."));
            metrics.gauge("queen_test_level", "Level.", () -> 1);
            metrics.gauge("queen_test_level", "Level.", () -> 2);
            assertTrue(
                    metrics.prometheus().contains("queen_test_level"), () -> metrics.prometheus());
        }
    }

    @Test
    void brokersOfOneProcessCountApart() {
        try (Metrics first = new Metrics();
                Metrics second = new Metrics()) {
            first.gauge("queen_test_level", "Level.", () -> 1);
            second.gauge("queen_test_level", "Level.", () -> 2);
            first.counter("queen_test_events_total", "Events.").increment();
            second.counter("queen_test_events_total", "Events.").increment(5);
            assertHas(first, "queen_test_level 1.0");
            assertHas(second, "queen_test_level 2.0");
            assertHas(first, "queen_test_events_total 1.0");
            assertHas(second, "queen_test_events_total 5.0");
        }
    }

    @Test
    void rendersEveryKindForPrometheus() {
        try (Metrics metrics = new Metrics()) {
            metrics.counter("queen_test_events_total", "Events.", "kind", "a").increment(3);
            metrics.gauge("queen_test_level", "Level.", () -> 7);
            metrics.timer("queen_test_call_seconds", "Time.").record(2, TimeUnit.SECONDS);
            metrics.distribution("queen_test_sizes", "Sizes.").record(5);
            assertHas(metrics, "queen_test_events_total{kind=\"a\"} 3.0");
            assertHas(metrics, "# HELP queen_test_level Level.");
            assertHas(metrics, "queen_test_call_seconds_sum 2.0");
            assertHas(metrics, "queen_test_call_seconds{quantile=\"0.99\"}");
            assertHas(metrics, "queen_test_sizes_count 1");
        }
    }

    private static void assertHas(Metrics metrics, String part) {
        String text = metrics.prometheus();
        assertTrue(text.contains(part), () -> part + " is missing in\n" + text);
    }
}
