package io.queenmq.access;

import java.net.URI;
import java.security.PublicKey;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import javax.crypto.SecretKey;

/**
 * Which tokens are taken, and what they may say.
 *
 * @param algorithms those a token may be signed with
 * @param secret verifies the symmetric ones, and nothing else
 * @param publicKey verifies the others; wins over {@code keySet}
 * @param requireExpiry whether a token must end at some time
 * @param issuer what {@code iss} must be; empty = anything
 * @param audience what {@code aud} must be or contain; empty = anything
 * @param roleNames how tokens name each role
 * @param skipPaths paths that ask for no token; one that ends in a slash stands for all below it
 */
public record AccessConfig(
        Set<Algorithm> algorithms,
        Optional<SecretKey> secret,
        Optional<PublicKey> publicKey,
        Optional<KeySet> keySet,
        Duration clockSkew,
        boolean requireExpiry,
        Optional<String> issuer,
        Optional<String> audience,
        String roleClaim,
        String rolesClaim,
        Map<Role, String> roleNames,
        List<String> skipPaths) {

    /**
     * Keys that a server publishes.
     *
     * @param refresh from one fetch to the next: so long a withdrawn key may still be taken
     * @param timeout of one fetch
     */
    public record KeySet(URI url, Duration refresh, Duration timeout) {}

    public AccessConfig {
        algorithms = Set.copyOf(algorithms);
        roleNames = Map.copyOf(roleNames);
        skipPaths = List.copyOf(skipPaths);
    }

    /** Whether there is a key for it: what no key verifies is not taken at all. */
    public boolean canVerify(Algorithm algorithm) {
        if (algorithm.isSymmetric()) {
            return secret.filter(s -> s.getEncoded().length >= algorithm.secretBytesMin())
                    .isPresent();
        }
        return publicKey.map(key -> Keys.of(key).verifies(algorithm)).orElse(keySet.isPresent());
    }

    /** Nothing that is secret. */
    @Override
    public String toString() {
        return "AccessConfig" + algorithms;
    }
}
