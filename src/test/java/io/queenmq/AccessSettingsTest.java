package io.queenmq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.access.AccessConfig;
import io.queenmq.access.Role;
import io.queenmq.config.BadSetting;
import io.queenmq.config.Settings;
import io.queenmq.testkit.TokenKey;
import java.net.URI;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AccessSettingsTest {
    private static final TokenKey RSA = TokenKey.rsa(2_048);

    private static AccessConfig config(String... pairs) {
        return AccessEnvironment.of(pairs).orElseThrow();
    }

    private static String refusal(String... pairs) {
        BadSetting refusal = assertThrows(BadSetting.class, () -> AccessEnvironment.of(pairs));
        return String.valueOf(refusal.getMessage());
    }

    @Test
    void isOffUnlessItIsSwitchedOnButNeverWithABadValue() {
        assertEquals(Optional.empty(), AccessSettings.of(Settings.of(Map.of())));
        Settings bad = Settings.of(Map.of("JWT_CLOCK_SKEW", "-1"));
        assertEquals(
                "JWT_CLOCK_SKEW must be a whole number from 0 to 3600 s, got \"-1\"",
                assertThrows(BadSetting.class, () -> AccessSettings.of(bad)).getMessage());
    }

    @Test
    void mapsEverySetting() {
        AccessConfig config =
                config(
                        "JWT_ALGORITHM", "rs512",
                        "JWT_JWKS_URL", "https://keys.example/set",
                        "JWT_JWKS_REFRESH_INTERVAL", "11",
                        "JWT_JWKS_TIMEOUT_MS", "200",
                        "JWT_ISSUER", "i",
                        "JWT_AUDIENCE", "a",
                        "JWT_CLOCK_SKEW", "3",
                        "JWT_REQUIRE_EXP", "1",
                        "JWT_SKIP_PATHS", "/x,/y/",
                        "JWT_ROLES_CLAIM", "r",
                        "JWT_ROLES_ARRAY_CLAIM", "rs",
                        "JWT_ROLE_WRITE_ONLY", "pen");
        assertEquals(
                Optional.of(
                        new AccessConfig.KeySet(
                                URI.create("https://keys.example/set"),
                                Duration.ofSeconds(11),
                                Duration.ofMillis(200))),
                config.keySet());
        assertEquals(Optional.of("i"), config.issuer());
        assertEquals(Optional.of("a"), config.audience());
        assertEquals(Duration.ofSeconds(3), config.clockSkew());
        assertTrue(config.requireExpiry());
        assertEquals(List.of("/x", "/y/"), config.skipPaths());
        assertEquals("r rs", config.roleClaim() + ' ' + config.rolesClaim());
        assertEquals("pen", config.roleNames().get(Role.WRITE_ONLY));
        assertEquals("read-only", config.roleNames().get(Role.READ_ONLY));
    }

    /** A broker that can verify nothing would refuse everybody, or worse. */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "HS256 | JWT_SECRET",
                "HS512 | JWT_SECRET",
                "RS256 | JWT_PUBLIC_KEY or JWT_JWKS_URL",
                "EdDSA | JWT_PUBLIC_KEY or JWT_JWKS_URL",
                "ES384 | JWT_PUBLIC_KEY or JWT_JWKS_URL",
                "auto | JWT_SECRET, JWT_PUBLIC_KEY or JWT_JWKS_URL",
            })
    void doesNotStartWithoutAKey(String algorithm, String missing) {
        assertEquals(
                missing + " must be set: JWT_ENABLED is true and JWT_ALGORITHM is " + algorithm,
                refusal("JWT_ALGORITHM", algorithm));
    }

    @Test
    void aSecretIsLongEnoughAndNoKeyThatIsPublic() {
        String range =
                "JWT_SECRET must be at least 32 bytes (48 for HS384, 64 for HS512), and no PEM";
        assertEquals(
                range + ", got a value of 31 characters", refusal("JWT_SECRET", "x".repeat(31)));
        assertTrue(refusal("JWT_SECRET", RSA.pem()).startsWith(range));
        assertEquals(
                "JWT_SECRET must be at least 48 bytes for HS384, got 32",
                refusal("JWT_ALGORITHM", "HS384", "JWT_SECRET", "x".repeat(32)));
        assertFalse(config("JWT_SECRET", "y".repeat(32)).toString().contains("y"));
    }

    @Test
    void aPublicKeyIsOneOfTheKindThatIsAskedFor() {
        String range =
                "JWT_PUBLIC_KEY must be a public key of RSA (2,048 bits or more), Ed25519, P-256 or"
                        + " P-384 in PEM, or its certificate, got a value of ";
        for (String bad :
                new String[] {
                    "x",
                    "/etc/key.pem",
                    RSA.pem().replace("PUBLIC", "PRIVATE"),
                    RSA.pem().replace("MII", "MIJ"),
                    RSA.pem() + RSA.pem(),
                    TokenKey.rsa(1_024).pem(),
                    TokenKey.elliptic(521).pem(),
                }) {
            String refusal = refusal("JWT_ALGORITHM", "RS256", "JWT_PUBLIC_KEY", bad);
            assertEquals(range + bad.length() + " characters", refusal);
        }
        assertEquals(
                "JWT_PUBLIC_KEY must be a key for JWT_ALGORITHM EdDSA, got one of RSA",
                refusal("JWT_ALGORITHM", "EdDSA", "JWT_PUBLIC_KEY", RSA.pem()));
    }

    @Test
    void aPublicKeyIsReadAsPeoplePasteIt() {
        Object key = config("JWT_ALGORITHM", "RS256", "JWT_PUBLIC_KEY", RSA.pem()).publicKey();
        for (String spelling :
                new String[] {
                    RSA.pem().replace("\n", "\\n"),
                    RSA.pem().replace("\n", "\r\n"),
                    "  " + RSA.pem().strip(),
                    RSA.pkcs1Pem(),
                }) {
            assertEquals(
                    key, config("JWT_ALGORITHM", "RS256", "JWT_PUBLIC_KEY", spelling).publicKey());
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "https://u:p@x/y",
                "https://p@x/y",
                "https://u:p/q@x/y",
                "https://u:p?q@x/y",
                "u:p@x/y",
                "ftp://x/y?token=p"
            })
    void whatMayBeAPasswordInAnAddressIsNotRepeated(String url) {
        assertEquals(
                "JWT_JWKS_URL must be an http or https URL without a user, got a value of "
                        + url.length()
                        + " characters",
                refusal("JWT_JWKS_URL", url));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "JWT_ALGORITHM | none | HS256 or HS384 or HS512 or RS256 or RS384 or RS512 or ES256 or ES384 or EdDSA or auto",
                "JWT_ALGORITHM | HS1 | HS256 or HS384 or HS512 or RS256 or RS384 or RS512 or ES256 or ES384 or EdDSA or auto",
                "JWT_JWKS_URL | ftp://x/y | an http or https URL without a user",
                "JWT_JWKS_URL | keys.example | an http or https URL without a user",
                "JWT_JWKS_URL | http:///x y | an http or https URL without a user",
                "JWT_JWKS_REFRESH_INTERVAL | 1 | a whole number from 10 to 86400 s",
                "JWT_JWKS_TIMEOUT_MS | 0 | a whole number from 100 to 60000 ms",
                "JWT_SKIP_PATHS | a | paths that begin with a slash, separated by commas",
                "JWT_ENABLED | maybe | true or false, yes or no, on or off, 1 or 0",
            })
    void aBadValueNamesItselfAndItsRange(String name, String value, String range) {
        assertEquals(
                name + " must be " + range + ", got \"" + value + '"',
                refusal("JWT_SECRET", "x".repeat(32), name, value));
    }
}
