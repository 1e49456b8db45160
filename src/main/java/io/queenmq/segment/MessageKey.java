package io.queenmq.segment;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The 16-byte identity of a transactionId: what deduplication and acks compare.
 *
 * <p>A canonical UUID (lower case, RFC variant) is its own key. Any other text has the first 16
 * bytes of its SHA-256 with the top three bits of byte 8 set, a variant no such UUID has, so the
 * two kinds never meet.
 *
 * @param high bytes 0 to 7, big-endian
 * @param low bytes 8 to 15, big-endian
 */
public record MessageKey(long high, long low) {
    /** Length of a key in {@code segments.keys}. */
    public static final int BYTES = 16;

    private static final VarHandle LONGS =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.BIG_ENDIAN);
    private static final int UUID_LENGTH = 36;
    private static final long HASH_MARK = 0xE000_0000_0000_0000L;

    /** The key of a transactionId as a client wrote it. */
    public static MessageKey of(String transactionId) {
        MessageKey uuid = ofCanonicalUuid(transactionId);
        return uuid == null ? ofHash(transactionId.getBytes(StandardCharsets.UTF_8)) : uuid;
    }

    /** The key of a text that is a canonical UUID, found in one pass; null for any other text. */
    static @Nullable MessageKey ofCanonicalUuid(String text) {
        if (text.length() != UUID_LENGTH) {
            return null;
        }
        long high = 0;
        long low = 0;
        for (int i = 0; i < UUID_LENGTH; i++) {
            char c = text.charAt(i);
            if (i == 8 || i == 13 || i == 18 || i == 23) {
                if (c != '-') {
                    return null;
                }
                continue;
            }
            int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
            if (digit < 0) {
                return null;
            }
            if (i < 18) {
                high = (high << 4) | digit;
            } else {
                low = (low << 4) | digit;
            }
        }
        MessageKey key = new MessageKey(high, low);
        return key.isUuid() ? key : null;
    }

    /** The key of a minted id, which is of the RFC variant. */
    public static MessageKey of(UUID id) {
        return new MessageKey(id.getMostSignificantBits(), id.getLeastSignificantBits());
    }

    /** The key of a transactionId that is no canonical UUID. */
    static MessageKey ofHash(byte[] utf8) {
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256").digest(utf8);
            return new MessageKey((long) LONGS.get(hash, 0), (long) LONGS.get(hash, 8) | HASH_MARK);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }

    /** Key number {@code index} of a segment. */
    public static MessageKey read(byte[] keys, int index) {
        return new MessageKey(
                (long) LONGS.get(keys, index * BYTES), (long) LONGS.get(keys, index * BYTES + 8));
    }

    /** Puts this key at number {@code index} of a segment's keys. */
    public void write(byte[] keys, int index) {
        LONGS.set(keys, index * BYTES, high);
        LONGS.set(keys, index * BYTES + 8, low);
    }

    public byte[] bytes() {
        byte[] bytes = new byte[BYTES];
        write(bytes, 0);
        return bytes;
    }

    /** Whether the transactionId is the UUID that the key is, so that no frame repeats it. */
    public boolean isUuid() {
        return low >>> 62 == 2;
    }

    public UUID uuid() {
        return new UUID(high, low);
    }

    /**
     * Whether the text is a UUID exactly as {@link UUID#toString} prints it, of the RFC variant.
     */
    public static boolean isCanonicalUuid(String text) {
        return ofCanonicalUuid(text) != null;
    }
}
