package io.queenmq.maintain;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Timer;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import io.queenmq.runtime.Overdue;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Runs the jobs that are due and that no other broker runs: one at a time, on one connection, each
 * for a slice of time before the next has its turn. A job that fails is no concern of the others.
 * Driven by one thread.
 */
final class JobRunner {
    private static final Logger LOG = System.getLogger(JobRunner.class.getName());
    private static final long FAILURE_PAUSE_MAX_NANOS = TimeUnit.MINUTES.toNanos(5);

    /** As often each job is looked at, whatever its period, so that silence means trouble. */
    private static final long LOOK_MAX_NANOS = TimeUnit.MINUTES.toNanos(5);

    private final JobProcedures procedures;
    private final MaintainConfig config;
    private final Clock clock;
    private final UUID holder = UUID.randomUUID();
    private final List<Scheduled> jobs = new ArrayList<>();
    private boolean registered;

    JobRunner(
            List<Job> jobs,
            JobProcedures procedures,
            MaintainConfig config,
            Metrics metrics,
            Clock clock) {
        this.procedures = procedures;
        this.config = config;
        this.clock = clock;
        for (Job job : jobs) {
            this.jobs.add(new Scheduled(job, metrics));
        }
    }

    /** What this broker knows of a job. */
    private final class Scheduled {
        private final Job job;
        private final Counter runs;
        private final Counter steps;
        private final Counter failures;
        private final Counter lost;
        private final Timer time;
        private long notBeforeNanos = clock.nanos();
        private long servedNanos = clock.nanos();
        private int failedInARow;

        /** Read by whoever looks at the metrics, like the next. */
        private volatile long wellNanos = clock.nanos();

        /** Since when it fails for a reason of its own; null = it does not. */
        private volatile @Nullable Long failingNanos;

        Scheduled(Job job, Metrics metrics) {
            this.job = job;
            String[] tag = {"job", job.name()};
            runs =
                    metrics.counter(
                            "queen_maintain_runs_total",
                            "Runs of a background job by this broker.",
                            tag);
            steps =
                    metrics.counter(
                            "queen_maintain_steps_total", "Steps of these runs, each a call.", tag);
            failures =
                    metrics.counter(
                            "queen_maintain_failures_total",
                            "Runs of a background job that failed here.",
                            tag);
            lost =
                    metrics.counter(
                            "queen_maintain_leases_lost_total",
                            "Runs that another broker took over before they ended.",
                            tag);
            time =
                    metrics.timer(
                            "queen_maintain_run_seconds",
                            "Time of a run of a background job.",
                            tag);
            metrics.gauge(
                    "queen_job_last_success_age_seconds",
                    "Time since a background job last ran well here, had nothing to do or was"
                            + " another broker's.",
                    () -> TimeUnit.NANOSECONDS.toMillis(clock.nanos() - wellNanos) / 1e3,
                    tag);
            Overdue.watch("job " + job.name(), job.period(), this::failing, metrics);
        }

        private Duration failing() {
            Long since = failingNanos;
            return since == null ? Duration.ZERO : Duration.ofNanos(clock.nanos() - since);
        }

        /** All is well; looked at again after a while, not in step with other brokers. */
        void well(long nextNanos) {
            wellNanos = clock.nanos();
            failingNanos = null;
            if (failedInARow > 0) {
                failedInARow = 0;
                LOG.log(Level.INFO, "background job runs again job=" + job.name());
            }
            notBeforeNanos = wellNanos + Math.min(nextNanos, LOOK_MAX_NANOS);
        }

        /** Logs the first failure of a spell. */
        void failed(RuntimeException e) {
            failures.increment();
            if (Overdue.isOutage(e)) {
                failingNanos = null;
            } else if (failingNanos == null) {
                failingNanos = clock.nanos();
            }
            if (failedInARow++ == 0) {
                LOG.log(Level.WARNING, "background job failed, it goes on job=" + job.name(), e);
            }
            long base = Math.max(job.period().toNanos(), TimeUnit.SECONDS.toNanos(1));
            long pause = Math.min(FAILURE_PAUSE_MAX_NANOS, base << Math.min(failedInARow - 1, 9));
            notBeforeNanos = clock.nanos() + jittered(pause);
        }
    }

    void run() {
        run(() -> {});
    }

    /**
     * Runs what is due until nothing is; costs a look at memory when nothing can be.
     *
     * @param atWork told after each job: there may always be one that has more to do
     */
    void run(Runnable atWork) {
        while (!Thread.currentThread().isInterrupted() && round(atWork)) {
            // Each job that has more to do gets its next slice when the others have had theirs.
        }
    }

    /** Whether a job has more to do now. */
    private boolean round(Runnable atWork) {
        long now = clock.nanos();
        List<Scheduled> asked =
                jobs.stream()
                        .filter(job -> job.notBeforeNanos - now <= 0)
                        .sorted(Comparator.comparingLong(job -> job.servedNanos - now))
                        .toList();
        if (asked.isEmpty()) {
            return false;
        }
        if (!registered) {
            procedures.register(jobs.stream().map(scheduled -> scheduled.job).toList());
            registered = true;
        }
        Map<String, OptionalLong> waits =
                procedures.waits(asked.stream().map(scheduled -> scheduled.job.name()).toList());
        boolean more = false;
        for (Scheduled scheduled : asked) {
            OptionalLong wait = waits.get(scheduled.job.name());
            if (wait == null) {
                // Somebody took its row away.
                registered = false;
            } else if (wait.isEmpty()) {
                scheduled.well(jittered(scheduled.job.period().toNanos()));
            } else if (wait.getAsLong() > 0) {
                scheduled.well(
                        jittered(
                                Math.min(
                                        TimeUnit.MILLISECONDS.toNanos(wait.getAsLong()),
                                        scheduled.job.period().toNanos())));
            } else {
                more |= attempt(scheduled);
                atWork.run();
            }
        }
        return more;
    }

    /** Whether the job has more to do now. */
    private boolean attempt(Scheduled scheduled) {
        scheduled.servedNanos = clock.nanos();
        boolean more = false;
        try {
            JobProcedures.Held held =
                    scheduled.job.hasWork()
                            ? procedures.claim(scheduled.job.name(), holder, config.lease())
                            : null;
            if (held != null) {
                more = runHeld(scheduled, held);
            }
            scheduled.well(more ? 0 : jittered(scheduled.job.period().toNanos()));
        } catch (RuntimeException e) {
            if (stopping(e)) {
                throw e;
            }
            scheduled.failed(e);
        }
        return more;
    }

    /** Whoever stops us interrupts; what breaks by that is no failure of the job. */
    private static boolean stopping(RuntimeException e) {
        return Thread.currentThread().isInterrupted()
                || (e instanceof QueenException refusal && refusal.failure() == Failure.STOPPING);
    }

    /** Whether the job has more to do now; the lease is given back whatever happens. */
    private boolean runHeld(Scheduled scheduled, JobProcedures.Held held) {
        long start = clock.nanos();
        long keptNanos = start;
        int steps = 0;
        boolean more = true;
        String error = null;
        try {
            while (more
                    && clock.nanos() - start < config.slice().toNanos()
                    && !Thread.currentThread().isInterrupted()) {
                if (clock.nanos() - keptNanos > config.lease().toNanos() / 3) {
                    keptNanos = clock.nanos();
                    if (!procedures.keep(held, config.lease())) {
                        break;
                    }
                }
                more = scheduled.job.step();
                steps++;
                scheduled.steps.increment();
            }
        } catch (RuntimeException e) {
            error = stopping(e) ? null : e.toString();
            throw e;
        } finally {
            scheduled.runs.increment();
            scheduled.time.record(clock.nanos() - start, TimeUnit.NANOSECONDS);
            giveBack(scheduled, held, steps, more, error);
        }
        return more;
    }

    /** A lease that cannot be given back runs out. */
    private void giveBack(
            Scheduled scheduled,
            JobProcedures.Held held,
            int steps,
            boolean more,
            @Nullable String error) {
        // Without this the call would be refused, and others would wait for the lease to run out.
        boolean interrupted = Thread.interrupted();
        try {
            if (!procedures.release(held, steps, more, error)) {
                scheduled.lost.increment();
            }
        } catch (QueenException e) {
            if (error == null) {
                throw e;
            }
            // What has failed before says more.
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    /** Up to a tenth longer. */
    private static long jittered(long nanos) {
        return nanos + ThreadLocalRandom.current().nextLong(nanos / 10 + 1);
    }
}
