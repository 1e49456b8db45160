package io.queenmq.fault;

import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.function.IntSupplier;

/**
 * What producers and consumers were told, lane by lane, and whether it fits together: nothing
 * acknowledged may be lost, doubled or reordered. Sequence numbers of a lane rise without a gap.
 */
final class Books {
    private static final long PATIENCE_SECONDS = 90;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();
    private final int[] accepted;
    private final int[] delivered;
    private final int[] tried;
    private final int[] acked;
    private final int[] heard;
    private final Set<String> violations = new LinkedHashSet<>();
    private int redelivered;
    private int refused;
    private int inDoubt;
    private int broken;
    private int unheard;

    Books(int lanes) {
        accepted = new int[lanes];
        delivered = filled(lanes);
        tried = filled(lanes);
        acked = filled(lanes);
        heard = filled(lanes);
    }

    private static int[] filled(int lanes) {
        int[] none = new int[lanes];
        Arrays.fill(none, -1);
        return none;
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

    /** A pop was refused, or its answer never came. */
    void broken() {
        inside(() -> broken++);
    }

    void violation(String text) {
        inside(() -> violations.add(text));
    }

    /** By lane, where the last ack ended that was confirmed until now; for {@link #delivered}. */
    int[] acked() {
        lock.lock();
        try {
            return acked.clone();
        } finally {
            lock.unlock();
        }
    }

    /**
     * A batch of one lane has arrived, in this order. It begins behind the cursor: not at what was
     * confirmed as acknowledged before the batch was asked for, and not behind what nobody has ever
     * tried to acknowledge.
     */
    void delivered(int lane, int[] sequences, int[] ackedBefore) {
        inside(
                () -> {
                    int first = sequences[0];
                    int last = sequences[sequences.length - 1];
                    if (first <= ackedBefore[lane]) {
                        violations.add("lane %d: %d again, after its ack".formatted(lane, first));
                    }
                    if (first > tried[lane] + 1) {
                        violations.add(
                                "lane %d: %d where %d was due"
                                        .formatted(lane, first, tried[lane] + 1));
                    }
                    for (int i = 1; i < sequences.length; i++) {
                        if (sequences[i] != first + i) {
                            violations.add(
                                    "lane %d: %s".formatted(lane, Arrays.toString(sequences)));
                        }
                    }
                    redelivered += Math.max(0, Math.min(delivered[lane], last) - first + 1);
                    delivered[lane] = Math.max(delivered[lane], last);
                });
    }

    /** An ack of a batch that ends there is about to be sent. */
    void acking(int lane, int last) {
        inside(() -> tried[lane] = Math.max(tried[lane], last));
    }

    /** The broker confirmed the ack of a batch that ends there. */
    void acked(int lane, int last) {
        inside(() -> acked[lane] = Math.max(acked[lane], last));
    }

    /** A batch has arrived that was acknowledged before it left: it never comes again. */
    void heard(int lane, int[] sequences) {
        inside(
                () -> {
                    for (int sequence : sequences) {
                        if (sequence <= heard[lane]) {
                            violations.add(
                                    "lane %d: %d after %d, though delivered at most once"
                                            .formatted(lane, sequence, heard[lane]));
                        }
                        unheard += Math.max(0, sequence - heard[lane] - 1);
                        heard[lane] = sequence;
                    }
                });
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
        return read(() -> redelivered);
    }

    /** Messages known to be stored, in all lanes. */
    long accepted() {
        return read(() -> Arrays.stream(accepted).sum());
    }

    /** Messages known to be stored in one lane. */
    int accepted(int lane) {
        return read(() -> accepted[lane]);
    }

    /** Pushes that had to be sent again without knowing whether they are stored. */
    int inDoubt() {
        return read(() -> inDoubt);
    }

    /** Pushes and pops that were refused or not answered. */
    int troubles() {
        return read(() -> refused + broken);
    }

    /** Messages that never arrived of those that are delivered at most once, ends not counted. */
    int unheard() {
        return read(() -> unheard);
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

    private int missing() {
        int missing = 0;
        for (int lane = 0; lane < accepted.length; lane++) {
            missing += Math.max(0, accepted[lane] - 1 - delivered[lane]);
        }
        return missing;
    }

    private void await(String otherwise, BooleanSupplier condition) throws InterruptedException {
        long nanos = TimeUnit.SECONDS.toNanos(PATIENCE_SECONDS);
        while (!condition.getAsBoolean()) {
            if (nanos <= 0) {
                throw new AssertionError(
                        "%s; accepted %s, delivered up to %s, missing %d, violations %s"
                                .formatted(
                                        otherwise,
                                        Arrays.toString(accepted),
                                        Arrays.toString(delivered),
                                        missing(),
                                        violations));
            }
            nanos = changed.awaitNanos(nanos);
        }
    }

    private int read(IntSupplier figure) {
        lock.lock();
        try {
            return figure.getAsInt();
        } finally {
            lock.unlock();
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
