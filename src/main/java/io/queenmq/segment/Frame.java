package io.queenmq.segment;

import io.queenmq.model.Slice;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * One message on its way into a segment.
 *
 * @param key identity of its transactionId
 * @param transactionId UTF-8 of the transactionId; null where the key is the UUID itself
 * @param minted whether the broker minted the UUID, which then is the message id too
 * @param promisedId id that a client was told before the offset existed
 * @param producer UTF-8 of the authenticated producer
 * @param content {@link #ENCRYPTED} and {@link #NOT_JSON}, or 0
 */
public record Frame(
        MessageKey key,
        @Nullable Slice transactionId,
        boolean minted,
        @Nullable UUID promisedId,
        @Nullable UUID traceId,
        @Nullable Slice producer,
        int content,
        Slice payload) {
    /** The frame holds the transactionId as text. */
    public static final int TRANSACTION_ID = 1;

    /** The frame holds a trace id. */
    public static final int TRACE_ID = 2;

    /** The frame holds a producer. */
    public static final int PRODUCER = 4;

    /** The frame holds the message id. */
    public static final int PROMISED_ID = 8;

    /** The message id is the key. */
    public static final int MINTED = 16;

    /** The payload is an encryption envelope. */
    public static final int ENCRYPTED = 32;

    /** The payload is not JSON text. */
    public static final int NOT_JSON = 64;

    /** Never written; a frame with it comes from a format this broker does not know. */
    static final int RESERVED = 128;

    /** Longest transactionId or producer in bytes: its length has 16 bits. */
    public static final int TEXT_BYTES_MAX = 65_535;

    public Frame {
        if ((content & ~(ENCRYPTED | NOT_JSON)) != 0
                || (transactionId == null) != key.isUuid()
                || (minted && (promisedId != null || transactionId != null))
                || (transactionId != null && transactionId.length() > TEXT_BYTES_MAX)
                || (producer != null && producer.length() > TEXT_BYTES_MAX)) {
            throw new IllegalArgumentException("the parts of the frame contradict each other");
        }
    }

    /** A message whose transactionId the client gave. */
    public static Frame of(
            String transactionId,
            @Nullable UUID traceId,
            @Nullable String producer,
            Slice payload) {
        MessageKey key = MessageKey.ofCanonicalUuid(transactionId);
        @Nullable Slice text = null;
        if (key == null) {
            text = Slice.utf8(transactionId);
            key = MessageKey.ofHash(text.array());
        }
        return new Frame(key, text, false, null, traceId, utf8(producer), 0, payload);
    }

    /** A message that came without a transactionId: the minted UUID is that, its key and its id. */
    public static Frame minted(
            UUID id, @Nullable UUID traceId, @Nullable String producer, Slice payload) {
        return new Frame(MessageKey.of(id), null, true, null, traceId, utf8(producer), 0, payload);
    }

    /** The same message with its payload in an encryption envelope. */
    public Frame sealed(Slice envelope) {
        return new Frame(
                key,
                transactionId,
                minted,
                promisedId,
                traceId,
                producer,
                content | ENCRYPTED,
                envelope);
    }

    /** The same message under an id that was promised before it had an offset. */
    public Frame promised(UUID id) {
        return new Frame(key, transactionId, minted, id, traceId, producer, content, payload);
    }

    /** First byte of the message. */
    int flags() {
        return (transactionId == null ? 0 : TRANSACTION_ID)
                | (traceId == null ? 0 : TRACE_ID)
                | (producer == null ? 0 : PRODUCER)
                | (promisedId == null ? 0 : PROMISED_ID)
                | (minted ? MINTED : 0)
                | content;
    }

    /** Bytes of the message in a segment, without its directory entry. */
    int size() {
        return 1
                + (promisedId == null ? 0 : 16)
                + (transactionId == null ? 0 : 2 + transactionId.length())
                + (traceId == null ? 0 : 16)
                + (producer == null ? 0 : 2 + producer.length())
                + payload.length();
    }

    private static @Nullable Slice utf8(@Nullable String text) {
        return text == null ? null : Slice.utf8(text);
    }
}
