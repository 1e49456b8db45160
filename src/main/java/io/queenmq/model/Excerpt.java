package io.queenmq.model;

import org.jspecify.annotations.Nullable;

/**
 * What a refusal repeats of a value that was sent: as much as shows which one is meant, for a value
 * may be as long as a body. Pure.
 */
public final class Excerpt {
    private static final int LENGTH_MAX = 40;

    /** So many bytes have more characters than are shown, and those are whole. */
    private static final int BYTES_MAX = 4 * (LENGTH_MAX + 1);

    private Excerpt() {}

    /** The beginning of a text; null as it is. */
    public static @Nullable String of(@Nullable String text) {
        if (text == null || text.length() <= LENGTH_MAX) {
            return text;
        }
        boolean pair = Character.isHighSurrogate(text.charAt(LENGTH_MAX - 1));
        return text.substring(0, pair ? LENGTH_MAX - 1 : LENGTH_MAX) + "…";
    }

    /** The beginning of a text in UTF-8. */
    public static @Nullable String of(Slice utf8) {
        int length = Math.min(utf8.length(), BYTES_MAX);
        return of(new Slice(utf8.array(), utf8.offset(), length).toString());
    }
}
