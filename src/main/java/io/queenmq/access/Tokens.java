package io.queenmq.access;

import com.nimbusds.jose.Header;
import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JOSEObject;
import com.nimbusds.jose.JWSObject;
import com.nimbusds.jose.JWSVerifier;
import com.nimbusds.jose.util.Base64URL;
import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.text.ParseException;
import java.util.EnumMap;
import java.util.EnumSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Verifies tokens. What may be asked of a key is settled by configuration before a token is looked
 * at: a token chooses among algorithms, and a key verifies those of its kind alone, so that public
 * key material is never taken for a secret. Any thread.
 */
final class Tokens implements AutoCloseable {
    private static final Pattern COMPACT =
            Pattern.compile("[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]*\\.[A-Za-z0-9_-]*");

    private final AccessConfig config;
    private final Clock clock;
    private final Set<Algorithm> algorithms = EnumSet.noneOf(Algorithm.class);
    private final Keys secret;
    private final Keys publicKey;
    private final @Nullable Jwks published;
    private final VerifiedTokens verified = new VerifiedTokens();
    private final Map<Refusal, Counter> refused = new EnumMap<>(Refusal.class);

    Tokens(AccessConfig config, Metrics metrics, Clock clock) {
        this.config = config;
        this.clock = clock;
        this.secret = config.secret().map(Keys::of).orElse(Keys.NONE);
        this.publicKey = config.publicKey().map(Keys::of).orElse(Keys.NONE);
        for (Algorithm algorithm : config.algorithms()) {
            if (config.canVerify(algorithm)) {
                algorithms.add(algorithm);
            }
        }
        for (Refusal refusal : Refusal.values()) {
            refused.put(
                    refusal,
                    metrics.counter(
                            "queen_access_refused_total",
                            "Requests without a token that is taken.",
                            "reason",
                            refusal.reason()));
        }
        this.published =
                config.publicKey().isPresent()
                        ? null
                        : config.keySet().map(set -> new Jwks(set, metrics, clock)).orElse(null);
    }

    /**
     * Whose token it is.
     *
     * @param token empty = there is none
     * @throws QueenException {@code UNAUTHENTICATED}: what is wrong with it
     */
    Identity identify(String token) {
        try {
            if (token.isEmpty()) {
                throw new Unverified(Refusal.MISSING);
            }
            Keys keys = known();
            VerifiedTokens.Digest digest = VerifiedTokens.digest(token);
            Claims claims = verified.find(digest, keys);
            if (claims == null) {
                Signed signed = parse(token);
                if (published != null && key(signed, keys) == null) {
                    keys = published.renewed(keys);
                }
                claims = verify(signed, key(signed, keys));
                verified.put(digest, keys, claims);
            }
            return claims.at(clock.now(), config.clockSkew());
        } catch (Unverified e) {
            count(e.refusal());
            throw new QueenException(Failure.UNAUTHENTICATED, e.refusal().sentence());
        }
    }

    private void count(Refusal refusal) {
        Counter counter = refused.get(refusal);
        if (counter != null) {
            counter.increment();
        }
    }

    /** A token that is taken for what it says it is, until its signature is looked at. */
    private record Signed(JWSObject token, Algorithm algorithm) {}

    /** A verdict on a token holds as long as these. */
    private Keys known() {
        return published == null ? Keys.NONE : published.now();
    }

    private Signed parse(String token) throws Unverified {
        if (!COMPACT.matcher(token).matches()) {
            throw new Unverified(Refusal.MALFORMED);
        }
        try {
            Base64URL[] parts = JOSEObject.split(token);
            Optional<Algorithm> algorithm =
                    Algorithm.named(Header.parse(parts[0]).getAlgorithm().getName())
                            .filter(algorithms::contains);
            if (algorithm.isEmpty()) {
                throw new Unverified(Refusal.ALGORITHM);
            }
            JWSObject object = new JWSObject(parts[0], parts[1], parts[2]);
            if (object.getHeader().getCriticalParams() != null) {
                throw new Unverified(Refusal.MALFORMED);
            }
            return new Signed(object, algorithm.get());
        } catch (ParseException | IllegalArgumentException e) {
            throw new Unverified(Refusal.MALFORMED);
        }
    }

    /** The key that would have signed it; null = unknown. */
    private @Nullable JWSVerifier key(Signed signed, Keys keys) {
        Algorithm algorithm = signed.algorithm();
        if (algorithm.isSymmetric()) {
            return secret.find(algorithm, null);
        }
        return published == null
                ? publicKey.find(algorithm, null)
                : keys.find(algorithm, signed.token().getHeader().getKeyID());
    }

    private Claims verify(Signed signed, @Nullable JWSVerifier key) throws Unverified {
        if (key == null) {
            throw new Unverified(Refusal.KEY);
        }
        if (!isSignedBy(key, signed.token())) {
            throw new Unverified(Refusal.SIGNATURE);
        }
        Map<String, Object> json = signed.token().getPayload().toJSONObject();
        if (json == null) {
            throw new Unverified(Refusal.CLAIMS);
        }
        return Claims.of(json, config);
    }

    private static boolean isSignedBy(JWSVerifier key, JWSObject token) {
        try {
            return token.verify(key);
        } catch (JOSEException e) {
            return false;
        }
    }

    @Override
    public void close() {
        if (published != null) {
            published.close();
        }
    }
}
