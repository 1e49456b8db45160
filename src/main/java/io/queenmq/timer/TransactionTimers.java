package io.queenmq.timer;

import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The timers of one transaction: checked and sealed before it, changed by its call, which says what
 * became of each. For the thread of the request.
 */
public final class TransactionTimers {
    private final Timers timers;
    private final TimerChanges changes;
    private final @Nullable TimerResult[] results;

    TransactionTimers(Timers timers, TimerChanges changes) {
        this.timers = timers;
        this.changes = changes;
        this.results = new @Nullable TimerResult[changes.ops().size()];
    }

    TimerChanges changes() {
        return changes;
    }

    public boolean isEmpty() {
        return changes.ops().isEmpty();
    }

    /** The call says this of one of them; what an earlier attempt said is void. */
    void answered(
            int index, String status, @Nullable String transactionId, @Nullable Instant deliverAt) {
        results[index] = changes.result(index, status, transactionId, deliverAt);
    }

    /** One result per operation, in their order. */
    public List<TimerResult> results() {
        List<TimerResult> all = new ArrayList<>(results.length);
        for (TimerResult result : results) {
            if (result == null) {
                throw new IllegalStateException("the call left a timer out");
            }
            all.add(result);
        }
        return all;
    }

    /** They are committed, each as the call said. */
    public void committed() {
        timers.changed(changes, results());
    }

    /** Nothing of them took effect. */
    public void withdraw() {
        timers.unchanged(changes);
    }

    /** They may be committed, and nobody will find out. */
    public void inDoubt() {
        if (!isEmpty()) {
            timers.mayHaveChanged();
        }
    }
}
