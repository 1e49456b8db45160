package io.queenmq.config;

import io.queenmq.access.Algorithm;
import io.queenmq.access.PublicKeyPem;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.security.PublicKey;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;

/** The environment variables of tokens. */
public final class JwtVariables {
    private static final int SECRET_BYTES_MIN = 32;
    private static final String PEM_BEGINS = "-----BEGIN";

    private static final List<String> SKIP_PATHS_DEFAULT =
            List.of("/health", "/metrics/prometheus", "/metrics", "/");

    public static final Variable<Boolean> JWT_ENABLED =
            Variable.flag(
                    "JWT_ENABLED",
                    Optional.of(false),
                    "false",
                    "Whether callers must show a token. Where they need not, everybody who reaches the"
                            + " port may do everything.");
    public static final Variable<String> JWT_ALGORITHM =
            Variable.choice(
                    "JWT_ALGORITHM",
                    "HS256",
                    Algorithm.choices(),
                    "How tokens are signed. One of RSA's stands for all three; `auto` for all but"
                            + " ES256 and ES384, as far as there is a key.");
    public static final Variable<String> JWT_SECRET =
            Variable.secret(
                    "JWT_SECRET",
                    "at least 32 bytes (48 for HS384, 64 for HS512), and no PEM",
                    "What HS256, HS384 and HS512 are signed with. The same on every broker.",
                    JwtVariables::secret);
    public static final Variable<PublicKey> JWT_PUBLIC_KEY =
            Variable.secret(
                    "JWT_PUBLIC_KEY",
                    "a public key of RSA (2,048 bits or more), Ed25519, P-256 or P-384 in PEM, or its"
                            + " certificate",
                    "What the other algorithms are verified with, whatever key a token names; the key"
                            + " itself, not a file, and line ends may be written as `\\n`.",
                    PublicKeyPem::parse);
    public static final Variable<URI> JWT_JWKS_URL =
            Variable.of(
                    "JWT_JWKS_URL",
                    Optional.empty(),
                    "none",
                    "an http or https URL without a user",
                    "Where the keys for them are published, as a JSON Web Key Set. Without effect"
                            + " beside `JWT_PUBLIC_KEY`. A query in it is not shown.",
                    JwtVariables::url);
    public static final Variable<Long> JWT_JWKS_REFRESH_SECONDS =
            Variable.number(
                    "JWT_JWKS_REFRESH_INTERVAL",
                    3_600,
                    10,
                    86_400,
                    "s",
                    "From one fetch of these keys to the next: so long a withdrawn key may still be"
                            + " taken. A key that is not known is looked for at once, at most every 5"
                            + " s.");
    public static final Variable<Long> JWT_JWKS_TIMEOUT_MS =
            Variable.number(
                    "JWT_JWKS_TIMEOUT_MS",
                    5_000,
                    100,
                    60_000,
                    "ms",
                    "How long a fetch may take, and so the start while that server is away.");
    public static final Variable<String> JWT_ISSUER =
            Variable.text(
                    "JWT_ISSUER",
                    Optional.empty(),
                    "none",
                    "What `iss` of a token must be; not set, it is not looked at.");
    public static final Variable<String> JWT_AUDIENCE =
            Variable.text(
                    "JWT_AUDIENCE",
                    Optional.empty(),
                    "none",
                    "What `aud` of a token must be or contain; not set, it is not looked at.");
    public static final Variable<Long> JWT_CLOCK_SKEW_SECONDS =
            Variable.number(
                    "JWT_CLOCK_SKEW",
                    30,
                    0,
                    3_600,
                    "s",
                    "How far the clocks of issuers may be off: `exp`, `nbf` and `iat` are taken that"
                            + " much too late or too early.");
    public static final Variable<Boolean> JWT_REQUIRE_EXP =
            Variable.flag(
                    "JWT_REQUIRE_EXP",
                    Optional.of(false),
                    "false",
                    "Whether a token without `exp`, which holds for ever, is refused.");
    public static final Variable<List<String>> JWT_SKIP_PATHS =
            Variable.of(
                            "JWT_SKIP_PATHS",
                            Optional.of(SKIP_PATHS_DEFAULT),
                            String.join(",", SKIP_PATHS_DEFAULT),
                            "paths that begin with a slash, separated by commas",
                            "Paths that ask for no token, as they stand on the wire; one that ends in a"
                                    + " slash stands for all below it. Set and empty: none.",
                            JwtVariables::paths)
                    .orEmpty();
    public static final Variable<String> JWT_ROLES_CLAIM =
            Variable.text(
                    "JWT_ROLES_CLAIM",
                    Optional.of("role"),
                    "role",
                    "Claim of a token that is the name of a role.");
    public static final Variable<String> JWT_ROLES_ARRAY_CLAIM =
            Variable.text(
                    "JWT_ROLES_ARRAY_CLAIM",
                    Optional.of("roles"),
                    "roles",
                    "Claim that is an array of such names.");
    public static final Variable<String> JWT_ROLE_ADMIN =
            Variable.text(
                    "JWT_ROLE_ADMIN",
                    Optional.of("admin"),
                    "admin",
                    "Name of the role that may do everything.");
    public static final Variable<String> JWT_ROLE_READ_WRITE =
            Variable.text(
                    "JWT_ROLE_READ_WRITE",
                    Optional.of("read-write"),
                    "read-write",
                    "Name of the role of producers and consumers.");
    public static final Variable<String> JWT_ROLE_READ_ONLY =
            Variable.text(
                    "JWT_ROLE_READ_ONLY",
                    Optional.of("read-only"),
                    "read-only",
                    "Name of the role that looks and takes nothing.");
    public static final Variable<String> JWT_ROLE_WRITE_ONLY =
            Variable.text(
                    "JWT_ROLE_WRITE_ONLY",
                    Optional.of("write-only"),
                    "write-only",
                    "Name of the role that produces and sees nothing.");

    /** All of them, in the order of the manual. */
    static final List<Variable<?>> ALL =
            List.of(
                    JWT_ENABLED,
                    JWT_ALGORITHM,
                    JWT_SECRET,
                    JWT_PUBLIC_KEY,
                    JWT_JWKS_URL,
                    JWT_JWKS_REFRESH_SECONDS,
                    JWT_JWKS_TIMEOUT_MS,
                    JWT_ISSUER,
                    JWT_AUDIENCE,
                    JWT_CLOCK_SKEW_SECONDS,
                    JWT_REQUIRE_EXP,
                    JWT_SKIP_PATHS,
                    JWT_ROLES_CLAIM,
                    JWT_ROLES_ARRAY_CLAIM,
                    JWT_ROLE_ADMIN,
                    JWT_ROLE_READ_WRITE,
                    JWT_ROLE_READ_ONLY,
                    JWT_ROLE_WRITE_ONLY);

    private JwtVariables() {}

    // A PEM is public where signatures are verified with it: as a secret it would be none.
    private static Optional<String> secret(String text) {
        return Optional.of(text)
                .filter(s -> s.getBytes(StandardCharsets.UTF_8).length >= SECRET_BYTES_MIN)
                .filter(s -> !s.contains(PEM_BEGINS));
    }

    private static Optional<URI> url(String text) {
        try {
            URI url = URI.create(text.strip());
            boolean http = "https".equals(url.getScheme()) || "http".equals(url.getScheme());
            // A password in it would be shown wherever the address is.
            return http && url.getHost() != null && url.getUserInfo() == null
                    ? Optional.of(url)
                    : Optional.empty();
        } catch (IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    private static Optional<List<String>> paths(String text) {
        List<String> paths =
                Arrays.stream(text.split(",", -1))
                        .map(String::strip)
                        .filter(p -> !p.isEmpty())
                        .toList();
        return paths.stream().allMatch(p -> p.startsWith("/"))
                ? Optional.of(paths)
                : Optional.empty();
    }
}
