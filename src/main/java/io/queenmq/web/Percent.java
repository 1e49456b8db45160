package io.queenmq.web;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** Percent-decoding, once and strictly. Pure. */
final class Percent {
    private Percent() {}

    /**
     * Decodes {@code %XX} as UTF-8; null if an escape is broken or the bytes are no UTF-8.
     *
     * @param plus whether {@code +} stands for a space: in a query, not in a path
     */
    static @Nullable String decode(String raw, boolean plus) {
        if (raw.indexOf('%') < 0 && (!plus || raw.indexOf('+') < 0) && isAscii(raw)) {
            return raw;
        }
        ByteArrayOutputStream bytes = new ByteArrayOutputStream(raw.length());
        for (int i = 0; i < raw.length(); i++) {
            char c = raw.charAt(i);
            if (c == '%') {
                int high = i + 2 <= raw.length() - 1 ? Character.digit(raw.charAt(i + 1), 16) : -1;
                int low = i + 2 <= raw.length() - 1 ? Character.digit(raw.charAt(i + 2), 16) : -1;
                if (high < 0 || low < 0) {
                    return null;
                }
                bytes.write(high << 4 | low);
                i += 2;
            } else if (c == '+' && plus) {
                bytes.write(' ');
            } else if (c < 0x80) {
                bytes.write(c);
            } else {
                return null;
            }
        }
        try {
            return StandardCharsets.UTF_8
                    .newDecoder()
                    .decode(ByteBuffer.wrap(bytes.toByteArray()))
                    .toString();
        } catch (CharacterCodingException e) {
            return null;
        }
    }

    private static boolean isAscii(String text) {
        for (int i = 0; i < text.length(); i++) {
            if (text.charAt(i) >= 0x80) {
                return false;
            }
        }
        return true;
    }
}
