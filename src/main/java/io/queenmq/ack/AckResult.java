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
 * @param conflated messages that the completed batch retired unread; null when its group does not
 *     conflate, or the batch was not completed
 */
public record AckResult(
        boolean success,
        @Nullable String error,
        boolean leaseReleased,
        boolean deadLettered,
        boolean noop,
        @Nullable Long conflated) {

    /** Of a batch that was not conflated. */
    public AckResult(
            boolean success,
            @Nullable String error,
            boolean leaseReleased,
            boolean deadLettered,
            boolean noop) {
        this(success, error, leaseReleased, deadLettered, noop, null);
    }
}
