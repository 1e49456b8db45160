package io.queenmq.config;

import io.queenmq.db.Tls;
import io.queenmq.db.TlsPem;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.function.UnaryOperator;

/** The settings of the encryption between broker and PostgreSQL. */
public final class TlsVariables {
    public static final Variable<Boolean> USE_SSL =
            Variable.flag("PG_USE_SSL", "Whether connections to PostgreSQL are encrypted.")
                    .computed(
                            "false",
                            settings ->
                                    Optional.of(
                                            word(settings)
                                                    .filter(m -> m != Tls.Mode.DISABLE)
                                                    .isPresent()),
                            TlsVariables::ofWord);
    public static final Variable<Boolean> REJECT_UNAUTHORIZED =
            Variable.flag(
                            "PG_SSL_REJECT_UNAUTHORIZED",
                            "Whether the server must then prove that it is the one: true is the mode"
                                    + " `verify-full`, false `require`; beside `PG_SSL_ROOT_CERT` it"
                                    + " must, whatever stands here.")
                    .computed(
                            "true",
                            settings ->
                                    Optional.of(
                                            word(settings).map(Tls.Mode::verifies).orElse(true)),
                            TlsVariables::ofWord);
    public static final Variable<String> SSL_MODE =
            Variable.choice(
                            "PG_SSL_MODE",
                            "disable",
                            List.of("disable", "prefer", "require", "verify-ca", "verify-full"),
                            "The same as one word, with the meaning it has in PostgreSQL. `prefer` and"
                                    + " `require` keep out who listens, not who answers in the"
                                    + " server's place; `verify-ca` takes any host that the"
                                    + " authority vouches for.")
                    .computed(
                            "what the two above say",
                            settings -> Optional.of(ofFlags(settings).word()),
                            _ ->
                                    "computed from PG_USE_SSL, PG_SSL_REJECT_UNAUTHORIZED and"
                                            + " PG_SSL_ROOT_CERT");
    public static final Variable<String> ROOT_CERT =
            Variable.of(
                    "PG_SSL_ROOT_CERT",
                    Optional.empty(),
                    "the authorities that Java trusts",
                    "certificates in PEM, or the file that holds them",
                    "The authorities one of which must vouch for the server.",
                    text -> pem(text, TlsPem::certificates));
    public static final Variable<String> CERT =
            Variable.of(
                    "PG_SSL_CERT",
                    Optional.empty(),
                    "none",
                    "a certificate in PEM, with those between it and its authority, or the file that"
                            + " holds them",
                    "What the broker shows to a server that asks for a certificate.",
                    text -> pem(text, TlsPem::certificates));
    public static final Variable<String> KEY =
            Variable.secret(
                    "PG_SSL_KEY",
                    "a private key in PEM (PKCS #8, without a password), or the file that holds it",
                    "The key of that certificate.",
                    text -> pem(text, TlsPem::privateKey));

    /** All of them, in the order of the manual. */
    static final List<Variable<?>> ALL =
            List.of(USE_SSL, REJECT_UNAUTHORIZED, SSL_MODE, ROOT_CERT, CERT, KEY);

    private TlsVariables() {}

    private static Optional<Tls.Mode> word(Settings settings) {
        return settings.find(SSL_MODE).map(Tls.Mode::of);
    }

    private static String ofWord(Settings settings) {
        return word(settings)
                .map(mode -> "as PG_SSL_MODE is " + mode.word())
                .orElse("PG_SSL_MODE is not set");
    }

    private static Tls.Mode ofFlags(Settings settings) {
        // Who names an authority wants it asked, whatever else was left in a deployment.
        boolean verifies =
                settings.find(REJECT_UNAUTHORIZED).orElse(true)
                        || settings.find(ROOT_CERT).isPresent();
        return !settings.find(USE_SSL).orElse(false)
                ? Tls.Mode.DISABLE
                : verifies ? Tls.Mode.VERIFY_FULL : Tls.Mode.REQUIRE;
    }

    /** The PEM itself, from a file where the text names one. */
    private static Optional<String> pem(String text, UnaryOperator<String> check) {
        if (text.contains(TlsPem.BEGINS)) {
            return Optional.of(check.apply(text.replace("\\n", "\n")));
        }
        try {
            return Optional.of(check.apply(Files.readString(Path.of(text.strip()))));
        } catch (NoSuchFileException | InvalidPathException e) {
            throw new IllegalArgumentException("the name of a file that is not there", e);
        } catch (IOException e) {
            throw new IllegalArgumentException("the name of a file that cannot be read", e);
        }
    }
}
