package io.queenmq.dedup;

import java.util.concurrent.ThreadLocalRandom;

/**
 * The keys of some messages, exactly, each in its lane: finds the first holder of a key without an
 * object per key. One thread.
 */
public final class KeyIndex {
    private final long[] high;
    private final long[] low;
    private final int[] lane;
    private final int[] holder;
    private final int mask;

    /** Keys are chosen by clients: without it they could choose ones that all collide. */
    private final long secret = ThreadLocalRandom.current().nextLong();

    /** Room for so many keys. */
    public KeyIndex(int keys) {
        int slots = Integer.highestOneBit(Math.max(2, keys * 2 - 1)) * 2;
        high = new long[slots];
        low = new long[slots];
        lane = new int[slots];
        holder = new int[slots];
        mask = slots - 1;
    }

    /** Returns who came first with this key, or -1 after taking {@code index} for it. */
    public int put(int ofLane, long keyHigh, long keyLow, int index) {
        int slot = slot(ofLane, keyHigh, keyLow);
        if (holder[slot] != 0) {
            return holder[slot] - 1;
        }
        high[slot] = keyHigh;
        low[slot] = keyLow;
        lane[slot] = ofLane;
        holder[slot] = index + 1;
        return -1;
    }

    /** Returns who holds this key, or -1. */
    public int find(int ofLane, long keyHigh, long keyLow) {
        return holder[slot(ofLane, keyHigh, keyLow)] - 1;
    }

    private int slot(int ofLane, long keyHigh, long keyLow) {
        long mixed = (keyHigh ^ secret) * 0x9E37_79B9_7F4A_7C15L;
        mixed = ((mixed ^ (mixed >>> 32)) + keyLow + ofLane) * 0xBF58_476D_1CE4_E5B9L;
        int slot = (int) (mixed >>> 32) & mask;
        while (holder[slot] != 0
                && (high[slot] != keyHigh || low[slot] != keyLow || lane[slot] != ofLane)) {
            slot = (slot + 1) & mask;
        }
        return slot;
    }
}
