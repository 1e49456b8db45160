package io.queenmq.pop;

import io.queenmq.ready.GroupLanes;
import io.queenmq.ready.Poll;
import io.queenmq.runtime.Clock;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One pop's wait for its batch to fill. While it lasts the lanes stay with the others: they are
 * counted, not taken, so nothing is leased and whoever does not wait may have them. It begins with
 * the first count that finds something but too little, and what comes later does not prolong it.
 * The pop's own thread only.
 */
final class Hold {
    /** Between two counts of one pop, however often it is woken. */
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final PopProcedures procedures;
    private final HoldMeters meters;
    private final Clock clock;

    private boolean begun;
    private boolean told;
    private long beginNanos;
    private long endNanos;
    private long countNanos;

    /** What the last count was about; null = it is too early for the next. */
    private GroupLanes.@Nullable Glance counted;

    private int missing;
    private int lanes;

    Hold(PopProcedures procedures, HoldMeters meters, Clock clock) {
        this.procedures = procedures;
        this.meters = meters;
        this.clock = clock;
    }

    /**
     * Whether to wait instead of taking lanes.
     *
     * @param most most lanes of one claim
     * @param laneLimit most lanes that may deliver; 0 = no cap
     * @param full how many messages make the batch full
     */
    boolean holds(GroupLanes home, int most, int laneLimit, int full, int waitMillis) {
        lanes = 0;
        long now = clock.nanos();
        if (begun) {
            if (now - endNanos >= 0) {
                tell();
                return false;
            }
            if (now - countNanos < 0) {
                counted = null;
                return true;
            }
        }
        GroupLanes.Glance glance = home.peek(most);
        if (glance.lanes().length == 0) {
            return false;
        }
        PopProcedures.Pending pending =
                procedures.pending(glance.lanes(), home.groupId(), laneLimit, full);
        if (pending.messages() == 0 || pending.messages() >= full) {
            lanes = pending.lanes();
            tell();
            return false;
        }
        if (!begun) {
            begun = true;
            told = false;
            beginNanos = now;
            meters.waits().increment();
            endNanos = now + TimeUnit.MILLISECONDS.toNanos(waitMillis);
        }
        counted = glance;
        missing = full - pending.messages();
        countNanos = clock.nanos() + PAUSE_NANOS;
        return true;
    }

    /** Whether it has found something, and waited for more, since there was nothing. */
    boolean hasBegun() {
        return begun;
    }

    /** How many lanes, from the first on, hold the full batch; 0 = that is not known. */
    int lanes() {
        return lanes;
    }

    /** Waits for what is missing; false = count again at once. */
    boolean park(GroupLanes home, Poll poll) {
        return counted == null || home.gather(poll, counted, missing);
    }

    /** When to look again without a wake. */
    long revisitNanos() {
        return counted == null && countNanos - endNanos < 0 ? countNanos : endNanos;
    }

    /** There was nothing to be had: the next hold is another one. */
    void end() {
        tell();
        begun = false;
    }

    /** How long it was, once. */
    private void tell() {
        if (begun && !told) {
            told = true;
            meters.micros()
                    .increment((double) TimeUnit.NANOSECONDS.toMicros(clock.nanos() - beginNanos));
        }
    }
}
