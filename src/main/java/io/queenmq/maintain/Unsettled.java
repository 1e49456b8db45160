package io.queenmq.maintain;

import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Queues that have been walked over and wait until every broker has told what it did until then:
 * only after that can what was found be compared with what was told. At most one walk of each
 * queue. Driven by the thread of the jobs.
 */
final class Unsettled {
    private static final int QUEUES_MAX = 200;

    private record Waiting(Walked walked, long dueNanos) {}

    private final StatisticsProcedures procedures;
    private final long patienceNanos;
    private final Clock clock;
    private final Counter corrected;
    private final ArrayDeque<Waiting> waiting = new ArrayDeque<>();
    private final Set<Integer> queueIds = new HashSet<>();

    /**
     * @param interval from one telling to the next
     */
    Unsettled(StatisticsProcedures procedures, Duration interval, Metrics metrics, Clock clock) {
        this.procedures = procedures;
        this.patienceNanos = 2 * interval.toNanos();
        this.clock = clock;
        this.corrected =
                metrics.counter(
                        "queen_maintain_counts_corrected_total",
                        "Counts that a walk found off by more than moved meanwhile.");
    }

    /** Another walk of a queue that waits already is not needed: it would begin to wait anew. */
    void add(Walked walked) {
        if (queueIds.add(walked.queueId)) {
            waiting.add(new Waiting(walked, clock.nanos() + patienceNanos));
        }
    }

    boolean contains(int queueId) {
        return queueIds.contains(queueId);
    }

    boolean hasDue() {
        Waiting first = waiting.peek();
        return first != null && first.dueNanos - clock.nanos() <= 0;
    }

    /** Some of those that are due. What fails is left to another walk. */
    void settle() {
        List<Walked> due = new ArrayList<>();
        while (due.size() < QUEUES_MAX && hasDue()) {
            Walked walked = waiting.remove().walked;
            queueIds.remove(walked.queueId);
            due.add(walked);
        }
        corrected.increment(procedures.settle(due));
        procedures.noteLiveness(due);
    }
}
