package io.queenmq.timer;

import java.time.Instant;
import java.util.UUID;

/** What became of an operation. */
public sealed interface TimerResult {
    TimerOp op();

    /**
     * The message is scheduled.
     *
     * @param replaced whether another was in its place
     * @param messageId the id it will have
     */
    record Scheduled(
            TimerOp op, boolean replaced, String transactionId, UUID messageId, Instant deliverAt)
            implements TimerResult {}

    /**
     * The timer is gone.
     *
     * @param transactionId the message would have had
     */
    record Cancelled(TimerOp op, String transactionId) implements TimerResult {}

    /** There was nothing to cancel: it was never scheduled, or its message is delivered. */
    record Absent(TimerOp.Cancel op) implements TimerResult {}

    /** A broker is about to deliver the message; nothing was changed. */
    record TooLate(TimerOp op) implements TimerResult {}
}
