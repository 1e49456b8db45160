package io.queenmq.access;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Tokens whose signature was good: a client sends the same one with every request, and looking at a
 * signature costs more than a small request does (measured on two busy cores: HMAC 50 to 150 µs,
 * RSA 70 to 150, Ed25519 800; a digest and this look 1 to 2). Only such tokens come in, so
 * strangers cannot fill it. It keeps no token, only digests. Any thread.
 */
final class VerifiedTokens {
    /** Tokens in use at once; a few hundred bytes each. */
    private static final int TOKENS_MAX = 10_000;

    /** SHA-256 of a token. */
    record Digest(long a, long b, long c, long d) {}

    private record Entry(Keys keys, Claims claims) {}

    private final Map<Digest, Entry> entries = new ConcurrentHashMap<>();

    static Digest digest(String token) {
        try {
            MessageDigest sha = MessageDigest.getInstance("SHA-256");
            ByteBuffer hash = ByteBuffer.wrap(sha.digest(token.getBytes(StandardCharsets.UTF_8)));
            return new Digest(hash.getLong(), hash.getLong(), hash.getLong(), hash.getLong());
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JVM has SHA-256", e);
        }
    }

    /** What the token says, if it was verified while these keys were the ones to verify with. */
    @Nullable Claims find(Digest digest, Keys keys) {
        Entry entry = entries.get(digest);
        return entry == null || entry.keys != keys ? null : entry.claims;
    }

    /** Remembers one. */
    void put(Digest digest, Keys keys, Claims claims) {
        if (entries.size() >= TOKENS_MAX) {
            entries.clear();
        }
        entries.put(digest, new Entry(keys, claims));
    }
}
