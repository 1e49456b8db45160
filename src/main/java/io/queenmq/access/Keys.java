package io.queenmq.access;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSVerifier;
import com.nimbusds.jose.crypto.ECDSAVerifier;
import com.nimbusds.jose.crypto.MACVerifier;
import com.nimbusds.jose.crypto.RSASSAVerifier;
import com.nimbusds.jose.jwk.Curve;
import com.nimbusds.jose.jwk.ECKey;
import com.nimbusds.jose.jwk.JWK;
import com.nimbusds.jose.jwk.KeyUse;
import com.nimbusds.jose.jwk.OctetKeyPair;
import com.nimbusds.jose.jwk.RSAKey;
import com.nimbusds.jose.util.JSONObjectUtils;
import java.security.PublicKey;
import java.security.interfaces.ECPublicKey;
import java.security.interfaces.RSAPublicKey;
import java.text.ParseException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import javax.crypto.SecretKey;
import org.jspecify.annotations.Nullable;

/** Keys that signatures are verified with. Immutable. */
final class Keys {
    static final Keys NONE = new Keys(List.of());

    private static final int RSA_BITS_MIN = 2_048;

    /**
     * @param id null = it has none
     * @param algorithm the only one it is made for; null = all of its kind
     */
    private record Key(
            @Nullable String id, @Nullable String algorithm, KeyKind kind, JWSVerifier verifier) {
        boolean verifies(Algorithm wanted) {
            return kind == wanted.kind() && (algorithm == null || algorithm.equals(wanted.id()));
        }
    }

    private final List<Key> keys;

    private Keys(List<Key> keys) {
        this.keys = List.copyOf(keys);
    }

    static Keys of(SecretKey secret) {
        try {
            return new Keys(List.of(new Key(null, null, KeyKind.SECRET, new MACVerifier(secret))));
        } catch (JOSEException e) {
            throw new IllegalArgumentException("the secret verifies nothing", e);
        }
    }

    /**
     * @throws IllegalArgumentException with a sentence, where it is none that tokens are signed for
     */
    static Keys of(PublicKey key) {
        return new Keys(List.of(key(key, null, null)));
    }

    private static Key key(PublicKey key, @Nullable String id, @Nullable String algorithm) {
        try {
            return switch (key) {
                case RSAPublicKey rsa when rsa.getModulus().bitLength() < RSA_BITS_MIN ->
                        throw new IllegalArgumentException(
                                "an RSA key of at least %d bits, got one of %d"
                                        .formatted(RSA_BITS_MIN, rsa.getModulus().bitLength()));
                case RSAPublicKey rsa ->
                        new Key(id, algorithm, KeyKind.RSA, new RSASSAVerifier(rsa));
                case ECPublicKey ec -> new Key(id, algorithm, curve(ec), new ECDSAVerifier(ec));
                case PublicKey other when Ed25519.isKey(other) ->
                        new Key(id, algorithm, KeyKind.ED25519, new Ed25519(other));
                default ->
                        throw new IllegalArgumentException(
                                "a key of RSA, Ed25519, P-256 or P-384, got " + key.getAlgorithm());
            };
        } catch (JOSEException e) {
            throw new IllegalArgumentException("a key that verifies signatures", e);
        }
    }

    private static KeyKind curve(ECPublicKey key) {
        Curve curve = Curve.forECParameterSpec(key.getParams());
        if (Curve.P_256.equals(curve)) {
            return KeyKind.P256;
        }
        if (Curve.P_384.equals(curve)) {
            return KeyKind.P384;
        }
        throw new IllegalArgumentException("a key of P-256 or P-384, got " + curve);
    }

    /**
     * The usable keys of a published set: what is of another kind, for another use, too short or
     * malformed is passed over.
     *
     * @throws ParseException it is no set of keys
     */
    static Keys ofSet(String json) throws ParseException {
        List<Object> entries = JSONObjectUtils.getJSONArray(JSONObjectUtils.parse(json), "keys");
        if (entries == null) {
            throw new ParseException("it has no \"keys\"", 0);
        }
        List<Key> keys = new ArrayList<>();
        for (Object entry : entries) {
            if (entry instanceof Map<?, ?> members) {
                Map<String, Object> named = new HashMap<>();
                members.forEach((name, value) -> named.put(String.valueOf(name), value));
                published(named).ifPresent(keys::add);
            }
        }
        return new Keys(keys);
    }

    private static Optional<Key> published(Map<String, Object> entry) {
        try {
            JWK jwk = JWK.parse(entry);
            if (jwk.getKeyUse() != null && !jwk.getKeyUse().equals(KeyUse.SIGNATURE)) {
                return Optional.empty();
            }
            PublicKey key =
                    switch (jwk) {
                        case RSAKey rsa -> rsa.toRSAPublicKey();
                        case ECKey ec -> ec.toECPublicKey();
                        case OctetKeyPair pair when Curve.Ed25519.equals(pair.getCurve()) ->
                                Ed25519.key(pair.getDecodedX());
                        default -> null;
                    };
            String algorithm = jwk.getAlgorithm() == null ? null : jwk.getAlgorithm().getName();
            return Optional.ofNullable(key).map(k -> key(k, jwk.getKeyID(), algorithm));
        } catch (ParseException | JOSEException | IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    /** What verifies that algorithm: the key of this name; without a name, the first there is. */
    @Nullable JWSVerifier find(Algorithm algorithm, @Nullable String id) {
        for (Key key : keys) {
            if (key.verifies(algorithm) && (id == null || id.isEmpty() || id.equals(key.id))) {
                return key.verifier;
            }
        }
        return null;
    }

    /** Whether one of them verifies it. */
    boolean verifies(Algorithm algorithm) {
        return find(algorithm, null) != null;
    }

    int size() {
        return keys.size();
    }
}
