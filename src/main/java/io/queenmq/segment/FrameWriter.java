package io.queenmq.segment;

import io.queenmq.model.Slice;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/**
 * Packs the messages of a lane-batch into segments. Each byte is copied once: sizes are added up
 * first, then directory and messages go into one array. Pure; any thread.
 */
public final class FrameWriter {
    /** Most messages of a segment. */
    public static final int SEGMENT_MESSAGES_MAX = 1_000;

    /** Most bytes of a segment's frames; a larger message is a segment of its own. */
    public static final int SEGMENT_BYTES_MAX = 1 << 20;

    private static final int ENTRY_BYTES = 4;
    private static final VarHandle INTS =
            MethodHandles.byteArrayViewVarHandle(int[].class, ByteOrder.BIG_ENDIAN);
    private static final VarHandle LONGS =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);

    private FrameWriter() {}

    /** The segments of these messages, in their order. */
    public static List<Segment> segments(List<Frame> frames) {
        List<Segment> segments = new ArrayList<>(1);
        int from = 0;
        while (from < frames.size()) {
            int to = from;
            long bytes = 0;
            while (to < frames.size() && to - from < SEGMENT_MESSAGES_MAX) {
                long grown = bytes + ENTRY_BYTES + frames.get(to).size();
                if (to > from && grown > SEGMENT_BYTES_MAX) {
                    break;
                }
                bytes = grown;
                to++;
            }
            segments.add(segment(frames, from, to, Math.toIntExact(bytes)));
            from = to;
        }
        return segments;
    }

    private static Segment segment(List<Frame> frames, int from, int to, int bytes) {
        int count = to - from;
        byte[] keys = new byte[count * MessageKey.BYTES];
        byte[] packed = new byte[bytes];
        int directory = count * ENTRY_BYTES;
        int at = directory;
        for (int i = 0; i < count; i++) {
            Frame frame = frames.get(from + i);
            frame.key().write(keys, i);
            at = write(frame, packed, at);
            INTS.set(packed, i * ENTRY_BYTES, at - directory);
        }
        return new Segment(count, keys, packed);
    }

    private static int write(Frame frame, byte[] to, int start) {
        int at = start;
        to[at++] = (byte) frame.flags();
        if (frame.promisedId() != null) {
            at = write(frame.promisedId(), to, at);
        }
        if (frame.transactionId() != null) {
            at = write(frame.transactionId(), to, at);
        }
        if (frame.traceId() != null) {
            at = write(frame.traceId(), to, at);
        }
        if (frame.producer() != null) {
            at = write(frame.producer(), to, at);
        }
        return copy(frame.payload(), to, at);
    }

    private static int write(UUID id, byte[] to, int at) {
        LONGS.set(to, at, id.getMostSignificantBits());
        LONGS.set(to, at + 8, id.getLeastSignificantBits());
        return at + 16;
    }

    private static int write(Slice text, byte[] to, int at) {
        to[at] = (byte) (text.length() >>> 8);
        to[at + 1] = (byte) text.length();
        return copy(text, to, at + 2);
    }

    private static int copy(Slice bytes, byte[] to, int at) {
        System.arraycopy(bytes.array(), bytes.offset(), to, at, bytes.length());
        return at + bytes.length();
    }
}
