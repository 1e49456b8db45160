package io.queenmq.maintain;

import java.time.Duration;

/** Removes small rows whose time is over: leases, traces of bundles, history, reports. */
final class Sweep implements Job {
    private static final Duration PERIOD = Duration.ofMinutes(1);
    private static final int ROWS_MAX = 5_000;

    private final StorageProcedures procedures;
    private final MaintainConfig config;

    Sweep(StorageProcedures procedures, MaintainConfig config) {
        this.procedures = procedures;
        this.config = config;
    }

    @Override
    public String name() {
        return "sweep";
    }

    @Override
    public Duration period() {
        return PERIOD;
    }

    @Override
    public boolean hasWork() {
        return procedures.hasLeftovers(config.historyAge())
                || procedures.hasOldBuckets(config.historyAge());
    }

    @Override
    public boolean step() {
        boolean more = procedures.sweepLeases(ROWS_MAX) == ROWS_MAX;
        more |= procedures.sweepBundles(ROWS_MAX) == ROWS_MAX;
        more |= procedures.sweepHistory(config.historyAge(), ROWS_MAX) == ROWS_MAX;
        more |= procedures.sweepBuckets(config.historyAge(), ROWS_MAX) == ROWS_MAX;
        return more;
    }
}
