package io.queenmq.timer;

import io.queenmq.model.Slice;
import io.queenmq.segment.Frame;
import io.queenmq.segment.MessageKey;
import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A timer that this broker alone may fire, for the length of its claim.
 *
 * @param token number of the claim
 * @param encrypted whether the payload is an envelope
 * @param queueEncrypts whether the queue wants one
 */
record ClaimedTimer(
        UUID tenant,
        String queue,
        String timerKey,
        UUID token,
        String partition,
        Instant deliverAt,
        String transactionId,
        UUID messageId,
        Slice payload,
        boolean encrypted,
        boolean dedup,
        @Nullable String producer,
        boolean queueEncrypts) {

    /** The same with its payload in an envelope. */
    ClaimedTimer sealed(Slice envelope) {
        return new ClaimedTimer(
                tenant,
                queue,
                timerKey,
                token,
                partition,
                deliverAt,
                transactionId,
                messageId,
                envelope,
                true,
                dedup,
                producer,
                queueEncrypts);
    }

    /** The message, with the id that was promised. */
    Frame frame() {
        Frame frame =
                MessageKey.of(transactionId).equals(MessageKey.of(messageId))
                        ? Frame.minted(messageId, null, producer, payload)
                        : Frame.of(transactionId, null, producer, payload).promised(messageId);
        return encrypted ? frame.sealed(payload) : frame;
    }
}
