package io.queenmq.runtime;

import java.time.Duration;

/**
 * Lets something that may be costly be done so often that it takes a twentieth of the time at most.
 * For one thread.
 */
public final class Ration {
    private static final int SHARE = 20;

    private final Clock clock;
    private long dueNanos;

    public Ration(Clock clock) {
        this.clock = clock;
        this.dueNanos = clock.nanos();
    }

    /** Whether it may be done now. */
    public boolean isDue() {
        return !untilDue().isPositive();
    }

    /** For so long it may not be done. */
    public Duration untilDue() {
        return Duration.ofNanos(Math.max(0, dueNanos - clock.nanos()));
    }

    /** It was done, and took so long. */
    public void took(long nanos) {
        dueNanos = clock.nanos() + SHARE * nanos;
    }
}
