package io.queenmq.maintain;

import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Removes what queue deletes, group deletes and seeks of whole queues have left behind. */
final class Cleanup implements Job {
    private static final Duration PERIOD = Duration.ofSeconds(10);
    private static final int LANES_MAX = 200;

    private final StorageProcedures procedures;
    private final Counter ofQueues;
    private final Counter ofGroups;

    private int afterQueueId;
    private boolean queuesDone;
    private int afterGroupId;
    private StorageProcedures.@Nullable Stale group;
    private String afterName = "";
    private boolean clean = true;

    Cleanup(StorageProcedures procedures, Metrics metrics) {
        this.procedures = procedures;
        this.ofQueues = counter(metrics, "queue");
        this.ofGroups = counter(metrics, "group");
    }

    private static Counter counter(Metrics metrics, String of) {
        return metrics.counter(
                "queen_maintain_removed_rows_total",
                "Rows removed behind deleted queues and moved or deleted groups.",
                "of",
                of);
    }

    @Override
    public String name() {
        return "cleanup";
    }

    @Override
    public Duration period() {
        return PERIOD;
    }

    @Override
    public boolean hasWork() {
        return procedures.hasRemains();
    }

    @Override
    public boolean step() {
        if (!queuesDone) {
            queuesDone = !cleanQueue();
            return true;
        }
        if (sweepGroup()) {
            return true;
        }
        queuesDone = false;
        afterQueueId = 0;
        afterGroupId = 0;
        return false;
    }

    /** False = there is no further queue. */
    private boolean cleanQueue() {
        StorageProcedures.Cleaned cleaned = procedures.cleanDeletedQueue(afterQueueId, LANES_MAX);
        if (cleaned == null) {
            return false;
        }
        ofQueues.increment((double) cleaned.removed());
        if (cleaned.removed() == 0) {
            // Somebody holds the rest.
            afterQueueId = cleaned.queueId();
        }
        return true;
    }

    /** False = there is no further group. */
    private boolean sweepGroup() {
        StorageProcedures.Stale stale = group == null ? procedures.staleGroup(afterGroupId) : group;
        if (stale == null) {
            return false;
        }
        StorageProcedures.Swept swept = procedures.sweepCursors(stale, afterName, clean, LANES_MAX);
        ofGroups.increment((double) swept.removed());
        String last = swept.lastName();
        if (last == null) {
            group = null;
            afterGroupId = stale.groupId();
            afterName = "";
            clean = true;
        } else {
            group = stale;
            afterName = last;
            clean = swept.clean();
        }
        return true;
    }
}
