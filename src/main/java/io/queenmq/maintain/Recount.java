package io.queenmq.maintain;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Walks over all lanes now and then: what a broker that was killed has not told any more is found
 * missing by it.
 */
final class Recount implements Job {
    private static final int ROWS_MAX = 5_000;

    private final StatisticsProcedures procedures;
    private final Unsettled unsettled;
    private final Duration interval;
    private @Nullable Walk walk;

    Recount(StatisticsProcedures procedures, Unsettled unsettled, Duration interval) {
        this.procedures = procedures;
        this.unsettled = unsettled;
        this.interval = interval;
    }

    @Override
    public String name() {
        return "recount";
    }

    @Override
    public Duration period() {
        return interval;
    }

    @Override
    public boolean hasWork() {
        return procedures.hasCounted();
    }

    @Override
    public boolean step() {
        if (walk == null) {
            walk = new Walk(procedures, null, unsettled::add);
        }
        if (walk.step()) {
            return true;
        }
        walk = null;
        procedures.drop(ROWS_MAX);
        return false;
    }
}
