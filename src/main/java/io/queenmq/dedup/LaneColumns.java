package io.queenmq.dedup;

import java.util.function.LongPredicate;

/**
 * What is known of each lane whose keys are remembered, as columns. Rows are addressed by {@link
 * #find} and {@link #add}, and move when the table grows. Guarded by the section's lock.
 *
 * <p>Of a lane, every message in {@code low..last} was remembered when it was stored; those from
 * {@code low} on were created at {@code lowMillis} or later, those below it at {@code belowMillis}
 * or earlier. Two marks, (offset, time of creation), are where the range can begin instead once
 * older keys had to go.
 */
final class LaneColumns {
    static final int NONE = -1;
    private static final int COLUMNS = 10;
    private static final int SLOTS_FIRST = 16;

    long[] lanes = new long[SLOTS_FIRST];
    long[] low = new long[SLOTS_FIRST];
    long[] last = new long[SLOTS_FIRST];
    long[] lowMillis = new long[SLOTS_FIRST];
    long[] belowMillis = new long[SLOTS_FIRST];
    long[] lastMillis = new long[SLOTS_FIRST];
    long[] mark = new long[SLOTS_FIRST];
    long[] markMillis = new long[SLOTS_FIRST];
    long[] olderMark = new long[SLOTS_FIRST];
    long[] olderMarkMillis = new long[SLOTS_FIRST];

    /** Pushes for which the range did not cover the lane; see {@link KeyMemory#wantsHydration}. */
    int[] uncovered = new int[SLOTS_FIRST];

    private int count;

    long bytes() {
        return lanes.length * (COLUMNS * 8L + 4);
    }

    int find(long lane) {
        int slot = slotOf(lane);
        return lanes[slot] == lane ? slot : NONE;
    }

    /** A row of zeros for a lane that has none. */
    int add(long lane) {
        if (count >= lanes.length / 4 * 3) {
            rebuild(lanes.length * 2, number -> true);
        }
        int slot = slotOf(lane);
        lanes[slot] = lane;
        count++;
        return slot;
    }

    /** Drops the lanes whose newest key is older than that. */
    void dropOlderThan(long millis) {
        int live = 0;
        for (int slot = 0; slot < lanes.length; slot++) {
            if (lanes[slot] != 0 && lastMillis[slot] >= millis) {
                live++;
            }
        }
        if (live == count) {
            return;
        }
        int slots = SLOTS_FIRST;
        while (live >= slots / 2) {
            slots *= 2;
        }
        rebuild(slots, created -> created >= millis);
    }

    private void rebuild(int slots, LongPredicate keepCreated) {
        LaneColumns grown = new LaneColumns();
        grown.resize(slots);
        for (int from = 0; from < lanes.length; from++) {
            if (lanes[from] != 0 && keepCreated.test(lastMillis[from])) {
                int to = grown.slotOf(lanes[from]);
                grown.lanes[to] = lanes[from];
                grown.low[to] = low[from];
                grown.last[to] = last[from];
                grown.lowMillis[to] = lowMillis[from];
                grown.belowMillis[to] = belowMillis[from];
                grown.lastMillis[to] = lastMillis[from];
                grown.mark[to] = mark[from];
                grown.markMillis[to] = markMillis[from];
                grown.olderMark[to] = olderMark[from];
                grown.olderMarkMillis[to] = olderMarkMillis[from];
                grown.uncovered[to] = uncovered[from];
                grown.count++;
            }
        }
        lanes = grown.lanes;
        low = grown.low;
        last = grown.last;
        lowMillis = grown.lowMillis;
        belowMillis = grown.belowMillis;
        lastMillis = grown.lastMillis;
        mark = grown.mark;
        markMillis = grown.markMillis;
        olderMark = grown.olderMark;
        olderMarkMillis = grown.olderMarkMillis;
        uncovered = grown.uncovered;
        count = grown.count;
    }

    private void resize(int slots) {
        lanes = new long[slots];
        low = new long[slots];
        last = new long[slots];
        lowMillis = new long[slots];
        belowMillis = new long[slots];
        lastMillis = new long[slots];
        mark = new long[slots];
        markMillis = new long[slots];
        olderMark = new long[slots];
        olderMarkMillis = new long[slots];
        uncovered = new int[slots];
    }

    private int slotOf(long lane) {
        int mask = lanes.length - 1;
        int slot = (int) ((lane * 0x9E37_79B9_7F4A_7C15L) >>> 40) & mask;
        while (lanes[slot] != 0 && lanes[slot] != lane) {
            slot = (slot + 1) & mask;
        }
        return slot;
    }
}
