package io.queenmq.maintain;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Adds up what brokers and applications have told, and walks at once over queues whose numbers may
 * be far off: new ones, and those where a group was moved as a whole.
 */
final class Statistics implements Job {
    private static final int CHANGES_MAX = 10_000;

    private final StatisticsProcedures procedures;
    private final Unsettled unsettled;
    private final Duration interval;
    private int afterQueueId;
    private @Nullable Walk walk;

    Statistics(StatisticsProcedures procedures, Unsettled unsettled, Duration interval) {
        this.procedures = procedures;
        this.unsettled = unsettled;
        this.interval = interval;
    }

    @Override
    public String name() {
        return "statistics";
    }

    @Override
    public Duration period() {
        return interval;
    }

    @Override
    public boolean hasWork() {
        return unsettled.hasDue() || procedures.hasCounts();
    }

    @Override
    public boolean step() {
        if (procedures.fold(CHANGES_MAX) == CHANGES_MAX) {
            return true;
        }
        if (unsettled.hasDue()) {
            unsettled.settle();
            return true;
        }
        if (walk == null) {
            Integer queueId = procedures.uncountedQueue(afterQueueId);
            if (queueId == null) {
                afterQueueId = 0;
                return false;
            }
            afterQueueId = queueId;
            if (unsettled.contains(queueId)) {
                return true;
            }
            walk = new Walk(procedures, queueId, unsettled::add);
        }
        if (!walk.step()) {
            walk = null;
        }
        return true;
    }
}
