package io.queenmq.dedup;

import java.util.ArrayList;
import java.util.List;

/** A set of fingerprints that grows by small sets, each of which is packed when it is full. */
final class Fingerprints {
    private final long openBytesMax;
    private final List<PackedFingerprints> packed = new ArrayList<>();
    private FingerprintSet open = new FingerprintSet();
    private long packedBytes;

    Fingerprints(long openBytesMax) {
        this.openBytesMax = openBytesMax;
    }

    long bytes() {
        return packedBytes + open.bytes();
    }

    /** Returns by how many bytes the set grew, or shrank if that is below 0. */
    long add(long fingerprint) {
        if (!open.isFull() || open.bytes() < openBytesMax) {
            return open.add(fingerprint);
        }
        long grown = pack();
        return grown + open.add(fingerprint);
    }

    /** Makes it small: hardly anything more will come. Returns as {@link #add}. */
    long pack() {
        if (open.count() == 0) {
            return 0;
        }
        long before = bytes();
        PackedFingerprints full = new PackedFingerprints(open);
        packed.add(full);
        packedBytes += full.bytes();
        open = new FingerprintSet();
        return bytes() - before;
    }

    /** Whether one of the first {@code count} is in the set. */
    boolean containsAny(long[] fingerprints, int count) {
        for (int i = 0; i < count; i++) {
            if (open.contains(fingerprints[i])) {
                return true;
            }
        }
        for (PackedFingerprints part : packed) {
            for (int i = 0; i < count; i++) {
                if (part.contains(fingerprints[i])) {
                    return true;
                }
            }
        }
        return false;
    }
}
