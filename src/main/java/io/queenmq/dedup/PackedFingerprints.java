package io.queenmq.dedup;

/**
 * Fingerprints that no more are added to, in some 5.5 bytes each: their highest bits are the number
 * of a block, and of the rest the block holds 32. What was put in is found; what was not is found
 * once in some hundred million questions.
 *
 * <p>Nearly every question is about a fingerprint that is not here, and is answered by a filter:
 * one look at one word, which the processor need not wait for before it goes on to the next
 * question.
 */
final class PackedFingerprints {
    private static final int KEYS_OF_BLOCK = 16;

    /** With four bits each, one in some twenty of those that are not here passes. */
    private static final int KEYS_OF_FILTER_WORD = 8;

    /** In the word of each fingerprint its four bits are set. */
    private final long[] filter;

    /** Where each block begins, and where the last one ends. */
    private final int[] starts;

    private final int[] tails;
    private final int blockBits;

    PackedFingerprints(FingerprintSet set) {
        blockBits = Math.max(0, 31 - Integer.numberOfLeadingZeros(set.count() / KEYS_OF_BLOCK));
        starts = new int[(1 << blockBits) + 1];
        tails = new int[set.count()];
        set.forEach(fingerprint -> starts[block(fingerprint) + 1]++);
        for (int block = 1; block < starts.length; block++) {
            starts[block] += starts[block - 1];
        }
        int[] next = starts.clone();
        set.forEach(fingerprint -> tails[next[block(fingerprint)]++] = (int) fingerprint);
        filter = new long[set.count() / KEYS_OF_FILTER_WORD + 1];
        set.forEach(fingerprint -> filter[word(fingerprint)] |= bits(fingerprint));
    }

    long bytes() {
        return 4L * (starts.length + tails.length) + 8L * filter.length;
    }

    boolean contains(long fingerprint) {
        long bits = bits(fingerprint);
        return (filter[word(fingerprint)] & bits) == bits && isHeld(fingerprint);
    }

    private boolean isHeld(long fingerprint) {
        int block = block(fingerprint);
        int tail = (int) fingerprint;
        for (int i = starts[block]; i < starts[block + 1]; i++) {
            if (tails[i] == tail) {
                return true;
            }
        }
        return false;
    }

    private int word(long fingerprint) {
        return (int) (((fingerprint >>> 32) * filter.length) >>> 32);
    }

    private static long bits(long fingerprint) {
        return (1L << fingerprint)
                | (1L << (fingerprint >>> 6))
                | (1L << (fingerprint >>> 12))
                | (1L << (fingerprint >>> 18));
    }

    private int block(long fingerprint) {
        return blockBits == 0 ? 0 : (int) (fingerprint >>> (Long.SIZE - blockBits));
    }
}
