package io.queenmq.maintain;

import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.function.IntConsumer;

/** Removes lanes that are empty and have not been written for long. */
final class IdleLanes implements Job {
    private static final int LANES_MAX = 200;

    private final StorageProcedures procedures;
    private final MaintainConfig config;
    private final IntConsumer queueChanged;
    private final Counter removed;
    private final RetentionLog log;

    private StorageProcedures.Idle after = StorageProcedures.Idle.FIRST;

    /**
     * @param queueChanged is told the queues that lost lanes: whoever waits for one by its number
     *     would not hear of the next push, which makes it anew
     */
    IdleLanes(
            StorageProcedures procedures,
            MaintainConfig config,
            IntConsumer queueChanged,
            Metrics metrics,
            Clock clock) {
        this.log = new RetentionLog(clock);
        this.procedures = procedures;
        this.config = config;
        this.queueChanged = queueChanged;
        this.removed =
                metrics.counter(
                        "queen_maintain_removed_lanes_total", "Lanes removed that nobody used.");
    }

    @Override
    public String name() {
        return "partition_cleanup";
    }

    @Override
    public Duration period() {
        return config.partitionCleanupInterval();
    }

    @Override
    public boolean hasWork() {
        return procedures.hasIdleLanes(config.partitionCleanupAge());
    }

    @Override
    public boolean step() {
        boolean more = step(log.beforeStep());
        log.afterStep(more);
        return more;
    }

    /**
     * The same, and adds what it did to a run.
     *
     * @return whether there is more to do now
     */
    boolean step(RetentionRun run) {
        StorageProcedures.Removed step =
                procedures.removeIdleLanes(config.partitionCleanupAge(), after, LANES_MAX);
        run.add(step);
        removed.increment(step.lanes());
        step.queueIds().forEach(queueChanged::accept);
        StorageProcedures.Idle last = step.last();
        after = last == null ? StorageProcedures.Idle.FIRST : last;
        return last != null;
    }
}
