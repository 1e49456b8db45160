package io.queenmq.fuzz;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.queenmq.model.Slice;
import io.queenmq.segment.Frame;
import io.queenmq.segment.MessageKey;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The frame that the broker would have written for a message that the database was given. */
final class Written {
    private Written() {}

    /**
     * @param given transactionId that was given; null = the database chose one
     * @param transactionId the one it has
     * @param promised id that was given
     * @param messageId id that the database tells; null where the offset will say it
     */
    static Frame frame(
            @Nullable String given,
            String transactionId,
            @Nullable UUID promised,
            @Nullable UUID messageId,
            @Nullable UUID traceId,
            @Nullable String producer,
            byte[] payload) {
        assertEquals(promised, promised == null ? null : messageId);
        if (given == null) {
            assertNotNull(messageId);
            assertEquals(String.valueOf(messageId), transactionId);
            if (MessageKey.of(messageId).isUuid()) {
                return Frame.minted(messageId, traceId, producer, Slice.of(payload));
            }
        } else {
            assertEquals(given, transactionId);
        }
        Frame plain = Frame.of(transactionId, traceId, producer, Slice.of(payload));
        return new Frame(
                plain.key(),
                plain.transactionId(),
                false,
                messageId,
                traceId,
                plain.producer(),
                0,
                plain.payload());
    }
}
