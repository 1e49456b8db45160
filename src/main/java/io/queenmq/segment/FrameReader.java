package io.queenmq.segment;

import io.queenmq.model.Ids;
import io.queenmq.model.Slice;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Walks over the messages of a segment: {@link #next} steps to one, the getters tell its parts and
 * make an object only for what is asked. Payloads are slices of the frames. Every step and getter
 * throws {@link DamagedSegment} where the bytes make no sense, and nothing else. One thread.
 */
public final class FrameReader {
    private static final VarHandle INTS =
            MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle LONGS =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

    private final long partitionNumber;
    private final long baseOffset;
    private final long createdAtMillis;
    private final byte[] keys;
    private final byte[] frames;
    private final int directory;
    private final int end;

    private int index;
    private int flags;
    private int promisedAt;
    private int transactionIdAt;
    private int traceAt;
    private int producerAt;
    private int payloadAt;
    private int payloadEnd;

    /**
     * @param baseOffset offset of the first message of the segment
     * @param createdAtMillis its created_at in milliseconds since 1970, rounded down
     * @param from index of the first message wanted
     * @param count how many are wanted
     */
    public FrameReader(
            long partitionNumber,
            long baseOffset,
            long createdAtMillis,
            byte[] keys,
            byte[] frames,
            int from,
            int count) {
        this.partitionNumber = partitionNumber;
        this.baseOffset = baseOffset;
        this.createdAtMillis = createdAtMillis;
        this.keys = keys;
        this.frames = frames;
        int messages = keys.length / MessageKey.BYTES;
        this.directory = messages * 4;
        this.end = from + count;
        this.index = from - 1;
        if (from < 0
                || count < 0
                || count > messages - from
                || keys.length % MessageKey.BYTES != 0
                || directory > frames.length) {
            throw damaged("the segment has not the messages that were asked for");
        }
    }

    /** Steps to the next message wanted; false when there is none. */
    public boolean next() {
        if (index + 1 >= end) {
            return false;
        }
        index++;
        int start = directory + (index == 0 ? 0 : entry(index - 1));
        payloadEnd = directory + entry(index);
        if (start >= payloadEnd) {
            throw damaged("directory entries out of order");
        }
        flags = frames[start] & 0xFF;
        if ((flags & Frame.RESERVED) != 0) {
            throw damaged("unknown flags " + flags);
        }
        int at = start + 1;
        promisedAt = at;
        at = skipUuid(Frame.PROMISED_ID, at);
        transactionIdAt = at;
        at = skipText(Frame.TRANSACTION_ID, at);
        traceAt = at;
        at = skipUuid(Frame.TRACE_ID, at);
        producerAt = at;
        at = skipText(Frame.PRODUCER, at);
        payloadAt = at;
        if (!has(Frame.TRANSACTION_ID) && !key().isUuid()) {
            throw damaged("no transactionId");
        }
        return true;
    }

    public long offset() {
        return baseOffset + index;
    }

    public int flags() {
        return flags;
    }

    public MessageKey key() {
        return MessageKey.read(keys, index);
    }

    public UUID messageId() {
        if (has(Frame.PROMISED_ID)) {
            return uuid(promisedAt);
        }
        return has(Frame.MINTED)
                ? key().uuid()
                : Ids.messageId(createdAtMillis, partitionNumber, offset());
    }

    public String transactionId() {
        return has(Frame.TRANSACTION_ID) ? text(transactionIdAt) : key().uuid().toString();
    }

    public @Nullable UUID traceId() {
        return has(Frame.TRACE_ID) ? uuid(traceAt) : null;
    }

    public @Nullable String producer() {
        return has(Frame.PRODUCER) ? text(producerAt) : null;
    }

    /** The payload byte for byte as it was received. */
    public Slice payload() {
        return new Slice(frames, payloadAt, payloadEnd - payloadAt);
    }

    private boolean has(int flag) {
        return (flags & flag) != 0;
    }

    private int skipUuid(int flag, int at) {
        return has(flag) ? within(at + 16) : at;
    }

    private int skipText(int flag, int at) {
        return has(flag) ? within(within(at + 2) + length(at)) : at;
    }

    private int within(int at) {
        if (at > payloadEnd) {
            throw damaged("message out of bounds");
        }
        return at;
    }

    private int entry(int i) {
        int value = (int) INTS.get(frames, i * 4);
        if (value < 0 || value > frames.length - directory) {
            throw damaged("directory entry out of bounds");
        }
        return value;
    }

    private int length(int at) {
        return ((frames[at] & 0xFF) << 8) | (frames[at + 1] & 0xFF);
    }

    private String text(int at) {
        return new String(frames, at + 2, length(at), StandardCharsets.UTF_8);
    }

    private UUID uuid(int at) {
        return new UUID((long) LONGS.get(frames, at), (long) LONGS.get(frames, at + 8));
    }

    private DamagedSegment damaged(String what) {
        return new DamagedSegment(partitionNumber, baseOffset + Math.max(index, 0), what);
    }
}
