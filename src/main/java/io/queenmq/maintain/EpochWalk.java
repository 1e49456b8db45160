package io.queenmq.maintain;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Counts the epochs that nothing is added to any more, one after the other, page by page. */
final class EpochWalk {
    private static final int SEGMENTS_MAX = 5_000;

    /** What a queue has in an epoch. */
    record Held(long messages, long bytes) {
        Held plus(Held more) {
            return new Held(messages + more.messages, bytes + more.bytes);
        }
    }

    private final StatisticsProcedures procedures;
    private final Map<Integer, Held> queues = new HashMap<>();
    private @Nullable Integer epoch;
    private StatisticsProcedures.SegmentPlace after = StatisticsProcedures.SegmentPlace.FIRST;

    EpochWalk(StatisticsProcedures procedures) {
        this.procedures = procedures;
    }

    /** The next page; false = there is no epoch left to count. */
    boolean step() {
        if (epoch == null) {
            epoch = procedures.uncountedEpoch();
            if (epoch == null) {
                return false;
            }
        }
        StatisticsProcedures.EpochPage page = procedures.countEpoch(epoch, after, SEGMENTS_MAX);
        page.queues().forEach((queueId, held) -> queues.merge(queueId, held, Held::plus));
        if (page.last() != null) {
            after = page.last();
            return true;
        }
        procedures.settleEpoch(epoch, queues);
        epoch = null;
        queues.clear();
        after = StatisticsProcedures.SegmentPlace.FIRST;
        return true;
    }
}
