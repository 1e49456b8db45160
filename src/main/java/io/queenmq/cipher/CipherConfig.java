package io.queenmq.cipher;

import java.util.HexFormat;
import java.util.Optional;
import javax.crypto.SecretKey;
import javax.crypto.spec.SecretKeySpec;

/**
 * What payloads are encrypted with.
 *
 * @param key of AES-256; empty = this broker neither encrypts nor decrypts
 */
public record CipherConfig(Optional<SecretKey> key) {
    public static final CipherConfig NONE = new CipherConfig(Optional.empty());

    private static final int KEY_BYTES = 32;

    /**
     * The key as the environment has it.
     *
     * @param hex 64 hexadecimal digits
     */
    public static CipherConfig of(String hex) {
        byte[] key = HexFormat.of().parseHex(hex);
        if (key.length != KEY_BYTES) {
            throw new IllegalArgumentException("a key has 32 bytes, got " + key.length);
        }
        return new CipherConfig(Optional.of(new SecretKeySpec(key, "AES")));
    }

    /** Never the key. */
    @Override
    public String toString() {
        return key.isPresent() ? "CipherConfig[AES-256-GCM]" : "CipherConfig[none]";
    }
}
