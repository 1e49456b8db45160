package io.queenmq.runtime;

import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.HashSet;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * A background job that runs again and again, whatever happens in it: a failure is counted, logged
 * and followed by a longer pause, never by the end of the loop. It runs on a virtual thread of its
 * own; {@link #wake} asks for a run at once, {@link #close} waits for the one under way.
 */
public final class Loop implements AutoCloseable {
    private static final Logger LOG = System.getLogger(Loop.class.getName());
    private static final long FAILURE_PAUSE_MAX_NANOS = TimeUnit.SECONDS.toNanos(30);

    /** One run; an interrupt means that the loop is being closed. */
    @FunctionalInterface
    public interface Step {
        void run() throws Exception;
    }

    /** What a run that does not end tells of itself. */
    @FunctionalInterface
    public interface Signs extends Runnable {
        /** It is at work: that counts as a success. */
        @Override
        void run();

        /** It waits for the end of {@linkplain Overdue#isOutage an outage}: that does not. */
        default void waitsOut() {}
    }

    /**
     * A run that goes on until something breaks. It reports each time it finds itself at work, or
     * the pauses after breaks far apart would add up.
     */
    @FunctionalInterface
    public interface StandingStep {
        void run(Signs atWork) throws Exception;
    }

    private final Signs signs = new Heard();

    private final String name;
    private final long pauseNanos;
    private final StandingStep step;
    private final Clock clock;
    private final Counter failures;
    private final Thread thread;

    /** Guards {@code woken} and {@code closing}. */
    private final ReentrantLock lock = new ReentrantLock();

    private final Condition changed = lock.newCondition();
    private boolean woken;
    private boolean closing;

    private volatile long lastSuccessNanos;

    /**
     * The same, or the last run that met nothing but {@linkplain Overdue#isOutage what is told
     * elsewhere}.
     */
    private volatile long lastSignNanos;

    /** Touched by the loop's own thread alone. */
    private int failedInARow;

    /**
     * Kinds of failures told since the last success: a bug that begins in an outage is no repeat.
     */
    private final Set<Object> told = new HashSet<>();

    private final class Heard implements Signs {
        @Override
        public void run() {
            succeeded();
        }

        @Override
        public void waitsOut() {
            lastSignNanos = clock.nanos();
        }
    }

    private Loop(
            String name,
            Duration pause,
            Duration silence,
            StandingStep step,
            Metrics metrics,
            Clock clock) {
        this.name = name;
        this.pauseNanos = pause.toNanos();
        this.step = step;
        this.clock = clock;
        this.lastSuccessNanos = clock.nanos();
        this.lastSignNanos = lastSuccessNanos;
        Overdue.watch(
                name, silence, () -> Duration.ofNanos(clock.nanos() - lastSignNanos), metrics);
        this.failures =
                metrics.counter(
                        "queen_runtime_loop_failures_total",
                        "Runs of a background loop that failed.",
                        "loop",
                        name);
        metrics.gauge(
                "queen_runtime_loop_idle_seconds",
                "Time since a background loop last ran to its end, or said that it works.",
                () -> sinceSuccess().toMillis() / 1e3,
                "loop",
                name);
        this.thread = Thread.ofVirtual().name("queen-" + name).unstarted(this::run);
    }

    /**
     * Starts a loop; its first run begins at once.
     *
     * @param name for metrics, logs and the thread
     * @param pause between the end of a run and the start of the next
     */
    public static Loop start(String name, Duration pause, Step step, Metrics metrics, Clock clock) {
        return startStanding(name, pause, atWork -> step.run(), metrics, clock);
    }

    /** The same for a step that returns only when something breaks. */
    public static Loop startStanding(
            String name, Duration pause, StandingStep step, Metrics metrics, Clock clock) {
        return startStanding(name, pause, pause, step, metrics, clock);
    }

    /**
     * The same.
     *
     * @param silence the longest time from one sign of such a step to the next, if all is well
     */
    public static Loop startStanding(
            String name,
            Duration pause,
            Duration silence,
            StandingStep step,
            Metrics metrics,
            Clock clock) {
        Loop loop = new Loop(name, pause, silence, step, metrics, clock);
        loop.thread.start();
        return loop;
    }

    public String name() {
        return name;
    }

    /** Time since the last success, or since the start. */
    public Duration sinceSuccess() {
        return Duration.ofNanos(clock.nanos() - lastSuccessNanos);
    }

    /** Ends the pause, if there is one; a run under way is followed by another at once. */
    public void wake() {
        lock.lock();
        try {
            woken = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }

    /** Interrupts the run under way and waits for its end. */
    @Override
    public void close() {
        lock.lock();
        try {
            closing = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        thread.interrupt();
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void run() {
        do {
            runOnce();
        } while (pause(failedInARow == 0 ? pauseNanos : failurePauseNanos()));
    }

    private void succeeded() {
        lastSuccessNanos = clock.nanos();
        lastSignNanos = lastSuccessNanos;
        failedInARow = 0;
        told.clear();
    }

    private void runOnce() {
        try {
            step.run(signs);
            succeeded();
            return;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (Exception | StackOverflowError | OutOfMemoryError | AssertionError e) {
            failures.increment();
            if (Overdue.isOutage(e)) {
                signs.waitsOut();
            }
            if (!isClosing()) {
                report(e);
            }
        }
        failedInARow++;
    }

    /**
     * With the stack once per kind, unless it is a refusal that may pass or one for the operator:
     * these have a sentence. In an outage all loops fail for as long as it lasts, and who opens
     * connections says so.
     */
    private void report(Throwable failure) {
        boolean first =
                told.add(
                        failure instanceof QueenException refusal
                                ? refusal.failure()
                                : failure.getClass());
        switch (failure) {
            case QueenException refusal when refusal.failure().retry() != Failure.Retry.NEVER -> {
                if (first) {
                    once(refusal.detail() + ": " + innermost(refusal));
                } else {
                    again(
                            refusal.failure() == Failure.DATABASE_AWAY
                                    ? Level.DEBUG
                                    : Level.WARNING,
                            refusal.detail());
                }
            }
            case StartRefused refusal when first -> once(String.valueOf(refusal.getMessage()));
            case StartRefused refusal -> again(Level.WARNING, String.valueOf(refusal.getMessage()));
            case Throwable bug when first ->
                    LOG.log(Level.WARNING, "background loop failed, it goes on loop=" + name, bug);
            default -> again(Level.WARNING, failure.toString());
        }
    }

    private void once(String error) {
        LOG.log(
                Level.WARNING,
                "background loop failed, it goes on loop={0} error={1}",
                name,
                error);
    }

    private void again(Level level, String error) {
        LOG.log(
                level,
                "background loop failed again, it goes on loop={0} times={1} error={2}",
                name,
                Integer.toString(failedInARow + 1),
                error);
    }

    /** The first line of what it all began with. */
    private static String innermost(Throwable failure) {
        Throwable cause = failure;
        while (cause.getCause() != null) {
            cause = cause.getCause();
        }
        String message = cause.getMessage();
        return message == null
                ? cause.getClass().getName()
                : message.lines().findFirst().orElse("");
    }

    private boolean isClosing() {
        lock.lock();
        try {
            return closing;
        } finally {
            lock.unlock();
        }
    }

    /** False = the loop is closed. */
    private boolean pause(long nanos) {
        lock.lock();
        try {
            long left = nanos;
            while (!closing && !woken && left > 0) {
                left = changed.awaitNanos(left);
            }
            woken = false;
            return !closing;
        } catch (InterruptedException e) {
            // Only close() may end the loop; an interrupt left over from a run does not.
            return !closing;
        } finally {
            lock.unlock();
        }
    }

    /** Doubles, with jitter, so that many brokers do not come back in step. */
    private long failurePauseNanos() {
        long base = Math.max(pauseNanos, TimeUnit.MILLISECONDS.toNanos(100));
        long longest = Math.max(pauseNanos, FAILURE_PAUSE_MAX_NANOS);
        long pause = Math.min(longest, base << Math.min(failedInARow - 1, 10));
        return pause / 2 + ThreadLocalRandom.current().nextLong(pause / 2 + 1);
    }
}
