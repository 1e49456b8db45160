package io.queenmq.maintain;

import io.queenmq.db.Database;
import io.queenmq.metrics.Metrics;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.Optional;
import java.util.OptionalInt;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/** What the person on call can do by hand. Any thread. */
public final class OnCall {
    private static final int CHANGES_MAX = 10_000;

    /** What one call adds up at most; the job has the rest. */
    private static final int STEPS_MAX = 100;

    /** Shorter than any lease, and than clients wait. */
    private static final Duration RETENTION_MAX = Duration.ofSeconds(15);

    private final IntConsumer queueChanged;
    private final Runnable tellCounts;
    private final OnCallProcedures procedures;
    private final StatisticsProcedures statistics;
    private final Reclaim reclaim;
    private final ReclaimProcedures orders;
    private final PurgeProcedures purges;
    private final StorageProcedures storage;
    private final JobProcedures jobs;
    private final MaintainConfig config;
    private final Metrics metrics;
    private final Clock clock;

    /**
     * @param queueChanged who keeps something of a queue whose lanes change; told after the commit
     * @param tellCounts tells the database what this broker has counted
     */
    public OnCall(
            Database database,
            MaintainConfig config,
            IntConsumer queueChanged,
            Runnable tellCounts,
            Metrics metrics,
            Clock clock) {
        this.queueChanged = queueChanged;
        this.tellCounts = tellCounts;
        this.procedures = new OnCallProcedures(database);
        this.statistics = new StatisticsProcedures(database);
        this.reclaim = new Reclaim(database, metrics, clock);
        this.orders = new ReclaimProcedures(database);
        this.purges = new PurgeProcedures(database);
        this.storage = new StorageProcedures(database);
        this.jobs = new JobProcedures(database);
        this.config = config;
        this.metrics = metrics;
        this.clock = clock;
    }

    /**
     * Lets expire at once what is due, then removes lanes that nobody uses, for some seconds at
     * most: the rest is for the jobs. The second is left out where it is switched off, or its job
     * is paused or somebody else's.
     *
     * @return empty = somebody else is at the first, or its job is paused
     */
    public Optional<RetentionRun> runRetention() {
        Expiry expiry = new Expiry(storage, config, metrics, clock);
        RetentionRun run = new RetentionRun();
        long start = clock.nanos();
        if (!runByHand(expiry, () -> expiry.step(run), run, start)) {
            return Optional.empty();
        }
        if (config.partitionCleanup()) {
            IdleLanes idle = new IdleLanes(storage, config, queueChanged, metrics, clock);
            runByHand(idle, () -> idle.step(run), run, start);
        }
        return Optional.of(run);
    }

    /** False = somebody else is at it, or the job is paused. */
    private boolean runByHand(Job job, BooleanSupplier step, RetentionRun run, long start) {
        procedures.setJob(job.name(), null, true);
        JobProcedures.Held held = jobs.claim(job.name(), UUID.randomUUID(), config.lease());
        if (held == null) {
            return false;
        }
        int steps = 0;
        boolean more = true;
        try {
            while (more && clock.nanos() - start < RETENTION_MAX.toNanos()) {
                more = step.getAsBoolean();
                steps++;
            }
        } finally {
            jobs.release(held, steps, more, null);
        }
        if (more) {
            run.cut();
        }
        return true;
    }

    /** What there is to do so that so many bytes of the log become free; changes nothing. */
    public ReclaimPlan planReclaim(long bytes) {
        return reclaim.plan(bytes);
    }

    /** The transaction that would hold that up longest at this moment. */
    public Optional<String> oldestTransaction() {
        return reclaim.oldestTransaction();
    }

    /**
     * Orders that, of whichever broker has its turn at the job of the epochs.
     *
     * @param patience after so long without progress it ends
     * @return the number of the order; empty = there is another that has not ended
     */
    public OptionalInt orderReclaim(long bytes, Duration patience) {
        OptionalInt order = orders.order(bytes, Math.toIntExact(patience.toSeconds()));
        if (order.isPresent()) {
            procedures.setJob(ReclaimJob.NAME, null, true);
        }
        return order;
    }

    /** Ends the order that has not ended; empty = there was none. */
    public OptionalInt cancelReclaim() {
        return orders.cancel();
    }

    /**
     * Orders that nothing of a tenant be left, or tells how that stands. What says that it is done
     * says so once: asked again it begins anew.
     *
     * @param allowDefault whether the tenant may be that of those without one
     */
    public PurgeState purge(UUID tenant, boolean allowDefault) {
        return purges.order(tenant, allowDefault);
    }

    /**
     * Pauses a job on all brokers, lets it run again, makes it due.
     *
     * @param enabled null = as it is
     * @return whether there is such a job
     */
    public boolean setJob(String name, @Nullable Boolean enabled, boolean run) {
        return procedures.setJob(name, enabled, run);
    }

    /**
     * Ends a session, which undoes its transaction; only one that holds partitions.
     *
     * @return whether it was one
     */
    public boolean endLaneHolder(int pid) {
        return procedures.endLaneHolder(pid);
    }

    /**
     * Adds up at once what this broker has counted and what all have told.
     *
     * @return changes added
     */
    public long refreshStatistics() {
        tellCounts.run();
        long changes = 0;
        for (int i = 0; i < STEPS_MAX; i++) {
            int folded = statistics.fold(CHANGES_MAX);
            changes += folded;
            if (folded < CHANGES_MAX) {
                break;
            }
        }
        return changes;
    }
}
