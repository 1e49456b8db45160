package io.queenmq.model;

import java.security.SecureRandom;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;

/**
 * Mints UUIDs of version 7: the identity of messages and leases that come without one. One per
 * broker, used by every thread.
 *
 * <p>Ids must be unique, not secret, and some 100,000 of them are wanted per second, so the 74
 * random bits come from a counter that two 64-bit keys from {@link SecureRandom} scatter
 * (SplitMix64), not from a cipher per id.
 */
public final class UuidMint {
    private static final long GOLDEN_GAMMA = 0x9E37_79B9_7F4A_7C15L;

    private final LongSupplier millis;
    private final AtomicLong counter;
    private final long key;

    /**
     * @param millis milliseconds since 1970
     */
    public UuidMint(LongSupplier millis) {
        this.millis = millis;
        SecureRandom random = new SecureRandom();
        this.counter = new AtomicLong(random.nextLong());
        this.key = random.nextLong();
    }

    public UUID mint() {
        long seed = counter.getAndAdd(GOLDEN_GAMMA);
        return new UUID(
                (millis.getAsLong() << 16) | 0x7000L | (scatter(seed ^ key) & 0xFFF),
                0x8000_0000_0000_0000L | (scatter(seed) >>> 2));
    }

    private static long scatter(long seed) {
        long z = (seed ^ (seed >>> 30)) * 0xBF58_476D_1CE4_E5B9L;
        z = (z ^ (z >>> 27)) * 0x94D0_49BB_1331_11EBL;
        return z ^ (z >>> 31);
    }
}
