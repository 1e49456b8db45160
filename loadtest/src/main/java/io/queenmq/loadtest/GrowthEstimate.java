package io.queenmq.loadtest;

/** What a benchmark of growth will take of disk and time, from above and roughly. */
final class GrowthEstimate {
    /** Payload, frame and key, not compressed. */
    private static final long BYTES_IN_BATCHES = 300;

    private static final long BYTES_ALONE = 500;
    private static final long BYTES_PER_LANE = 1_000;

    /** A server keeps as much WAL as max_wal_size, and may be late with its checkpoint. */
    private static final long WAL_BYTES_MAX = 10_000_000_000L;

    private static final double STORED_PER_SECOND = 300_000;
    private static final double STORED_ALONE_PER_SECOND = 30_000;
    private static final double LANES_PER_SECOND = 20_000;
    private static final double CYCLE_PER_SECOND = 120_000;
    private static final double SINGLES_PER_SECOND = 5_000;

    /** Of a window, beside what is measured and what comes before that. */
    private static final double DRAIN_SECONDS = 1;

    private static final double COUNTING_SECONDS = 90;
    private static final int LOADS = 2;

    private GrowthEstimate() {}

    /**
     * @param filled stores that grow
     * @param empty stores that do not
     * @param rateOfBatches messages per second; 0 = all that they can
     * @param rateOfSingles likewise
     */
    static long bytes(Plan plan, int filled, int empty, int rateOfBatches, int rateOfSingles) {
        long alone = Math.round(plan.growth().last() * plan.growth().singles());
        long seeds =
                (plan.growth().last() - alone) * BYTES_IN_BATCHES
                        + alone * BYTES_ALONE
                        + plan.lanes() * BYTES_PER_LANE;
        double windows =
                (plan.pairs() + 1)
                        * (plan.ramp() + plan.pairSeconds())
                        * plan.growth().steps().size();
        double batches = rateOfBatches > 0 ? rateOfBatches : CYCLE_PER_SECOND;
        double singles = rateOfSingles > 0 ? rateOfSingles : SINGLES_PER_SECOND;
        long traffic = Math.round(windows * (batches * BYTES_IN_BATCHES + singles * BYTES_ALONE));
        return filled * withWal(seeds + traffic) + empty * withWal(traffic);
    }

    private static long withWal(long bytes) {
        return bytes + Math.min(WAL_BYTES_MAX, 3 * bytes);
    }

    /** Seconds of one load at one size. */
    static double turnsSeconds(Plan plan, int stores) {
        return (plan.pairs() + 1) * stores * (plan.ramp() + plan.pairSeconds() + DRAIN_SECONDS);
    }

    static double seconds(Plan plan, int filled, int stores) {
        GrowthSizes growth = plan.growth();
        double seeding =
                growth.last() * (1 - growth.singles()) / STORED_PER_SECOND
                        + growth.last() * growth.singles() / STORED_ALONE_PER_SECOND
                        + plan.lanes() / LANES_PER_SECOND;
        double each = LOADS * turnsSeconds(plan, stores) + COUNTING_SECONDS;
        return filled * seeding + stores * plan.warmup() + growth.steps().size() * each;
    }
}
