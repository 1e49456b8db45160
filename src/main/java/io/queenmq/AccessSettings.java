package io.queenmq;

import io.queenmq.access.AccessConfig;
import io.queenmq.access.Algorithm;
import io.queenmq.access.Role;
import io.queenmq.config.BadSetting;
import io.queenmq.config.JwtVariables;
import io.queenmq.config.Settings;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import javax.crypto.SecretKey;
import javax.crypto.spec.SecretKeySpec;

/** Which tokens the environment wants to be taken. */
final class AccessSettings {
    private AccessSettings() {}

    /**
     * Empty = no token is asked for; what is set is looked at all the same.
     *
     * @throws BadSetting naming the variable
     */
    static Optional<AccessConfig> of(Settings settings) {
        String choice = settings.get(JwtVariables.JWT_ALGORITHM);
        Set<Algorithm> algorithms = Algorithm.of(choice);
        AccessConfig config =
                new AccessConfig(
                        algorithms,
                        settings.find(JwtVariables.JWT_SECRET).map(AccessSettings::key),
                        settings.find(JwtVariables.JWT_PUBLIC_KEY),
                        keySet(settings),
                        Duration.ofSeconds(settings.get(JwtVariables.JWT_CLOCK_SKEW_SECONDS)),
                        settings.get(JwtVariables.JWT_REQUIRE_EXP),
                        settings.find(JwtVariables.JWT_ISSUER),
                        settings.find(JwtVariables.JWT_AUDIENCE),
                        settings.get(JwtVariables.JWT_ROLES_CLAIM),
                        settings.get(JwtVariables.JWT_ROLES_ARRAY_CLAIM),
                        Map.of(
                                Role.ADMIN, settings.get(JwtVariables.JWT_ROLE_ADMIN),
                                Role.READ_WRITE, settings.get(JwtVariables.JWT_ROLE_READ_WRITE),
                                Role.READ_ONLY, settings.get(JwtVariables.JWT_ROLE_READ_ONLY),
                                Role.WRITE_ONLY, settings.get(JwtVariables.JWT_ROLE_WRITE_ONLY)),
                        settings.get(JwtVariables.JWT_SKIP_PATHS));
        if (!settings.get(JwtVariables.JWT_ENABLED)) {
            return Optional.empty();
        }
        if (algorithms.stream().noneMatch(config::canVerify)) {
            throw nothingVerifies(config, choice);
        }
        return Optional.of(config);
    }

    private static SecretKey key(String secret) {
        return new SecretKeySpec(secret.getBytes(StandardCharsets.UTF_8), "HMAC");
    }

    private static Optional<AccessConfig.KeySet> keySet(Settings settings) {
        Duration refresh = Duration.ofSeconds(settings.get(JwtVariables.JWT_JWKS_REFRESH_SECONDS));
        Duration timeout = Duration.ofMillis(settings.get(JwtVariables.JWT_JWKS_TIMEOUT_MS));
        return settings.find(JwtVariables.JWT_JWKS_URL)
                .map(url -> new AccessConfig.KeySet(url, refresh, timeout));
    }

    private static BadSetting nothingVerifies(AccessConfig config, String choice) {
        int secretBytes =
                config.algorithms().stream().mapToInt(Algorithm::secretBytesMin).max().orElse(0);
        boolean secret = config.algorithms().stream().anyMatch(Algorithm::isSymmetric);
        boolean others = !config.algorithms().stream().allMatch(Algorithm::isSymmetric);
        if (secret && !others && config.secret().isPresent()) {
            return new BadSetting(
                    "JWT_SECRET must be at least %d bytes for %s, got %d"
                            .formatted(
                                    secretBytes,
                                    choice,
                                    config.secret().get().getEncoded().length));
        }
        if (others && config.publicKey().isPresent()) {
            return new BadSetting(
                    "JWT_PUBLIC_KEY must be a key for JWT_ALGORITHM %s, got one of %s"
                            .formatted(choice, config.publicKey().get().getAlgorithm()));
        }
        return new BadSetting(
                "%s must be set: JWT_ENABLED is true and JWT_ALGORITHM is %s"
                        .formatted(
                                secret
                                        ? others
                                                ? "JWT_SECRET, JWT_PUBLIC_KEY or JWT_JWKS_URL"
                                                : "JWT_SECRET"
                                        : "JWT_PUBLIC_KEY or JWT_JWKS_URL",
                                choice));
    }
}
