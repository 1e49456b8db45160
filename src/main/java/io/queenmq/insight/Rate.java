package io.queenmq.insight;

import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.concurrent.locks.ReentrantLock;

/**
 * How fast a total rises, from what it was when somebody asked before: nothing runs while nobody
 * does. Any thread.
 */
public final class Rate {
    private static final long WINDOW_NANOS = Duration.ofMinutes(1).toNanos();

    /** Less than this says little, and one who asks all the time fills no memory. */
    private static final long APART_NANOS = Duration.ofSeconds(3).toNanos();

    private final Clock clock;

    /** Guards the samples. */
    private final ReentrantLock lock = new ReentrantLock();

    private final ArrayDeque<Sample> samples = new ArrayDeque<>();

    private record Sample(double total, long nanos) {}

    /**
     * @param total what it is now
     */
    public Rate(double total, Clock clock) {
        this.clock = clock;
        samples.add(new Sample(total, clock.nanos()));
    }

    /**
     * Per second over the last minute, or as long as is known; 0 for the first three seconds, and
     * where the total fell.
     */
    public double of(double total) {
        lock.lock();
        try {
            long now = clock.nanos();
            // One older than the window stays: it is where the window begins.
            Sample oldest = samples.removeFirst();
            for (Sample next = samples.peekFirst();
                    next != null && now - next.nanos() >= WINDOW_NANOS;
                    next = samples.peekFirst()) {
                oldest = samples.removeFirst();
            }
            samples.addFirst(oldest);
            if (now - samples.getLast().nanos() >= APART_NANOS) {
                samples.addLast(new Sample(total, now));
            }
            long nanos = now - oldest.nanos();
            return nanos < APART_NANOS
                    ? 0
                    : Math.max(0, total - oldest.total()) * 1e9 / (double) nanos;
        } finally {
            lock.unlock();
        }
    }
}
