package io.queenmq.pop;

import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;

/**
 * The meters of pops that wait for their batch to fill.
 *
 * @param waits how many have
 * @param micros how long, in all
 */
record HoldMeters(Counter waits, Counter micros) {
    static HoldMeters of(Metrics metrics) {
        return new HoldMeters(
                metrics.counter(
                        "queen_pop_fill_wait_total", "Pops that waited for their batch to fill."),
                metrics.counter(
                        "queen_pop_fill_wait_microseconds_total",
                        "Time that pops waited for their batch to fill."));
    }
}
