package io.queenmq.metrics;

import io.micrometer.core.instrument.Counter;
import java.util.function.LongSupplier;

/**
 * The meters of what is swept in the background, phase by phase: {@code fire}, {@code kv_expire},
 * {@code usage}.
 *
 * @param rows rows that were taken up
 * @param skipped times that a phase had its turn and was left out
 * @param cycleMs how long it took, where it did something
 */
public record PhaseMeters(Counter rows, Counter skipped, LatestValues cycleMs) {
    public static PhaseMeters of(Metrics metrics, LongSupplier nanoClock, String phase) {
        return new PhaseMeters(
                metrics.counter(
                        "queen_sweeper_rows_total",
                        "Timers claimed, expired keys removed, rows measured.",
                        "phase",
                        phase),
                metrics.counter(
                        "queen_sweeper_phase_skipped_total",
                        "Times that a phase was switched off, or had nothing to do.",
                        "phase",
                        phase),
                metrics.latest(
                        "queen_sweeper_cycle_milliseconds",
                        "Recent time of cycles that did something.",
                        nanoClock,
                        "phase",
                        phase));
    }
}
