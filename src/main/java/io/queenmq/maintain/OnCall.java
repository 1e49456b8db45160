package io.queenmq.maintain;

import io.queenmq.db.Database;
import org.jspecify.annotations.Nullable;

/** What the person on call can do by hand. Any thread. */
public final class OnCall {
    private static final int CHANGES_MAX = 10_000;

    /** What one call adds up at most; the job has the rest. */
    private static final int STEPS_MAX = 100;

    private final Runnable tellCounts;
    private final OnCallProcedures procedures;
    private final StatisticsProcedures statistics;

    /**
     * @param tellCounts tells the database what this broker has counted
     */
    public OnCall(Database database, Runnable tellCounts) {
        this.tellCounts = tellCounts;
        this.procedures = new OnCallProcedures(database);
        this.statistics = new StatisticsProcedures(database);
    }

    /**
     * Pauses a job on all brokers, lets it run again, makes it due.
     *
     * @param enabled null = as it is
     * @return whether there is such a job
     */
    public boolean setJob(String name, @Nullable Boolean enabled, boolean run) {
        return procedures.setJob(name, enabled, run);
    }

    /**
     * Ends a session, which undoes its transaction; only one that holds partitions.
     *
     * @return whether it was one
     */
    public boolean endLaneHolder(int pid) {
        return procedures.endLaneHolder(pid);
    }

    /**
     * Adds up at once what this broker has counted and what all have told.
     *
     * @return changes added
     */
    public long refreshStatistics() {
        tellCounts.run();
        long changes = 0;
        for (int i = 0; i < STEPS_MAX; i++) {
            int folded = statistics.fold(CHANGES_MAX);
            changes += folded;
            if (folded < CHANGES_MAX) {
                break;
            }
        }
        return changes;
    }
}
