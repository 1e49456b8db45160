package io.queenmq.loadtest;

import java.math.BigInteger;

/**
 * Puts the numbers 0 to size − 1 in another order in which neighbours lie far apart, and any first
 * few are spread evenly: what is pushed together is seldom stored together.
 */
record Scatter(int size, long multiplier) {
    private static final double GOLDEN = 0.618033988749895;

    static Scatter of(int size) {
        if (size < 1) {
            throw new IllegalArgumentException("nothing to scatter: " + size);
        }
        BigInteger all = BigInteger.valueOf(size);
        long multiplier = Math.max(1, Math.round(size * GOLDEN));
        while (!BigInteger.valueOf(multiplier).gcd(all).equals(BigInteger.ONE)) {
            multiplier++;
        }
        return new Scatter(size, multiplier);
    }

    /** Place of a number. */
    int at(int number) {
        return (int) (number * multiplier % size);
    }

    /** Finds the number at a place. */
    Scatter inverse() {
        return new Scatter(
                size,
                BigInteger.valueOf(multiplier).modInverse(BigInteger.valueOf(size)).longValue());
    }
}
