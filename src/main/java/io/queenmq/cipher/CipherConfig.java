package io.queenmq.cipher;

import java.util.HexFormat;
import java.util.List;
import java.util.stream.Stream;
import javax.crypto.SecretKey;
import javax.crypto.spec.SecretKeySpec;

/**
 * What payloads are encrypted with.
 *
 * @param keys of AES-256: the first encrypts, each decrypts; none = this broker does neither
 */
public record CipherConfig(List<SecretKey> keys) {
    public static final CipherConfig NONE = new CipherConfig(List.of());

    private static final int KEY_BYTES = 32;

    public CipherConfig {
        keys = List.copyOf(keys);
    }

    /**
     * The keys as the environment has them.
     *
     * @param hex 64 hexadecimal digits
     * @param older keys of before, to decrypt with
     */
    public static CipherConfig of(String hex, List<String> older) {
        return new CipherConfig(
                Stream.concat(Stream.of(hex), older.stream()).map(CipherConfig::key).toList());
    }

    private static SecretKey key(String hex) {
        byte[] key = HexFormat.of().parseHex(hex);
        if (key.length != KEY_BYTES) {
            throw new IllegalArgumentException("a key has 32 bytes, got " + key.length);
        }
        return new SecretKeySpec(key, "AES");
    }

    /** Never a key. */
    @Override
    public String toString() {
        return "CipherConfig[" + keys.size() + " of AES-256-GCM]";
    }
}
