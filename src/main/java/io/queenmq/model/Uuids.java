package io.queenmq.model;

import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** UUIDs as text, read strictly: the JDK's own parser takes {@code 1-1-1-1-1} for one. Pure. */
public final class Uuids {
    private static final int LENGTH = 36;

    private Uuids() {}

    /** The UUID of a text of the form 8-4-4-4-12 in either case; null for any other text. */
    public static @Nullable UUID parse(String text) {
        if (text.length() != LENGTH) {
            return null;
        }
        long high = 0;
        long low = 0;
        for (int i = 0; i < LENGTH; i++) {
            char c = text.charAt(i);
            if (i == 8 || i == 13 || i == 18 || i == 23) {
                if (c != '-') {
                    return null;
                }
                continue;
            }
            int digit = c < 0x80 ? Character.digit(c, 16) : -1;
            if (digit < 0) {
                return null;
            }
            if (i < 18) {
                high = high << 4 | digit;
            } else {
                low = low << 4 | digit;
            }
        }
        return new UUID(high, low);
    }
}
