package io.queenmq.dedup;

/**
 * Fingerprints that no more are added to, in some 4.5 bytes each: their highest bits are the number
 * of a block, and of the rest the block holds 32. What was put in is found; what was not is found
 * once in some hundred million questions.
 */
final class PackedFingerprints {
    private static final int KEYS_OF_BLOCK = 16;

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
    }

    long bytes() {
        return 4L * (starts.length + tails.length);
    }

    boolean contains(long fingerprint) {
        int block = block(fingerprint);
        int tail = (int) fingerprint;
        for (int i = starts[block]; i < starts[block + 1]; i++) {
            if (tails[i] == tail) {
                return true;
            }
        }
        return false;
    }

    private int block(long fingerprint) {
        return blockBits == 0 ? 0 : (int) (fingerprint >>> (Long.SIZE - blockBits));
    }
}
