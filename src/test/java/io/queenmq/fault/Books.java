package io.queenmq.fault;

import java.util.Arrays;
import java.util.BitSet;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;

/**
 * What producers and consumers were told, lane by lane, and whether it fits together: nothing
 * acknowledged may be lost, doubled or reordered. Sequence numbers of a lane rise without a gap.
 */
final class Books {
    private static final long PATIENCE_SECONDS = 90;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final int[] accepted;
    private final int[] position;
    private final int[] acked;
    private final BitSet[] seen;
    private final Set<String> violations = new LinkedHashSet<>();
    private int redelivered;
    private int refused;
    private int inDoubt;

    Books(int lanes) {
        accepted = new int[lanes];
        position = new int[lanes];
        acked = new int[lanes];
        Arrays.fill(acked, -1);
        seen = new BitSet[lanes];
        Arrays.setAll(seen, lane -> new BitSet());
    }

    /** The broker said that the lane's next messages are stored. */
    void accepted(int lane, int count) {
        inside(() -> accepted[lane] += count);
    }

    /**
     * A push was refused, or its answer never came.
     *
     * @param doubtful whether it may be stored all the same
     */
    void refused(boolean doubtful) {
        inside(
                () -> {
                    refused++;
                    inDoubt += doubtful ? 1 : 0;
                });
    }

    void violation(String text) {
        inside(() -> violations.add(text));
    }

    /**
     * A batch of one lane has arrived, in this order. What comes again must not have been confirmed
     * as acknowledged; what comes for the first time must be the next one.
     */
    void delivered(int lane, int[] sequences) {
        inside(
                () -> {
                    for (int sequence : sequences) {
                        boolean again = seen[lane].get(sequence);
                        if (again && sequence <= acked[lane]) {
                            violations.add(
                                    "lane %d: %d again, after its ack".formatted(lane, sequence));
                        }
                        if (sequence > position[lane] || (sequence < position[lane] && !again)) {
                            violations.add(
                                    "lane %d: %d where %d was due"
                                            .formatted(lane, sequence, position[lane]));
                        }
                        redelivered += again ? 1 : 0;
                        seen[lane].set(sequence);
                        position[lane] = sequence + 1;
                    }
                });
    }

    /** The broker confirmed the ack of a batch that ends there. */
    void acked(int lane, int last) {
        inside(() -> acked[lane] = Math.max(acked[lane], last));
    }

    Set<String> violations() {
        lock.lock();
        try {
            return new LinkedHashSet<>(violations);
        } finally {
            lock.unlock();
        }
    }

    /** Messages that came more than once, for which at-least-once delivery allows. */
    int redelivered() {
        lock.lock();
        try {
            return redelivered;
        } finally {
            lock.unlock();
        }
    }

    /** Returns when that many more messages than now are known to be stored. */
    void awaitAccepted(int more) throws InterruptedException {
        lock.lock();
        try {
            int wanted = Arrays.stream(accepted).sum() + more;
            await("only " + more, () -> Arrays.stream(accepted).sum() >= wanted);
        } finally {
            lock.unlock();
        }
    }

    /** Returns when every lane has had at least one more message stored than it has now. */
    void awaitProgressOfAllLanesBut(int held) throws InterruptedException {
        lock.lock();
        try {
            int[] before = accepted.clone();
            await(
                    "lanes that wait",
                    () -> {
                        for (int lane = 0; lane < before.length; lane++) {
                            if (lane != held && accepted[lane] <= before[lane]) {
                                return false;
                            }
                        }
                        return true;
                    });
        } finally {
            lock.unlock();
        }
    }

    /** Returns when a push has been refused, or its answer lost, once more than now. */
    void awaitRefused() throws InterruptedException {
        lock.lock();
        try {
            int before = refused;
            await("no push refused", () -> refused > before);
        } finally {
            lock.unlock();
        }
    }

    /** Returns when everything that was accepted has been delivered. */
    void awaitDelivered() throws InterruptedException {
        lock.lock();
        try {
            await("not everything delivered", () -> missing() == 0);
        } finally {
            lock.unlock();
        }
    }

    /** Messages known to be stored, in all lanes. */
    long accepted() {
        lock.lock();
        try {
            return Arrays.stream(accepted).sum();
        } finally {
            lock.unlock();
        }
    }

    /** Pushes that had to be sent again without knowing whether they are stored. */
    int inDoubt() {
        lock.lock();
        try {
            return inDoubt;
        } finally {
            lock.unlock();
        }
    }

    private int missing() {
        int missing = 0;
        for (int lane = 0; lane < accepted.length; lane++) {
            missing += accepted[lane] - seen[lane].get(0, accepted[lane]).cardinality();
        }
        return missing;
    }

    private void await(String otherwise, BooleanSupplier condition) throws InterruptedException {
        long nanos = TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        while (!condition.getAsBoolean()) {
            if (nanos <= 0) {
                throw new AssertionError(
                        "%s; accepted %s, delivered up to %s, missing %d"
                                .formatted(
                                        otherwise,
                                        Arrays.toString(accepted),
                                        Arrays.toString(position),
                                        missing()));
            }
            nanos = changed.awaitNanos(nanos);
        }
    }

    private void inside(Runnable change) {
        lock.lock();
        try {
            change.run();
            changed.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
