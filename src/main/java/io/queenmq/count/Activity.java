package io.queenmq.count;

import java.util.concurrent.atomic.LongAccumulator;
import org.jspecify.annotations.Nullable;

/** What clients do to one queue. Added to by any thread, taken by one. */
final class Activity {
    /** What is summed; of each sum a column of queue_buckets has the history. */
    enum Sum {
        PUSH_REQUESTS(0),
        POPS(1),
        POP_MESSAGES(2),
        EMPTY_POPS(3),
        ACK_REQUESTS(4),
        ACKS(5),
        FAILED_ACKS(6),
        CONFLATED(7),
        TRANSACTIONS(8),
        LAG_MS(9);

        /** Where it stands among the sums. */
        private final int place;

        Sum(int place) {
            this.place = place;
        }
    }

    private static final int SUMS = Sum.values().length;

    /** Where the messages stored stand; their history is that of the counts. */
    private static final int STORED = SUMS;

    /** What the log tells of it. */
    private static final int[] SHOWN = {
        Sum.PUSH_REQUESTS.place,
        STORED,
        Sum.POPS.place,
        Sum.POP_MESSAGES.place,
        Sum.ACK_REQUESTS.place,
        Sum.ACKS.place,
        Sum.EMPTY_POPS.place
    };

    private final Tally tally;

    /** Of these, what was there when the log was told last; the teller's alone. */
    private final long[] shown = new long[SHOWN.length];

    private volatile @Nullable String name;
    private final LongAccumulator lagMax = new LongAccumulator(Math::max, 0);
    private long takenLagMax;

    /** Changed and read in the map's own steps only. */
    private int parked;

    /** What was told last of {@code parked}; the taker's alone. */
    private int parkedTold;

    Activity(int queueId) {
        tally = new Tally(queueId, SUMS + 1);
    }

    void named(String queue) {
        if (name == null) {
            name = queue;
        }
    }

    void stored(long messages) {
        add(Sum.PUSH_REQUESTS, 1);
        tally.add(STORED, messages);
    }

    /** What has been done since this was asked last. */
    QueueRate show() {
        long[] more = new long[SHOWN.length];
        for (int i = 0; i < more.length; i++) {
            long now = tally.sum(SHOWN[i]);
            more[i] = now - shown[i];
            shown[i] = now;
        }
        String queue = name;
        return new QueueRate(
                queue == null ? "#" + queueId() : queue,
                more[0],
                more[1],
                more[2],
                more[3],
                more[4],
                more[5],
                more[6]);
    }

    int queueId() {
        return tally.id();
    }

    void add(Sum sum, long amount) {
        tally.add(sum.place, amount);
    }

    void lagged(long millis, long messages) {
        add(Sum.LAG_MS, millis * messages);
        lagMax.accumulate(millis);
    }

    void park(int change) {
        parked += change;
    }

    int parked() {
        return parked;
    }

    int parkedTold() {
        return parkedTold;
    }

    void parkedTold(int number) {
        parkedTold = number;
    }

    /**
     * Takes what has been added since. Pops that got nothing are no traffic: alone they are
     * forgotten, or consumers of an idle queue would write rows for ever.
     */
    boolean take() {
        takenLagMax = lagMax.getThenReset();
        boolean any = tally.take();
        if (!any) {
            return false;
        }
        for (Sum sum : Sum.values()) {
            if (sum != Sum.EMPTY_POPS && taken(sum) != 0) {
                return true;
            }
        }
        return false;
    }

    void giveBack() {
        tally.giveBack();
        lagMax.accumulate(takenLagMax);
    }

    long taken(Sum sum) {
        return tally.taken(sum.place);
    }

    long takenLagMax() {
        return takenLagMax;
    }

    boolean isIdle() {
        return tally.idleRounds() > 1 && parked == 0 && parkedTold == 0;
    }
}
