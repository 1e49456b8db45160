package io.queenmq.access;

import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;

/** How a token may be signed. */
public enum Algorithm {
    HS256("HS256", KeyKind.SECRET),
    HS384("HS384", KeyKind.SECRET),
    HS512("HS512", KeyKind.SECRET),
    RS256("RS256", KeyKind.RSA),
    RS384("RS384", KeyKind.RSA),
    RS512("RS512", KeyKind.RSA),
    ES256("ES256", KeyKind.P256),
    ES384("ES384", KeyKind.P384),
    EDDSA("EdDSA", KeyKind.ED25519);

    private static final String AUTO = "auto";

    private static final Set<Algorithm> HMAC = EnumSet.of(HS256, HS384, HS512);
    private static final Set<Algorithm> RSA = EnumSet.of(RS256, RS384, RS512);

    private final String id;
    private final KeyKind kind;

    Algorithm(String id, KeyKind kind) {
        this.id = id;
        this.kind = kind;
    }

    /** As tokens and keys name it. */
    String id() {
        return id;
    }

    KeyKind kind() {
        return kind;
    }

    /** What an operator can choose between. */
    public static List<String> choices() {
        return List.of(
                "HS256", "HS384", "HS512", "RS256", "RS384", "RS512", "ES256", "ES384", "EdDSA",
                AUTO);
    }

    /** The algorithms that a choice stands for: one of RSA's stands for all of them. */
    public static Set<Algorithm> of(String choice) {
        if (choice.equals(AUTO)) {
            Set<Algorithm> all = EnumSet.copyOf(HMAC);
            all.addAll(RSA);
            all.add(EDDSA);
            return all;
        }
        Algorithm one = valueOf(choice.toUpperCase(Locale.ROOT));
        return RSA.contains(one) ? RSA : EnumSet.of(one);
    }

    /** The one that a token names. */
    static Optional<Algorithm> named(String id) {
        return Arrays.stream(values()).filter(a -> a.id.equals(id)).findFirst();
    }

    /** Whether a shared secret verifies it. */
    public boolean isSymmetric() {
        return kind == KeyKind.SECRET;
    }

    /** Shortest secret in bytes: as long as the hash, or it is easier to guess than that. */
    public int secretBytesMin() {
        return switch (this) {
            case HS256 -> 32;
            case HS384 -> 48;
            case HS512 -> 64;
            case RS256, RS384, RS512, ES256, ES384, EDDSA -> 0;
        };
    }
}
