package io.queenmq.model;

import org.jspecify.annotations.Nullable;

/**
 * What a name may look like, checked once at the edge so that nothing the database would refuse
 * travels further: PostgreSQL's text takes neither NUL nor a lone surrogate. Pure.
 */
public final class Names {
    /** Longest queue, partition or group, in bytes of UTF-8. */
    public static final int NAME_BYTES_MAX = 1_024;

    /** Longest transactionId, in bytes of UTF-8: its length is stored in 16 bits. */
    public static final int TRANSACTION_ID_BYTES_MAX = 65_535;

    /** Partition of messages that name none. */
    public static final String DEFAULT_PARTITION = "Default";

    /** The reserved group of pops and acks without one. */
    public static final String QUEUE_MODE = "__QUEUE_MODE__";

    private Names() {}

    /** Returns a queue, partition or group that is fit to be stored. */
    public static String name(String field, @Nullable String value) {
        if (value == null || value.isEmpty()) {
            throw new QueenException(
                    Failure.BAD_REQUEST,
                    field + " must be 1 to " + NAME_BYTES_MAX + " bytes, got 0");
        }
        return checked(field, value, NAME_BYTES_MAX);
    }

    /** Returns a transactionId that is fit to be stored. */
    public static String transactionId(String field, String value) {
        return checked(field, value, TRANSACTION_ID_BYTES_MAX);
    }

    /** Whether it can be stored as the one who has produced a message. */
    public static boolean isProducer(String value) {
        return flaw(value, TRANSACTION_ID_BYTES_MAX) == null;
    }

    /** Whether a message can have that transactionId. */
    public static boolean isTransactionId(String value) {
        return flaw(value, TRANSACTION_ID_BYTES_MAX) == null;
    }

    /** Returns a text of at most so many bytes, the empty one included. */
    public static String checked(String field, String value, int bytesMax) {
        String flaw = flaw(value, bytesMax);
        if (flaw != null) {
            throw new QueenException(Failure.BAD_REQUEST, field + flaw);
        }
        return value;
    }

    /** What PostgreSQL, or a reader, could not take; null = nothing. */
    private static @Nullable String flaw(String value, int bytesMax) {
        int bytes = 0;
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            if (c < 0x80) {
                if (c == 0) {
                    return " must not contain a NUL character";
                }
                bytes++;
            } else if (c < 0x800) {
                bytes += 2;
            } else if (!Character.isSurrogate(c)) {
                bytes += 3;
            } else if (Character.isHighSurrogate(c)
                    && i + 1 < value.length()
                    && Character.isLowSurrogate(value.charAt(i + 1))) {
                bytes += 4;
                i++;
            } else {
                return " must not contain a lone surrogate, got \\u" + hex(c);
            }
        }
        return bytes > bytesMax ? " must be at most " + bytesMax + " bytes, got " + bytes : null;
    }

    private static String hex(char c) {
        return Integer.toHexString(0x10000 | c).substring(1);
    }
}
