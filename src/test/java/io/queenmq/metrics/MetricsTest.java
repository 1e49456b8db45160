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
    void asksNoGaugeOfAClosedBroker() {
        try (Metrics first = new Metrics()) {
            first.gauge("queen_test_restarts", "Restarts.", () -> 1);
        }
        try (Metrics second = new Metrics()) {
            second.gauge("queen_test_restarts", "Restarts.", () -> 2);
            assertTrue(
                    second.prometheus().contains("queen_test_restarts{scope=\"application\",} 2.0"),
                    () -> second.prometheus());
        }
    }

    @Test
    void rendersEveryKindForPrometheus() {
        try (Metrics metrics = new Metrics()) {
            metrics.counter("queen_test_events_total", "Events.", "kind", "a").increment(3);
            metrics.gauge("queen_test_level", "Level.", () -> 7);
            metrics.timer("queen_test_call_seconds", "Time.").record(2, TimeUnit.SECONDS);
            metrics.distribution("queen_test_sizes", "Sizes.").record(5);
            String text = metrics.prometheus();
            for (String part :
                    new String[] {
                        "queen_test_events_total{kind=\"a\"",
                        "# HELP queen_test_level Level.",
                        "queen_test_call_seconds_count",
                        "queen_test_sizes_sum"
                    }) {
                assertTrue(text.contains(part), () -> part + " is missing in\n" + text);
            }
        }
    }
}
