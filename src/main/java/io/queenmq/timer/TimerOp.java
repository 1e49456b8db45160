package io.queenmq.timer;

import io.queenmq.model.Slice;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** What a request wants done to one timer. Its names and its payload have been checked. */
public sealed interface TimerOp {
    String queue();

    /** Name of the timer, unique in its queue. */
    String timerKey();

    /** When a message is to be delivered; what has passed means at once. */
    sealed interface When {
        /** By the clock of the database. */
        record After(Duration delay) implements When {}

        record At(Instant instant) implements When {}
    }

    /**
     * Schedule a message, or put it in the place of the one that is scheduled.
     *
     * @param transactionId null = its id
     * @param payload JSON text, or an envelope
     * @param dedup whether it is dropped if its lane has the transactionId when it fires
     */
    record Schedule(
            String queue,
            String timerKey,
            String partition,
            When when,
            @Nullable String transactionId,
            Slice payload,
            boolean encrypted,
            boolean dedup)
            implements TimerOp {}

    /**
     * Cancel it.
     *
     * @param transactionId as the caller remembers it; only repeated
     */
    record Cancel(String queue, String timerKey, @Nullable String transactionId)
            implements TimerOp {}
}
