package io.queenmq.maintain;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Walks over all lanes now and then: what a broker that was killed has not told any more is found
 * missing by it. Also counts, once, what an epoch holds that nothing is added to any more.
 */
final class Recount implements Job {
    private static final int ROWS_MAX = 5_000;

    private final StatisticsProcedures procedures;
    private final Unsettled unsettled;
    private final Duration interval;
    private final EpochWalk epochs;
    private @Nullable Walk walk;

    /** The lanes have been seen; what is left are the epochs. */
    private boolean walked;

    Recount(StatisticsProcedures procedures, Unsettled unsettled, Duration interval) {
        this.procedures = procedures;
        this.unsettled = unsettled;
        this.interval = interval;
        this.epochs = new EpochWalk(procedures);
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
        if (!walked && walk.step()) {
            return true;
        }
        walked = true;
        if (epochs.step()) {
            return true;
        }
        walk = null;
        walked = false;
        procedures.drop(ROWS_MAX);
        return false;
    }
}
