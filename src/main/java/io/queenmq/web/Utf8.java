package io.queenmq.web;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * Whether bytes are UTF-8, strictly: no overlong form, no surrogate, nothing above U+10FFFF. What
 * is stored must be text to PostgreSQL too, and the JSON parser looks less closely. Pure.
 */
final class Utf8 {
    private static final VarHandle LONGS =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);
    private static final long HIGH_BITS = 0x8080_8080_8080_8080L;

    private Utf8() {}

    /** Index of the first byte that is not part of a character; -1 = there is none. */
    static int firstBad(byte[] bytes) {
        int length = bytes.length;
        int i = 0;
        while (i < length) {
            if (i <= length - Long.BYTES && ((long) LONGS.get(bytes, i) & HIGH_BITS) == 0) {
                i += Long.BYTES;
                continue;
            }
            int size = bytes[i] >= 0 ? 1 : sizeAt(bytes, i);
            if (size == 0) {
                return i;
            }
            i += size;
        }
        return -1;
    }

    // The second byte decides about overlong forms, surrogates and the upper end (RFC 3629, §4).
    private static int sizeAt(byte[] bytes, int i) {
        int lead = bytes[i] & 0xff;
        if (lead < 0xc2) {
            return 0;
        }
        if (lead < 0xe0) {
            return continues(bytes, i + 1, 0x80, 0xbf) ? 2 : 0;
        }
        if (lead < 0xf0) {
            int low = lead == 0xe0 ? 0xa0 : 0x80;
            int high = lead == 0xed ? 0x9f : 0xbf;
            return continues(bytes, i + 1, low, high) && continues(bytes, i + 2, 0x80, 0xbf)
                    ? 3
                    : 0;
        }
        if (lead < 0xf5) {
            int low = lead == 0xf0 ? 0x90 : 0x80;
            int high = lead == 0xf4 ? 0x8f : 0xbf;
            return continues(bytes, i + 1, low, high)
                            && continues(bytes, i + 2, 0x80, 0xbf)
                            && continues(bytes, i + 3, 0x80, 0xbf)
                    ? 4
                    : 0;
        }
        return 0;
    }

    private static boolean continues(byte[] bytes, int i, int low, int high) {
        return i < bytes.length && (bytes[i] & 0xff) >= low && (bytes[i] & 0xff) <= high;
    }
}
