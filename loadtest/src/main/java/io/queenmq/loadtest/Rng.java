package io.queenmq.loadtest;

import java.security.SecureRandom;

/** Random bits for transaction ids and payloads: splitmix64, seeded from the system. */
final class Rng {
    private long state;

    Rng(long seed) {
        this.state = seed;
    }

    static Rng seeded() {
        return new Rng(new SecureRandom().nextLong());
    }

    long next() {
        state += 0x9e3779b97f4a7c15L;
        long z = state;
        z = (z ^ (z >>> 30)) * 0xbf58476d1ce4e5b9L;
        z = (z ^ (z >>> 27)) * 0x94d049bb133111ebL;
        return z ^ (z >>> 31);
    }

    /** A number from 0 to bound − 1; the bias of the multiplication is of no matter here. */
    int below(int bound) {
        return (int) (((next() >>> 32) * bound) >>> 32);
    }

    /** First half of a random (version 4) UUID. */
    long uuidHigh() {
        return (next() & 0xffffffffffff0fffL) | 0x4000L;
    }

    /** Second half of a random UUID. */
    long uuidLow() {
        return (next() & 0x3fffffffffffffffL) | 0x8000000000000000L;
    }
}
