package io.queenmq.loadtest;

import java.util.concurrent.TimeUnit;

/**
 * How long and how large: the same for every benchmark, so that none is favoured.
 *
 * @param seconds of a single measured phase
 * @param pairSeconds of one arm in one pair
 * @param pairs interleaved pairs of two arms
 * @param warmup seconds before anything is measured, at the same shape
 * @param ramp seconds before each phase that are thrown away
 * @param longSeconds of the runs that look for what changes with time
 * @param lanes lanes where many are asked for
 * @param retained messages where many are asked for
 * @param pollers parked long polls where many are asked for
 * @param clients connections of benchmarks that compare calls of clients that wait for each answer
 * @param growth sizes of a store that is measured while it grows
 */
record Plan(
        double seconds,
        double pairSeconds,
        int pairs,
        double warmup,
        double ramp,
        double longSeconds,
        int lanes,
        int retained,
        int pollers,
        int clients,
        GrowthSizes growth) {
    /** Full size, or small enough to see that a command works. */
    static Plan of(Options options) {
        boolean quick = options.number("quick", 0) == 1;
        double seconds = options.ratio("seconds", quick ? 2 : 60);
        return new Plan(
                seconds,
                options.ratio("pair-seconds", quick ? Math.min(seconds, 1) : 6),
                options.number("pairs", quick ? 2 : 8),
                options.ratio("warmup", quick ? 1 : 60),
                options.ratio("ramp", quick ? 0.5 : 2),
                options.ratio("long-seconds", quick ? 4 : 600),
                options.number("many-lanes", quick ? 2_000 : 1_000_000),
                options.number("retained", quick ? 20_000 : 10_000_000),
                options.number("pollers", quick ? 200 : 10_000),
                options.number("clients", 16),
                GrowthSizes.of(options, quick));
    }

    static long nanos(double seconds) {
        return (long) (seconds * TimeUnit.SECONDS.toNanos(1));
    }
}
