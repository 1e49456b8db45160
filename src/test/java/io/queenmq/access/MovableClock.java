package io.queenmq.access;

import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.atomic.AtomicLong;

/** A clock that goes when it is told to. */
final class MovableClock implements Clock {
    private static final Instant START = Instant.parse("2026-07-30T11:00:00Z");

    private final AtomicLong seconds = new AtomicLong();

    void forward(long more) {
        seconds.addAndGet(more);
    }

    @Override
    public Instant now() {
        return START.plusSeconds(seconds.get());
    }

    @Override
    public long nanos() {
        return Duration.ofSeconds(seconds.get()).toNanos();
    }
}
