package io.queenmq.maintain;

import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import java.time.Duration;

/** Removes notes of applications that are older than an operator wants to keep them. */
final class OldTraces implements Job {
    private static final Duration PERIOD = Duration.ofMinutes(1);

    /** A note has up to 100 names, each a row of its own. */
    private static final int NOTES_MAX = 500;

    private final StorageProcedures procedures;
    private final Duration age;
    private final Counter removed;

    OldTraces(StorageProcedures procedures, Duration age, Metrics metrics) {
        this.procedures = procedures;
        this.age = age;
        this.removed =
                metrics.counter(
                        "queen_maintain_removed_traces_total",
                        "Notes of applications removed for their age.");
    }

    @Override
    public String name() {
        return "trace_retention";
    }

    @Override
    public Duration period() {
        return PERIOD;
    }

    @Override
    public boolean hasWork() {
        return procedures.hasOldTraces(age);
    }

    @Override
    public boolean step() {
        int notes = procedures.removeOldTraces(age, NOTES_MAX);
        removed.increment(notes);
        return notes == NOTES_MAX;
    }
}
