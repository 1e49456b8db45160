package io.queenmq.gate;

import org.jspecify.annotations.Nullable;

/**
 * What a tenant may do with keys and timers; null = as much as the broker allows.
 *
 * @param enabled whether it may use them at all
 * @param maxRows keys it may have
 * @param maxBytes bytes of values it may have
 * @param maxTimers messages it may have scheduled
 * @param maxTimerHorizonSeconds how far ahead it may schedule one
 * @param maxReadsPerSecond calls that only read keys, on each broker
 * @param maxWritesPerSecond calls that write keys, on each broker
 */
public record Quota(
        boolean enabled,
        @Nullable Long maxRows,
        @Nullable Long maxBytes,
        @Nullable Long maxTimers,
        @Nullable Long maxTimerHorizonSeconds,
        @Nullable Long maxReadsPerSecond,
        @Nullable Long maxWritesPerSecond) {
    /** No bound but those of the broker. */
    static final Quota UNBOUNDED = new Quota(true, null, null, null, null, null, null);
}
