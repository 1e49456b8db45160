package io.queenmq.maintain;

import io.queenmq.db.Database;
import io.queenmq.metrics.Metrics;
import io.queenmq.runtime.Clock;
import io.queenmq.runtime.Loop;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.IntConsumer;

/** The jobs of the whole cluster, as far as it is this broker's turn to run them. */
public final class Maintain implements AutoCloseable {
    private static final Duration TICK_MAX = Duration.ofMillis(250);

    private final Loop loop;

    /**
     * Starts them.
     *
     * @param queueChanged who keeps something of a queue whose lanes change; told after the commit
     */
    public Maintain(
            MaintainConfig config,
            Database database,
            IntConsumer queueChanged,
            Metrics metrics,
            Clock clock) {
        StorageProcedures storage = new StorageProcedures(database);
        List<Job> jobs = new ArrayList<>();
        jobs.add(new Expiry(storage, config, metrics, clock));
        jobs.add(new Cleanup(storage, metrics));
        jobs.add(new Sweep(storage, config));
        jobs.add(new KvExpiry(storage, metrics, clock));
        if (config.partitionCleanup()) {
            jobs.add(new IdleLanes(storage, config, queueChanged, metrics, clock));
        }
        if (config.traceAge().isPositive()) {
            jobs.add(new OldTraces(storage, config.traceAge(), metrics));
        }
        jobs.add(
                new OrderedEpochs(
                        new Epochs(
                                config.epochs(),
                                new EpochProcedures(database, config.epochs()),
                                metrics),
                        new Reclaim(database, metrics, clock),
                        new ReclaimProcedures(database)));
        jobs.add(new Purge(new PurgeProcedures(database), storage, queueChanged, metrics));
        StatisticsProcedures statistics = new StatisticsProcedures(database);
        Unsettled unsettled =
                new Unsettled(statistics, config.statistics().interval(), metrics, clock);
        jobs.add(new Statistics(statistics, unsettled, config.statistics().interval()));
        jobs.add(new Recount(statistics, unsettled, config.statistics().recountInterval()));
        jobs.add(
                new Usage(
                        new UsageProcedures(database),
                        config.statistics().usageInterval(),
                        metrics,
                        clock));
        JobRunner runner = new JobRunner(jobs, new JobProcedures(database), config, metrics, clock);
        Duration tick =
                jobs.stream()
                        .map(Job::period)
                        .min(Comparator.naturalOrder())
                        .filter(period -> period.compareTo(TICK_MAX) < 0)
                        .orElse(TICK_MAX);
        loop = Loop.startStanding("maintain", tick, runner::run, metrics, clock);
    }

    /** Interrupts the step under way, gives its lease back and ends. */
    @Override
    public void close() {
        loop.close();
    }
}
