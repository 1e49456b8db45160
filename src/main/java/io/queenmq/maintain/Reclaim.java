package io.queenmq.maintain;

import io.queenmq.db.Database;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * Gives bytes of the log back to the disk at once: what the job of the epochs would do in time, it
 * does now, under the same lease, beside brokers that go on. Killed half-way it leaves what a
 * killed broker leaves. For one thread.
 */
public final class Reclaim {
    /** Of the lease, not of anything that is locked: a broker's job would only wait for us. */
    private static final MaintainConfig CONFIG =
            MaintainConfig.DEFAULT.withSlice(Duration.ofSeconds(20));

    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final Database database;
    private final ReclaimProcedures procedures;
    private final JobProcedures jobs;
    private final Metrics metrics;
    private final Clock clock;

    /**
     * How it ended.
     *
     * @param freedBytes given back, less what the survivors took
     * @param stoppedBy why it is not more; empty = it is what was asked for
     * @param slot one that keeps the log, so that the disk gains less; empty = none
     */
    public record Outcome(long freedBytes, Optional<String> stoppedBy, Optional<String> slot) {}

    public Reclaim(Database database, Metrics metrics, Clock clock) {
        this.database = database;
        this.procedures = new ReclaimProcedures(database);
        this.jobs = new JobProcedures(database);
        this.metrics = metrics;
        this.clock = clock;
    }

    /** What there is to do for so many bytes; changes nothing. */
    public ReclaimPlan plan(long bytes) {
        return plan(bytes, Integer.MAX_VALUE);
    }

    /** The same with these epochs alone: those that came later would come for ever. */
    private ReclaimPlan plan(long bytes, int lastEpoch) {
        return ReclaimPlan.of(
                procedures.epochs().stream()
                        .filter(e -> e.epoch() > 0 && e.epoch() <= lastEpoch)
                        .filter(e -> !e.state().equals("built"))
                        .map(this::step)
                        .toList(),
                bytes);
    }

    private ReclaimPlan.Step step(ReclaimProcedures.Standing epoch) {
        double live =
                switch (epoch.state()) {
                    case "empty" -> 0;
                    // Without rows there is nothing to close it for.
                    case "open" -> procedures.liveShare(epoch.epoch(), 1);
                    default -> procedures.liveShare(epoch.epoch(), 0);
                };
        return new ReclaimPlan.Step(
                epoch.epoch(), epoch.state(), epoch.bytes(), (long) (epoch.bytes() * live));
    }

    /** The transaction that would hold it up longest at this moment. */
    public Optional<String> oldestTransaction() {
        return procedures.oldestTransaction();
    }

    /**
     * Frees so many bytes, or as many as it can.
     *
     * @param patience after so long without progress it gives up
     * @param progress told a sentence whenever an epoch has come further
     * @throws QueenException the database is away
     */
    public Outcome run(long bytes, Duration patience, Consumer<String> progress) {
        ReclaimJob job = job(new ReclaimJob.Order(bytes, patience, 0, progress));
        JobRunner runner = new JobRunner(List.of(job), jobs, CONFIG, metrics, clock);
        Optional<String> why = Optional.empty();
        // A run ends when the job is over, and where it is somebody else's turn.
        long servedNanos = clock.nanos();
        while (!job.isOver() && why.isEmpty()) {
            int steps = job.steps();
            runner.run();
            if (Thread.currentThread().isInterrupted()) {
                throw new QueenException(Failure.STOPPING, "interrupted");
            }
            if (job.steps() > steps) {
                servedNanos = clock.nanos();
            } else if (isPaused()) {
                why =
                        Optional.of(
                                "the job epochs, which is paused: update queen_store.jobs set"
                                        + " enabled = true where name = 'epochs'");
            } else if (clock.nanos() - servedNanos > patience.toNanos()) {
                why = Optional.of("a broker, whose turn it is at the job epochs: see queen.jobs");
            } else {
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        }
        return new Outcome(job.freedBytes(), why.or(job::stoppedBy), procedures.slot());
    }

    /** The job that carries an order out, for whoever drives it. */
    ReclaimJob job(ReclaimJob.Order order) {
        return new ReclaimJob(order, procedures, this::plan, database, metrics, clock);
    }

    private boolean isPaused() {
        return jobs.waits(List.of(ReclaimJob.NAME)).values().stream()
                .anyMatch(OptionalLong::isEmpty);
    }
}
