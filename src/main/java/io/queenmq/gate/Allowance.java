package io.queenmq.gate;

import org.jspecify.annotations.Nullable;

/**
 * Something that a tenant may have so much of: what was measured, and what this broker may have
 * added since. The sum is rather too high than too low where others remove something, and too low
 * where others add: a quota holds a little late, and for nobody's sake does a write wait for a
 * counter. Guarded by its account.
 */
final class Allowance {
    private @Nullable Long most;
    private long measured;
    private long added;
    private boolean usedUp;

    /** What there was now; what was added before is in it. */
    void measured(long now) {
        measured = now;
        added = 0;
    }

    /**
     * How much there may be.
     *
     * @param releasePercent how much of it may be in use when one that was used up opens again
     */
    void allow(@Nullable Long limit, int releasePercent) {
        most = limit;
        usedUp =
                limit != null
                        && (measured >= limit
                                || (usedUp && measured > (double) limit * releasePercent / 100));
    }

    boolean admits(long more) {
        return more <= 0 || most == null || (!usedUp && measured + added + more <= most);
    }

    /** Something was added, or with a negative number removed. */
    void add(long more) {
        added += more;
    }

    /** Whether it is nearly used up, as far as is known here, or was and may be open again. */
    boolean isHot(int percent) {
        return most != null && (usedUp || measured + added >= (double) most * percent / 100);
    }

    /** Whether what was added here is only supposed to be there. */
    boolean isGuessed() {
        return added != 0;
    }

    @Nullable Long most() {
        return most;
    }

    /** As far as is known here. */
    long used() {
        return Math.max(0, measured + added);
    }
}
