package io.queenmq.maintain;

import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Erases tenants, one after the other, until nothing of them is left in any table. What comes next
 * is read from the tables, so whoever was killed on the way is continued by the next.
 */
final class Purge implements Job {
    private static final Logger LOG = System.getLogger(Purge.class.getName());
    private static final Duration PERIOD = Duration.ofSeconds(5);
    private static final int ROWS_MAX = 1_000;
    private static final int LANES_MAX = 200;

    /** Of a step through an epoch: most of them are somebody's, and cost a look. */
    private static final int WALKED_LANES_MAX = 1_000;

    private final PurgeProcedures procedures;
    private final StorageProcedures storage;
    private final IntConsumer queueChanged;
    private final Counter removed;
    private @Nullable UUID after;

    /**
     * @param queueChanged who keeps something of a queue; told when it was deleted
     */
    Purge(
            PurgeProcedures procedures,
            StorageProcedures storage,
            IntConsumer queueChanged,
            Metrics metrics) {
        this.procedures = procedures;
        this.storage = storage;
        this.queueChanged = queueChanged;
        this.removed =
                metrics.counter(
                        "queen_maintain_purged_rows_total",
                        "Rows removed by purges of tenants, segments included.");
    }

    @Override
    public String name() {
        return "purge";
    }

    @Override
    public Duration period() {
        return PERIOD;
    }

    @Override
    public boolean hasWork() {
        return procedures.hasPurges();
    }

    @Override
    public boolean step() {
        Optional<PurgeProcedures.Next> next = procedures.next(after);
        if (next.isEmpty()) {
            after = null;
            return false;
        }
        if (!goesOn(next.get())) {
            // Done, or somebody is in the way: the next one has its turn.
            after = next.get().tenant();
        }
        return true;
    }

    /** Whether there is more to do for this tenant now. */
    private boolean goesOn(PurgeProcedures.Next purge) {
        UUID tenant = purge.tenant();
        return switch (purge.left()) {
            case TIMERS -> {
                int timers = procedures.removeTimers(tenant, ROWS_MAX);
                yield timers > 0 && noted(tenant, 0, timers, 0, null);
            }
            case QUEUES -> {
                PurgeProcedures.Deleted deleted = procedures.deleteQueues(tenant, ROWS_MAX);
                int queues = deleted.queueIds().size();
                deleted.queueIds().forEach(queueChanged::accept);
                yield queues + deleted.rows() > 0 && noted(tenant, queues, 0, deleted.rows(), null);
            }
            case LANES -> {
                long rows = clean(purge.deletedQueueId());
                yield rows > 0 && noted(tenant, 0, 0, rows, null);
            }
            case SEGMENTS -> {
                PurgeProcedures.Walked walked =
                        procedures.removeSegments(purge, WALKED_LANES_MAX, ROWS_MAX);
                yield !walked.waits() && noted(tenant, 0, 0, 0, walked);
            }
            case OTHERS -> {
                int rows = procedures.removeOthers(tenant, ROWS_MAX);
                yield rows > 0 && noted(tenant, 0, 0, rows, null);
            }
            case NOTHING -> noted(tenant, 0, 0, 0, null);
        };
    }

    /** A step of the clean-up, which need not have its turn for that. */
    private long clean(@Nullable Integer queueId) {
        StorageProcedures.Cleaned cleaned =
                queueId == null ? null : storage.cleanDeletedQueue(queueId - 1, LANES_MAX);
        return cleaned == null ? 0 : cleaned.removed();
    }

    /** Whether something is left. */
    private boolean noted(
            UUID tenant,
            int queues,
            int timers,
            long others,
            PurgeProcedures.@Nullable Walked walked) {
        removed.increment(
                (double) queues + timers + others + (walked == null ? 0 : walked.removed()));
        boolean done = procedures.note(tenant, queues, timers, others, walked);
        if (done) {
            LOG.log(Level.INFO, "tenant is purged tenant=" + tenant);
        }
        return !done;
    }
}
