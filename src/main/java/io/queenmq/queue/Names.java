package io.queenmq.queue;

import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;

/** What a name may be: the server stores its UTF-8 and can hold neither U+0000 nor half a pair. */
public final class Names {
    /** Longest name of a queue, partition or group, in bytes of UTF-8. */
    public static final int BYTES_MAX = 1_024;

    private Names() {}

    /**
     * Refuses a name that is empty, too long or not storable.
     *
     * @param field what the client calls it
     * @throws QueenException {@code BAD_REQUEST}
     */
    public static void check(String field, String name) {
        if (name.isEmpty()) {
            throw bad(field + " must not be empty");
        }
        checkText(field, name, BYTES_MAX);
    }

    /** The same for a text that may be empty and has a limit of its own. */
    public static void checkText(String field, String text, int bytesMax) {
        int bytes = 0;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == 0) {
                throw bad(field + " must not contain U+0000");
            } else if (c < 0x80) {
                bytes++;
            } else if (c < 0x800) {
                bytes += 2;
            } else if (!Character.isSurrogate(c)) {
                bytes += 3;
            } else if (Character.isHighSurrogate(c)
                    && i + 1 < text.length()
                    && Character.isLowSurrogate(text.charAt(i + 1))) {
                bytes += 4;
                i++;
            } else {
                throw bad(field + " must not contain a lone surrogate");
            }
        }
        if (bytes > bytesMax) {
            throw bad(field + " must be at most " + bytesMax + " bytes, got " + bytes);
        }
    }

    private static QueenException bad(String detail) {
        return new QueenException(Failure.BAD_REQUEST, detail);
    }
}
