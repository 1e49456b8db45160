package io.queenmq.maintain;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** One walk over the lanes of a queue, or of all queues in turn, page by page. */
final class Walk {
    private static final int LANES_MAX = 1_000;

    private final StatisticsProcedures procedures;
    private final @Nullable Integer queueId;
    private final Consumer<Walked> complete;
    private StatisticsProcedures.@Nullable Place after;
    private @Nullable Walked current;

    /**
     * @param queueId null = all
     * @param complete told of every queue once all its lanes have been seen
     */
    Walk(StatisticsProcedures procedures, @Nullable Integer queueId, Consumer<Walked> complete) {
        this.procedures = procedures;
        this.queueId = queueId;
        this.complete = complete;
    }

    /** The next page; false = it was the last. */
    boolean step() {
        StatisticsProcedures.Page page = procedures.countLanes(queueId, after, LANES_MAX);
        for (Walked.Sums sums : page.sums()) {
            Walked walked = current;
            if (walked == null || walked.queueId != sums.queueId()) {
                finish();
                walked = new Walked(sums.queueId());
                current = walked;
            }
            walked.add(sums);
        }
        after = page.last();
        if (after == null) {
            finish();
            return false;
        }
        return true;
    }

    private void finish() {
        if (current != null) {
            complete.accept(current);
            current = null;
        }
    }
}
