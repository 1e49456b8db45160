package io.queenmq.db;

import java.util.Locale;
import java.util.Optional;

/**
 * How connections to the server are encrypted, and what the server must prove.
 *
 * @param authorities who may vouch for the server, in PEM; empty = those that Java trusts
 * @param identity what the broker shows when it is asked who it is
 */
public record Tls(Mode mode, Optional<String> authorities, Optional<Identity> identity) {
    /** Without encryption. */
    public static final Tls NONE = new Tls(Mode.DISABLE, Optional.empty(), Optional.empty());

    /** With the meaning that PostgreSQL gives the words. */
    public enum Mode {
        /** Nothing is encrypted. */
        DISABLE,
        /** Encrypted where the server can. */
        PREFER,
        /** Encrypted, whoever answers. */
        REQUIRE,
        /** Encrypted, and an authority vouches for the server. */
        VERIFY_CA,
        /** The same, and the server is the one that was called. */
        VERIFY_FULL;

        /** As PostgreSQL spells it. */
        public String word() {
            return name().toLowerCase(Locale.ROOT).replace('_', '-');
        }

        /** The mode of that word. */
        public static Mode of(String word) {
            return valueOf(word.toUpperCase(Locale.ROOT).replace('-', '_'));
        }

        /** Whether the server must prove who it is. */
        public boolean verifies() {
            return this == VERIFY_CA || this == VERIFY_FULL;
        }
    }

    /**
     * A certificate and its key, in PEM.
     *
     * @param chain the certificate first, then those between it and its authority
     */
    public record Identity(String chain, String key) {
        /** Without the key, which must not reach a log. */
        @Override
        public String toString() {
            return "Identity";
        }
    }
}
