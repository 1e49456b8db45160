package io.queenmq.runtime;

import io.queenmq.metrics.Metrics;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * How late a thread comes that wants to run every 100 ms: what a machine without processors to
 * spare, or a virtual machine that collects its garbage, does to everything else as well.
 */
public final class TickLag implements AutoCloseable {
    private static final Duration TICK = Duration.ofMillis(100);

    /** A tick weighs so much in the average that is shown: the last few seconds count. */
    private static final double WEIGHT = 1 / 32.0;

    /**
     * Of the ticks since it was taken last.
     *
     * @param averageMicros 0 = there was none
     */
    public record Lag(long averageMicros, long mostMicros) {}

    private final Clock clock;
    private final Loop loop;
    private volatile double recentMicros;

    private long lastNanos;
    private long ticks;
    private long micros;
    private long mostMicros;

    /** Starts to tick. */
    public TickLag(Metrics metrics, Clock clock) {
        this.clock = clock;
        this.lastNanos = clock.nanos();
        metrics.gauge(
                "queen_event_loop_lag_avg_milliseconds",
                "How late a tick of 100 ms comes, on average of the last seconds.",
                () -> recentMicros / 1e3);
        this.loop = Loop.start("tick", TICK, this::tick, metrics, clock);
    }

    private synchronized void tick() {
        long now = clock.nanos();
        long late = TimeUnit.NANOSECONDS.toMicros(now - lastNanos - TICK.toNanos());
        lastNanos = now;
        // The first one has nothing before it.
        if (late >= 0) {
            ticks++;
            micros += late;
            mostMicros = Math.max(mostMicros, late);
            recentMicros += (late - recentMicros) * WEIGHT;
        }
    }

    /** What there was since this was asked last. */
    public synchronized Lag take() {
        Lag lag = new Lag(ticks == 0 ? 0 : micros / ticks, mostMicros);
        ticks = 0;
        micros = 0;
        mostMicros = 0;
        return lag;
    }

    @Override
    public void close() {
        loop.close();
    }
}
