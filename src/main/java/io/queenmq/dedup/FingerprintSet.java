package io.queenmq.dedup;

import java.util.function.LongConsumer;

/** Open addressing over longs, half to three quarters full; 0 is no fingerprint. */
final class FingerprintSet {
    private static final int SLOTS_FIRST = 64;

    private long[] slots = new long[SLOTS_FIRST];
    private int count;

    long bytes() {
        return slots.length * 8L;
    }

    int count() {
        return count;
    }

    /** Whether the next one makes it grow. */
    boolean isFull() {
        return count >= slots.length / 4 * 3;
    }

    void forEach(LongConsumer consumer) {
        for (long held : slots) {
            if (held != 0) {
                consumer.accept(held);
            }
        }
    }

    /** Returns by how many bytes the set grew. */
    long add(long fingerprint) {
        int slot = slotOf(slots, fingerprint);
        if (slots[slot] == fingerprint) {
            return 0;
        }
        slots[slot] = fingerprint;
        count++;
        if (count <= slots.length / 4 * 3) {
            return 0;
        }
        long before = bytes();
        long[] grown = new long[slots.length * 2];
        for (long held : slots) {
            if (held != 0) {
                grown[slotOf(grown, held)] = held;
            }
        }
        slots = grown;
        return bytes() - before;
    }

    boolean contains(long fingerprint) {
        return slots[slotOf(slots, fingerprint)] == fingerprint;
    }

    private static int slotOf(long[] slots, long fingerprint) {
        int mask = slots.length - 1;
        int slot = (int) (fingerprint >>> 32) & mask;
        while (slots[slot] != 0 && slots[slot] != fingerprint) {
            slot = (slot + 1) & mask;
        }
        return slot;
    }
}
