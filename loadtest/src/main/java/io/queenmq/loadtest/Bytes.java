package io.queenmq.loadtest;

import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/** A growing byte buffer that requests are rendered into; reused from request to request. */
final class Bytes {
    private static final byte[] HEX = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

    private byte[] array;
    private int size;

    Bytes(int capacity) {
        this.array = new byte[capacity];
    }

    byte[] array() {
        return array;
    }

    int size() {
        return size;
    }

    void clear() {
        size = 0;
    }

    /** Takes back what was written beyond that size. */
    void truncate(int newSize) {
        size = newSize;
    }

    void set(int index, byte value) {
        array[index] = value;
    }

    Bytes add(String ascii) {
        return add(ascii.getBytes(StandardCharsets.US_ASCII));
    }

    Bytes add(byte[] source) {
        return add(source, 0, source.length);
    }

    Bytes add(byte[] source, int from, int to) {
        int length = to - from;
        reserve(length);
        System.arraycopy(source, from, array, size, length);
        size += length;
        return this;
    }

    Bytes add(byte value) {
        reserve(1);
        array[size++] = value;
        return this;
    }

    /** Decimal digits of a number that is not negative. */
    Bytes number(long value) {
        int digits = 1;
        for (long rest = value / 10; rest > 0; rest /= 10) {
            digits++;
        }
        return padded(value, digits);
    }

    /** The last {@code width} decimal digits. */
    Bytes padded(long value, int width) {
        reserve(width);
        long rest = value;
        for (int i = size + width - 1; i >= size; i--) {
            array[i] = (byte) ('0' + rest % 10);
            rest /= 10;
        }
        size += width;
        return this;
    }

    /** Canonical lower-case text of a UUID. */
    Bytes uuid(long high, long low) {
        reserve(36);
        hex(high, 60, 8).dash();
        hex(high, 28, 4).dash();
        hex(high, 12, 4).dash();
        hex(low, 60, 4).dash();
        return hex(low, 44, 12);
    }

    private Bytes hex(long bits, int shift, int digits) {
        for (int i = 0; i < digits; i++) {
            array[size++] = HEX[(int) (bits >>> (shift - 4 * i)) & 0xf];
        }
        return this;
    }

    private void dash() {
        array[size++] = '-';
    }

    private void reserve(int more) {
        if (array.length - size < more) {
            array = Arrays.copyOf(array, Math.max(array.length * 2, size + more));
        }
    }
}
