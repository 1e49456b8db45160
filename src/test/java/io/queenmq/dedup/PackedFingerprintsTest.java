package io.queenmq.dedup;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Whatever their number: what was put in is found, and hardly anything else. */
class PackedFingerprintsTest {
    private static final int QUESTIONS = 1_000_000;

    @Test
    void whatWasPutInIsFoundAndHardlyAnythingElse() {
        for (int count : new int[] {1, 2, 7, 8, 9, 31, 32, 33, 1_000, 65_537, 400_000}) {
            FingerprintSet set = new FingerprintSet();
            SplittableRandom random = new SplittableRandom(count);
            for (int i = 0; i < count; i++) {
                set.add(random.nextLong() | 1);
            }
            PackedFingerprints packed = new PackedFingerprints(set);
            set.forEach(held -> assertTrue(packed.contains(held), count + " fingerprints"));
            int found = 0;
            for (int i = 0; i < QUESTIONS; i++) {
                long other = random.nextLong() | 1;
                found += packed.contains(other) && !set.contains(other) ? 1 : 0;
            }
            assertTrue(found <= 2, found + " found that are not in " + count);
        }
    }

    @Test
    void fingerprintsThatDifferInFewBitsAreFoundToo() {
        FingerprintSet set = new FingerprintSet();
        for (int bit = 0; bit < Long.SIZE; bit++) {
            set.add(1L << bit);
            set.add(-1L << bit);
        }
        PackedFingerprints packed = new PackedFingerprints(set);
        set.forEach(held -> assertTrue(packed.contains(held), Long.toHexString(held)));
    }
}
