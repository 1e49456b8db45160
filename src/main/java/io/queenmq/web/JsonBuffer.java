package io.queenmq.web;

import io.queenmq.model.Slice;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneOffset;
import java.util.Arrays;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * JSON text under construction, in one growing array that is sent as it is. It knows how values are
 * spelled, not where commas go. For one thread.
 */
public final class JsonBuffer {
    private static final byte[] HEX = ascii("0123456789abcdef");
    private static final byte[] NULL = ascii("null");
    private static final byte[] TRUE = ascii("true");
    private static final byte[] FALSE = ascii("false");
    private static final int MICROS_DIGITS = 6;
    private static final int MILLIS_DIGITS = 3;
    private static final int LENGTH_MAX = Integer.MAX_VALUE - 16;

    private byte[] bytes;
    private int length;

    public JsonBuffer(int expectedBytes) {
        bytes = new byte[Math.max(16, expectedBytes)];
    }

    /** Bytes of a text without any character that JSON would escape. */
    public static byte[] ascii(String text) {
        return text.getBytes(StandardCharsets.US_ASCII);
    }

    public int length() {
        return length;
    }

    /** Whether what was written last is this character: decides about a comma. */
    public boolean endsWith(char c) {
        return length > 0 && bytes[length - 1] == c;
    }

    byte[] array() {
        return bytes;
    }

    public JsonBuffer raw(byte[] text) {
        return raw(text, 0, text.length);
    }

    public JsonBuffer raw(Slice text) {
        return raw(text.array(), text.offset(), text.length());
    }

    public JsonBuffer raw(byte[] text, int from, int count) {
        reserve(count);
        System.arraycopy(text, from, bytes, length, count);
        length += count;
        return this;
    }

    /** Text that needs no escape. */
    @SuppressWarnings("deprecation") // the only copy of ASCII without an array in between
    public JsonBuffer raw(String ascii) {
        int count = ascii.length();
        reserve(count);
        ascii.getBytes(0, count, bytes, length);
        length += count;
        return this;
    }

    public JsonBuffer raw(char ascii) {
        reserve(1);
        bytes[length++] = (byte) ascii;
        return this;
    }

    public JsonBuffer bool(boolean value) {
        return raw(value ? TRUE : FALSE);
    }

    public JsonBuffer number(long value) {
        return raw(Long.toString(value));
    }

    /** A number with up to two decimals. */
    public JsonBuffer decimal(double value) {
        return raw(
                BigDecimal.valueOf(value)
                        .setScale(2, RoundingMode.HALF_EVEN)
                        .stripTrailingZeros()
                        .toPlainString());
    }

    /** A quoted, escaped string, or null. A lone surrogate is escaped: UTF-8 cannot hold it. */
    public JsonBuffer string(@Nullable String text) {
        if (text == null) {
            return raw(NULL);
        }
        int count = text.length();
        reserve(count + 2);
        bytes[length++] = '"';
        int plain = 0;
        while (plain < count && isPlain(text.charAt(plain))) {
            bytes[length++] = (byte) text.charAt(plain++);
        }
        if (plain < count) {
            escaped(text, plain);
        }
        return raw('"');
    }

    private static boolean isPlain(char c) {
        return c >= 0x20 && c < 0x80 && c != '"' && c != '\\';
    }

    private void escaped(String text, int from) {
        for (int i = from; i < text.length(); i++) {
            char c = text.charAt(i);
            if (isPlain(c)) {
                raw(c);
            } else if (Character.isHighSurrogate(c)
                    && i + 1 < text.length()
                    && Character.isLowSurrogate(text.charAt(i + 1))) {
                utf8(Character.toCodePoint(c, text.charAt(++i)));
            } else if (c < 0x80 || Character.isSurrogate(c)) {
                escape(c);
            } else {
                utf8(c);
            }
        }
    }

    private void utf8(int c) {
        reserve(4);
        if (c < 0x800) {
            bytes[length++] = (byte) (0xc0 | c >> 6);
        } else {
            if (c < 0x10000) {
                bytes[length++] = (byte) (0xe0 | c >> 12);
            } else {
                bytes[length++] = (byte) (0xf0 | c >> 18);
                bytes[length++] = (byte) (0x80 | ((c >> 12) & 0x3f));
            }
            bytes[length++] = (byte) (0x80 | ((c >> 6) & 0x3f));
        }
        bytes[length++] = (byte) (0x80 | (c & 0x3f));
    }

    private void escape(char c) {
        reserve(6);
        bytes[length++] = '\\';
        switch (c) {
            case '"', '\\' -> bytes[length++] = (byte) c;
            case '\n' -> bytes[length++] = 'n';
            case '\r' -> bytes[length++] = 'r';
            case '\t' -> bytes[length++] = 't';
            default -> {
                bytes[length++] = 'u';
                for (int shift = 12; shift >= 0; shift -= 4) {
                    bytes[length++] = HEX[(c >> shift) & 15];
                }
            }
        }
    }

    /** A quoted UUID, or null. */
    public JsonBuffer uuid(@Nullable UUID id) {
        return id == null
                ? raw(NULL)
                : uuid(id.getMostSignificantBits(), id.getLeastSignificantBits());
    }

    /** A quoted UUID of these bits. */
    public JsonBuffer uuid(long high, long low) {
        reserve(38);
        bytes[length++] = '"';
        hex(high, 60, 32);
        bytes[length++] = '-';
        hex(high, 28, 16);
        bytes[length++] = '-';
        hex(high, 12, 0);
        bytes[length++] = '-';
        hex(low, 60, 48);
        bytes[length++] = '-';
        hex(low, 44, 0);
        bytes[length++] = '"';
        return this;
    }

    private void hex(long bits, int from, int to) {
        for (int shift = from; shift >= to; shift -= 4) {
            bytes[length++] = HEX[(int) (bits >>> shift) & 15];
        }
    }

    /** A quoted instant in UTC with microseconds, or null. */
    public JsonBuffer instant(@Nullable Instant instant) {
        return instant(instant, MICROS_DIGITS, 1_000);
    }

    /** A quoted instant in UTC with milliseconds, or null. */
    public JsonBuffer millis(@Nullable Instant instant) {
        return instant(instant, MILLIS_DIGITS, 1_000_000);
    }

    private JsonBuffer instant(@Nullable Instant instant, int fractionDigits, int fractionNanos) {
        if (instant == null) {
            return raw(NULL);
        }
        LocalDateTime at =
                LocalDateTime.ofEpochSecond(
                        instant.getEpochSecond(), instant.getNano(), ZoneOffset.UTC);
        raw('"').digits(at.getYear(), 4).raw('-').digits(at.getMonthValue(), 2).raw('-');
        digits(at.getDayOfMonth(), 2).raw('T').digits(at.getHour(), 2).raw(':');
        digits(at.getMinute(), 2).raw(':').digits(at.getSecond(), 2).raw('.');
        return digits(at.getNano() / fractionNanos, fractionDigits).raw('Z').raw('"');
    }

    private JsonBuffer digits(int value, int width) {
        reserve(width);
        int rest = value;
        for (int i = width - 1; i >= 0; i--) {
            bytes[length + i] = (byte) ('0' + rest % 10);
            rest /= 10;
        }
        length += width;
        return this;
    }

    private void reserve(int more) {
        if (more > bytes.length - length) {
            long wanted = Math.max((long) length + more, (long) bytes.length * 2);
            if ((long) length + more > LENGTH_MAX) {
                throw new IllegalStateException("answer longer than an array");
            }
            bytes = Arrays.copyOf(bytes, (int) Math.min(LENGTH_MAX, wanted));
        }
    }

    public byte[] toBytes() {
        return Arrays.copyOf(bytes, length);
    }

    @Override
    public String toString() {
        return new String(bytes, 0, length, StandardCharsets.UTF_8);
    }
}
