package io.queenmq.metrics;

import java.time.Duration;
import java.util.Arrays;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The latest of many measurements, and what share of them stays below what. What is older than some
 * minutes is forgotten: it would tell of trouble that is over. Any thread.
 */
public final class LatestValues {
    /** Enough for a 95th percentile that one measurement does not make. */
    private static final int KEPT_MAX = 128;

    private static final long KEPT_NANOS = Duration.ofMinutes(10).toNanos();

    private final LongSupplier nanoClock;
    private final double[] values = new double[KEPT_MAX];
    private final long[] nanos = new long[KEPT_MAX];
    private long recorded;

    /**
     * @param nanoClock monotone time
     */
    public LatestValues(LongSupplier nanoClock) {
        this.nanoClock = nanoClock;
    }

    public synchronized void record(double value) {
        int at = (int) (recorded++ % KEPT_MAX);
        values[at] = value;
        nanos[at] = nanoClock.getAsLong();
    }

    /** What this share of the measurements does not exceed; null = there were none of late. */
    public synchronized @Nullable Double quantile(double share) {
        long now = nanoClock.getAsLong();
        double[] latest = new double[KEPT_MAX];
        int count = 0;
        for (int i = 0; i < Math.min(recorded, KEPT_MAX); i++) {
            if (now - nanos[i] < KEPT_NANOS) {
                latest[count++] = values[i];
            }
        }
        if (count == 0) {
            return null;
        }
        Arrays.sort(latest, 0, count);
        return latest[Math.max(0, (int) Math.ceil(share * count) - 1)];
    }
}
