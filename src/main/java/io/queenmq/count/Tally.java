package io.queenmq.count;

import java.util.concurrent.atomic.LongAdder;

/** Sums of one queue or group, which only rise. Added to by any thread, taken by one. */
final class Tally {
    /** Of what counts are made of. */
    static final int SUMS = 5;

    private final int id;
    private final LongAdder[] sums;
    private final long[] told;
    private final long[] taken;
    private int idleRounds;

    Tally(int id) {
        this(id, SUMS);
    }

    Tally(int id, int count) {
        this.id = id;
        sums = new LongAdder[count];
        told = new long[count];
        taken = new long[count];
        for (int i = 0; i < count; i++) {
            sums[i] = new LongAdder();
        }
    }

    void add(int sum, long amount) {
        sums[sum].add(amount);
    }

    /** Adds to the first sums, an amount to each. */
    void addEach(long... amounts) {
        for (int i = 0; i < amounts.length; i++) {
            sums[i].add(amounts[i]);
        }
    }

    /** Takes what has been added since; false = nothing. */
    boolean take() {
        boolean any = false;
        for (int i = 0; i < sums.length; i++) {
            long now = sums[i].sum();
            taken[i] = now - told[i];
            told[i] = now;
            any |= taken[i] != 0;
        }
        idleRounds = any ? 0 : idleRounds + 1;
        return any;
    }

    /** What was taken was not told. */
    void giveBack() {
        for (int i = 0; i < sums.length; i++) {
            told[i] -= taken[i];
        }
    }

    /** All that was ever added. */
    long sum(int sum) {
        return sums[sum].sum();
    }

    int id() {
        return id;
    }

    long taken(int sum) {
        return taken[sum];
    }

    /** How often in a row there was nothing to take. */
    int idleRounds() {
        return idleRounds;
    }
}
