package io.queenmq.model;

import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * A range of a byte array that nobody writes to any more: payloads travel as slices of the request
 * they came in, never copied into a type that could normalise them.
 */
public record Slice(byte[] array, int offset, int length) {

    public Slice {
        if (offset < 0 || length < 0 || offset + length > array.length) {
            throw new IllegalArgumentException("slice outside of its array");
        }
    }

    public static Slice of(byte[] array) {
        return new Slice(array, 0, array.length);
    }

    public static Slice utf8(String text) {
        return of(text.getBytes(StandardCharsets.UTF_8));
    }

    public byte[] copy() {
        return Arrays.copyOfRange(array, offset, offset + length);
    }

    public void writeTo(ByteArrayOutputStream out) {
        out.write(array, offset, length);
    }

    @Override
    public String toString() {
        return new String(array, offset, length, StandardCharsets.UTF_8);
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof Slice(byte[] array2, int offset2, int length2)
                && Arrays.equals(
                        array, offset, offset + length, array2, offset2, offset2 + length2);
    }

    @Override
    public int hashCode() {
        int hash = 1;
        for (int i = offset; i < offset + length; i++) {
            hash = 31 * hash + array[i];
        }
        return hash;
    }
}
