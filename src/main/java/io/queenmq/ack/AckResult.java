package io.queenmq.ack;

import org.jspecify.annotations.Nullable;

/**
 * What became of one acknowledgement.
 *
 * @param success the instruction was carried out
 * @param error why not; null on success
 * @param leaseReleased this call ended the lease
 * @param deadLettered this message was filed as a dead letter
 * @param noop a completed ack at or below the cursor
 */
public record AckResult(
        boolean success,
        @Nullable String error,
        boolean leaseReleased,
        boolean deadLettered,
        boolean noop) {}
