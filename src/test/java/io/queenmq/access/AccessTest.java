package io.queenmq.access;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.AccessEnvironment;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.TokenKey;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which tokens are taken, against tokens that another implementation has signed. */
class AccessTest {
    private static final String SECRET =
            "a secret that has as many bytes as HS512 wants it to have: 64 or more";
    private static final TokenKey HMAC = TokenKey.secret(SECRET);
    private static final TokenKey RSA = TokenKey.rsa(2_048);
    private static final TokenKey ED25519 = TokenKey.ed25519();
    private static final TokenKey P256 = TokenKey.elliptic(256);
    private static final TokenKey P384 = TokenKey.elliptic(384);
    private static final String ADMIN = "{\"sub\":\"ada\",\"role\":\"admin\"}";

    private final Metrics metrics = new Metrics();
    private final MovableClock clock = new MovableClock();

    private Access access(String... pairs) {
        return Access.of(AccessEnvironment.of(pairs), metrics, clock);
    }

    private static String verdict(Access access, String authorization) {
        try {
            return access.admit(Level.READ_ONLY, "/x", authorization).roles().toString();
        } catch (QueenException e) {
            assertEquals(
                    e.detail().equals("Insufficient permissions")
                            ? Failure.FORBIDDEN
                            : Failure.UNAUTHENTICATED,
                    e.failure());
            return e.detail();
        }
    }

    /** What an operator chooses, and which algorithms pass. */
    @ParameterizedTest
    @Contract("access-5")
    @CsvSource(
            delimiter = '|',
            value = {
                "HS256 | HS256",
                "HS384 | HS384",
                "hs512 | HS512",
                "RS256 | RS256 RS384 RS512",
                "RS384 | RS256 RS384 RS512",
                "RS512 | RS256 RS384 RS512",
                "ES256 | ES256",
                "ES384 | ES384",
                "EdDSA | EdDSA",
            })
    void anAlgorithmIsTakenWhereItIsChosen(String choice, String taken) {
        for (String name : Algorithm.choices().subList(0, 9)) {
            TokenKey key =
                    switch (name.substring(0, 2)) {
                        case "HS" -> HMAC;
                        case "RS" -> RSA;
                        case "Ed" -> ED25519;
                        default -> name.equals("ES256") ? P256 : P384;
                    };
            boolean symmetric = choice.substring(0, 2).equalsIgnoreCase("HS");
            String chosen = taken.split(" ", -1)[0];
            TokenKey pasted =
                    switch (chosen) {
                        case "RS256" -> RSA;
                        case "EdDSA" -> ED25519;
                        default -> chosen.equals("ES256") ? P256 : P384;
                    };
            Access access =
                    symmetric
                            ? access("JWT_ALGORITHM", choice, "JWT_SECRET", SECRET)
                            : access("JWT_ALGORITHM", choice, "JWT_PUBLIC_KEY", pasted.pem());
            assertEquals(
                    Set.of(taken.split(" ", -1)).contains(name)
                            ? "[ADMIN]"
                            : "Unsupported token algorithm",
                    verdict(access, key.token(name, ADMIN)),
                    name);
        }
    }

    @Test
    @Contract("access-5")
    void autoTakesWhatThereIsAKeyForButNoEllipticCurve() {
        Access both =
                access("JWT_ALGORITHM", "auto", "JWT_SECRET", SECRET, "JWT_PUBLIC_KEY", RSA.pem());
        for (String name : new String[] {"HS256", "HS384", "HS512"}) {
            assertEquals("[ADMIN]", verdict(both, HMAC.token(name, ADMIN)));
        }
        for (String name : new String[] {"RS256", "RS384", "RS512"}) {
            assertEquals("[ADMIN]", verdict(both, RSA.token(name, ADMIN)));
        }
        assertEquals("Unsupported token algorithm", verdict(both, ED25519.token("EdDSA", ADMIN)));
        assertEquals("Unsupported token algorithm", verdict(both, P256.token("ES256", ADMIN)));
        Access pasted = access("JWT_ALGORITHM", "auto", "JWT_PUBLIC_KEY", ED25519.pem());
        assertEquals("[ADMIN]", verdict(pasted, ED25519.token("EdDSA", ADMIN)));
        assertEquals("Unsupported token algorithm", verdict(pasted, HMAC.token("HS256", ADMIN)));
    }

    /** Who has the public key, and everybody has, must not be able to sign with it. */
    @Test
    @Contract("access-6")
    void aPublicKeyIsNoSecret() {
        String pem = RSA.pem();
        Access access =
                access("JWT_ALGORITHM", "auto", "JWT_SECRET", SECRET, "JWT_PUBLIC_KEY", pem);
        for (String forged : new String[] {pem, pem.strip(), pem.replace("\n", "")}) {
            assertEquals(
                    "Invalid token signature",
                    verdict(access, TokenKey.secret(forged).token("HS256", ADMIN)));
        }
    }

    @Test
    @Contract("access-6")
    void whatIsNotSignedIsNotTaken() {
        Access access = access("JWT_ALGORITHM", "auto", "JWT_SECRET", SECRET);
        String claims = TokenKey.base64(ADMIN);
        for (String none : new String[] {"none", "None", "NONE", "HS1024", ""}) {
            String header = TokenKey.base64("{\"alg\":\"" + none + "\"}");
            for (String signature : new String[] {"", "AAAA"}) {
                assertEquals(
                        "Unsupported token algorithm",
                        verdict(access, header + '.' + claims + '.' + signature),
                        none);
            }
        }
        String good = HMAC.token("HS256", ADMIN);
        String unsigned = good.substring(0, good.lastIndexOf('.') + 1);
        assertEquals("Bad token header", verdict(access, unsigned));
        assertEquals("Invalid token signature", verdict(access, unsigned + "AAAA"));
        String other = HMAC.token("HS256", "{\"role\":\"read-only\"}");
        assertEquals(
                "Invalid token signature",
                verdict(access, unsigned + other.substring(other.lastIndexOf('.') + 1)));
        assertEquals(
                "Invalid token signature",
                verdict(access, TokenKey.secret("x" + SECRET).token("HS256", ADMIN)));
    }

    @Test
    void aSignatureOfAnotherKeyIsRefusedForEveryKind() {
        for (String name : new String[] {"RS256", "EdDSA", "ES256", "ES384"}) {
            TokenKey ours =
                    switch (name) {
                        case "RS256" -> RSA;
                        case "EdDSA" -> ED25519;
                        default -> name.equals("ES256") ? P256 : P384;
                    };
            TokenKey theirs =
                    switch (name) {
                        case "RS256" -> TokenKey.rsa(2_048);
                        case "EdDSA" -> TokenKey.ed25519();
                        default -> TokenKey.elliptic(name.equals("ES256") ? 256 : 384);
                    };
            Access access = access("JWT_ALGORITHM", name, "JWT_PUBLIC_KEY", ours.pem());
            assertEquals("Invalid token signature", verdict(access, theirs.token(name, ADMIN)));
            String good = ours.token(name, ADMIN);
            String cut = good.substring(0, good.length() - 8);
            assertEquals("Invalid token signature", verdict(access, cut), name);
            String nothing = good.substring(0, good.lastIndexOf('.') + 1) + "A".repeat(86);
            assertEquals("Invalid token signature", verdict(access, nothing), name);
            assertEquals("[ADMIN]", verdict(access, good));
        }
    }

    @Test
    @Contract("access-3")
    void takesTheTokenBehindItsSchemeOrOnItsOwn() {
        Access access = access("JWT_SECRET", SECRET);
        String token = HMAC.token("HS256", ADMIN);
        for (String scheme : new String[] {"", "Bearer ", "bearer ", "BEARER   "}) {
            assertEquals("[ADMIN]", verdict(access, scheme + token));
        }
        for (String missing : new String[] {"", "   "}) {
            assertEquals("Authentication required", verdict(access, missing));
        }
        String critical = "{\"alg\":\"HS256\",\"crit\":[\"b64\"],\"b64\":false}";
        for (String bad :
                new String[] {
                    "Basic dXNlcjpwYXNz",
                    "Bearer ",
                    "x",
                    "x.y",
                    "x.y.z",
                    token + ".x",
                    token + "=",
                    token + ", " + token,
                    TokenKey.base64("[]") + ".e30.x",
                    TokenKey.base64("{}") + ".e30.x",
                    HMAC.signed(critical, ADMIN),
                    "a".repeat(15_000) + ".b.c",
                }) {
            assertEquals("Bad token header", verdict(access, bad), bad);
        }
    }

    @Test
    @Contract("access-7")
    void looksAtTheClockEachTime() {
        Access access = access("JWT_SECRET", SECRET, "JWT_CLOCK_SKEW", "10");
        long now = clock.now().getEpochSecond();
        String begins = HMAC.token("HS256", claims("nbf", now + 20));
        String issued = HMAC.token("HS256", claims("iat", now + 20));
        String ends = HMAC.token("HS256", claims("exp", now + 20));
        assertEquals("Token not yet valid", verdict(access, begins));
        assertEquals("Token issued in the future", verdict(access, issued));
        assertEquals("[ADMIN]", verdict(access, ends));
        clock.forward(10);
        assertEquals("[ADMIN]", verdict(access, begins));
        assertEquals("[ADMIN]", verdict(access, issued));
        clock.forward(20);
        assertEquals("[ADMIN]", verdict(access, ends));
        clock.forward(1);
        assertEquals("Token has expired", verdict(access, ends));
        clock.forward(1_000_000_000);
        assertEquals("[ADMIN]", verdict(access, HMAC.token("HS256", ADMIN)));
    }

    private static String claims(String name, long seconds) {
        return "{\"role\":\"admin\",\"%s\":%d}".formatted(name, seconds);
    }

    @Test
    @Contract("access-7")
    void aTokenThatHoldsForEverCanBeRefused() {
        Access access = access("JWT_SECRET", SECRET, "JWT_REQUIRE_EXP", "true");
        assertEquals("Token has no expiry", verdict(access, HMAC.token("HS256", ADMIN)));
        long now = clock.now().getEpochSecond();
        assertEquals("[ADMIN]", verdict(access, HMAC.token("HS256", claims("exp", now))));
    }

    @ParameterizedTest
    @Contract("access-8")
    @CsvSource(
            delimiter = '|',
            value = {
                "\"iss\":\"i\",\"aud\":\"a\" | [ADMIN]",
                "\"iss\":\"i\",\"aud\":[\"b\",\"a\"] | [ADMIN]",
                "\"iss\":\"i\",\"aud\":[\"b\"] | Invalid token audience",
                "\"iss\":\"i\",\"aud\":\"ab\" | Invalid token audience",
                "\"iss\":\"i\" | Invalid token audience",
                "\"iss\":\"I\",\"aud\":\"a\" | Invalid token issuer",
                "\"iss\":[\"i\"],\"aud\":\"a\" | Invalid token issuer",
                "\"aud\":\"a\" | Invalid token issuer",
            })
    void issuerAndAudienceMustBeTheOnesExpected(String claims, String verdict) {
        Access access = access("JWT_SECRET", SECRET, "JWT_ISSUER", "i", "JWT_AUDIENCE", "a");
        String token = HMAC.token("HS256", "{\"role\":\"admin\"," + claims + "}");
        assertEquals(verdict, verdict(access, token));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{\"role\":\"admin\",\"exp\":\"1\"}",
                "{\"role\":\"admin\",\"nbf\":true}",
                "{\"role\":\"admin\",\"iat\":[1]}",
                "{\"role\":\"admin\",\"sub\":7}",
                "{\"role\":\"admin\",\"sub\":\"a\\u0000b\"}",
                "{\"role\":\"admin\",\"sub\":\"\\ud800\"}",
                "[\"admin\"]",
                "7",
                "no JSON",
            })
    void claimsThatCannotBeReadAreRefused(String claims) {
        Access access = access("JWT_SECRET", SECRET);
        assertEquals("Invalid token claims", verdict(access, HMAC.token("HS256", claims)));
    }

    @ParameterizedTest
    @Contract("access-9")
    @CsvSource(
            delimiter = '|',
            value = {
                "\"role\":\"admin\" | ADMIN",
                "\"roles\":[\"read-write\",\"read-only\"] | READ_WRITE READ_ONLY",
                "\"role\":\"write-only\",\"roles\":[\"read-only\"] | READ_ONLY WRITE_ONLY",
                "\"roles\":[\"someone\",7,null,[\"admin\"]] | ",
                "\"role\":\"Admin\" | ",
                "\"role\":[\"admin\"] | ",
                "\"roles\":\"admin\" | ",
                "\"realm\":{\"role\":\"admin\"} | ",
                "\"sub\":\"ada\" | ",
            })
    void rolesAreASetFromOneClaimOrAnArray(String claims, String roles) {
        Access access = access("JWT_SECRET", SECRET);
        Set<Role> wanted = EnumSet.noneOf(Role.class);
        for (String role : roles == null ? new String[0] : roles.split(" ", -1)) {
            wanted.add(Role.valueOf(role));
        }
        String token = HMAC.token("HS256", "{" + claims + "}");
        assertEquals(wanted, access.identify("Bearer " + token).orElseThrow().roles());
    }

    @Test
    @Contract("access-9")
    void rolesAndTheirClaimsCanBeNamedOtherwise() {
        Access access =
                access(
                        "JWT_SECRET", SECRET,
                        "JWT_ROLES_CLAIM", "r",
                        "JWT_ROLES_ARRAY_CLAIM", "groups",
                        "JWT_ROLE_ADMIN", "ops",
                        "JWT_ROLE_READ_WRITE", "app",
                        "JWT_ROLE_READ_ONLY", "eye",
                        "JWT_ROLE_WRITE_ONLY", "pen");
        assertEquals("[ADMIN]", verdict(access, HMAC.token("HS256", "{\"r\":\"ops\"}")));
        String all = "{\"groups\":[\"app\",\"eye\",\"pen\"]}";
        assertEquals(
                Set.of(Role.READ_WRITE, Role.READ_ONLY, Role.WRITE_ONLY),
                access.identify(HMAC.token("HS256", all)).orElseThrow().roles());
        assertEquals("Insufficient permissions", verdict(access, HMAC.token("HS256", ADMIN)));
    }

    /** Every level against every set of roles. */
    @Test
    @Contract("access-1")
    void rolesPassWhatTheirLevelSays() {
        Map<Level, Set<Role>> one =
                Map.of(
                        Level.READ_ONLY, Set.of(Role.READ_ONLY, Role.READ_WRITE, Role.ADMIN),
                        Level.WRITE_ONLY, Set.of(Role.WRITE_ONLY, Role.READ_WRITE, Role.ADMIN),
                        Level.READ_WRITE, Set.of(Role.READ_WRITE, Role.ADMIN),
                        Level.ADMIN, Set.of(Role.ADMIN));
        List<Role> each = List.of(Role.ADMIN, Role.READ_WRITE, Role.READ_ONLY, Role.WRITE_ONLY);
        for (int bits = 0; bits < 16; bits++) {
            Set<Role> roles = EnumSet.noneOf(Role.class);
            for (int i = 0; i < 4; i++) {
                if ((bits & (1 << i)) != 0) {
                    roles.add(each.get(i));
                }
            }
            assertTrue(Level.PUBLIC.admits(roles));
            one.forEach(
                    (level, passing) ->
                            assertEquals(
                                    roles.stream().anyMatch(passing::contains),
                                    level.admits(roles),
                                    level + " " + roles));
        }
    }

    @Test
    @Contract("access-4")
    void pathsThatAreSkippedAskForNothing() {
        Access access = access("JWT_SECRET", SECRET, "JWT_SKIP_PATHS", "/a, /b/ ,/");
        for (String open : new String[] {"/a", "/b/", "/b/c/d", "/"}) {
            assertEquals(Set.of(), access.admit(Level.ADMIN, open, "").roles());
        }
        for (String closed : new String[] {"/a/", "/ab", "/b", "/c", "/A", "/%61"}) {
            assertThrows(QueenException.class, () -> access.admit(Level.ADMIN, closed, ""), closed);
        }
        Access none = access("JWT_SECRET", SECRET, "JWT_SKIP_PATHS", "");
        assertThrows(QueenException.class, () -> none.admit(Level.READ_ONLY, "/", ""));
    }

    @Test
    void countsWhyTokensAreRefused() {
        Access access = access("JWT_SECRET", SECRET);
        verdict(access, "");
        verdict(access, "x");
        verdict(access, HMAC.token("HS384", ADMIN));
        verdict(access, HMAC.token("HS256", "{\"role\":\"write-only\"}"));
        for (String reason : new String[] {"missing", "malformed", "algorithm"}) {
            assertEquals(1, metrics.value("queen_access_refused_total", "reason", reason));
        }
        assertEquals(1, metrics.value("queen_access_forbidden_total"));
        assertEquals(3, metrics.value("queen_access_refused_total"));
    }
}
