package io.queenmq.loadtest;

import java.util.Arrays;
import java.util.BitSet;

/**
 * The verifier: what was accepted, delivered and acknowledged, lane by lane. Sequence numbers of a
 * lane start at 0 and are pushed one request after the other, so that they rise without a gap.
 */
final class Ledger {
    /**
     * What the run has shown.
     *
     * @param lost accepted but never delivered
     * @param outOfOrder delivered after a later one, or with one left out before it
     * @param unexplained delivered again though its ack was confirmed, or though nothing had
     *     happened that makes a broker deliver again; or called a duplicate when pushed first
     * @param redelivered delivered again for a reason: a later attempt, an ack without an answer
     * @param misplaced delivered under the name of another lane
     */
    record Verdict(long lost, long outOfOrder, long unexplained, long redelivered, long misplaced) {
        boolean clean() {
            return lost == 0 && outOfOrder == 0 && unexplained == 0 && misplaced == 0;
        }
    }

    private final long[] accepted;
    private final long[] position;
    private final long[] acked;
    private final boolean[] inDoubt;
    private final BitSet[] seen;
    private long acceptedCount;
    private long deliveredCount;
    private long ackedCount;
    private long outOfOrder;
    private long unexplained;
    private long redelivered;
    private long misplaced;

    Ledger(int lanes) {
        accepted = new long[lanes];
        position = new long[lanes];
        acked = new long[lanes];
        Arrays.fill(acked, -1);
        inDoubt = new boolean[lanes];
        seen = new BitSet[lanes];
        Arrays.setAll(seen, lane -> new BitSet());
    }

    int lanes() {
        return accepted.length;
    }

    /** The broker has said of the lane's next messages that they are stored. */
    void accepted(int lane, int count) {
        accepted[lane] += count;
        acceptedCount += count;
    }

    /** A push that was never tried before was called a duplicate. */
    void falseDuplicate() {
        unexplained++;
    }

    /** A message came back under another lane's name. */
    void misplaced() {
        misplaced++;
    }

    void delivered(int lane, long sequence, long attempt) {
        deliveredCount++;
        int index = Math.toIntExact(sequence);
        boolean again = seen[lane].get(index);
        if (sequence > position[lane] || (sequence < position[lane] && !again)) {
            outOfOrder++;
        }
        if (again) {
            if (sequence > acked[lane] && (attempt > 1 || inDoubt[lane])) {
                redelivered++;
            } else {
                unexplained++;
            }
        }
        seen[lane].set(index);
        position[lane] = sequence + 1;
    }

    /**
     * The broker has confirmed the ack of a batch that ends with this message. A lane's cursor has
     * no holes: whatever came before is acknowledged too, even if its own answer was lost.
     */
    void acked(int lane, long lastSequence) {
        inDoubt[lane] = false;
        if (lastSequence > acked[lane]) {
            ackedCount += lastSequence - acked[lane];
            acked[lane] = lastSequence;
        }
    }

    /** An ack of this lane was refused or not answered: its batch may come again. */
    void ackInDoubt(int lane) {
        inDoubt[lane] = true;
    }

    long acceptedCount() {
        return acceptedCount;
    }

    long deliveredCount() {
        return deliveredCount;
    }

    long ackedCount() {
        return ackedCount;
    }

    /** Messages that every lane has had accepted so far. */
    long[] acceptedByLane() {
        return accepted.clone();
    }

    /** True once as many messages of every lane as that are acknowledged. */
    boolean ackedUpTo(long[] counts) {
        for (int lane = 0; lane < acked.length; lane++) {
            if (acked[lane] + 1 < counts[lane]) {
                return false;
            }
        }
        return true;
    }

    /** Accepted and not acknowledged yet. */
    long backlog() {
        return acceptedCount - ackedCount;
    }

    /** True once every accepted message has been delivered. */
    boolean drained() {
        return missing() == 0;
    }

    Verdict verdict() {
        return new Verdict(missing(), outOfOrder, unexplained, redelivered, misplaced);
    }

    private long missing() {
        long missing = 0;
        for (int lane = 0; lane < accepted.length; lane++) {
            int upTo = Math.toIntExact(accepted[lane]);
            missing += upTo - seen[lane].get(0, upTo).cardinality();
        }
        return missing;
    }
}
