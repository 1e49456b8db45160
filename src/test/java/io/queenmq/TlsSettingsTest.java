package io.queenmq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.queenmq.config.BadSetting;
import io.queenmq.config.Settings;
import io.queenmq.db.Tls;
import io.queenmq.testkit.Certificates;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class TlsSettingsTest {
    private static Certificates made;

    @BeforeAll
    static void make() throws IOException, InterruptedException, GeneralSecurityException {
        made = Certificates.of("broker", "");
    }

    private static Tls of(String... pairs) {
        Map<String, String> environment = new HashMap<>();
        for (int i = 0; i < pairs.length; i += 2) {
            environment.put(pairs[i], pairs[i + 1]);
        }
        return TlsSettings.of(Settings.of(environment));
    }

    private static String refusal(String... pairs) {
        return String.valueOf(assertThrows(BadSetting.class, () -> of(pairs)).getMessage());
    }

    @Test
    void twoFlagsOrAWordSayTheMode() {
        assertEquals(Tls.NONE, of());
        assertEquals(Tls.NONE, of("PG_USE_SSL", "no", "PG_SSL_REJECT_UNAUTHORIZED", "true"));
        assertEquals(Tls.Mode.VERIFY_FULL, of("PG_USE_SSL", "on").mode());
        assertEquals(
                Tls.Mode.REQUIRE,
                of("PG_USE_SSL", "on", "PG_SSL_REJECT_UNAUTHORIZED", "off").mode());
        for (Tls.Mode mode : Tls.Mode.values()) {
            assertEquals(mode, of("PG_SSL_MODE", mode.word()).mode());
        }
    }

    /** Or a deployment that names both is less safe than it was with other versions of Queen. */
    @Test
    void whoNamesAnAuthorityHasTheServerVerified() {
        for (String strict : new String[] {"true", "false"}) {
            Tls tls =
                    of(
                            "PG_USE_SSL",
                            "on",
                            "PG_SSL_REJECT_UNAUTHORIZED",
                            strict,
                            "PG_SSL_ROOT_CERT",
                            made.certificate());
            assertEquals(Tls.Mode.VERIFY_FULL, tls.mode());
            assertEquals(Optional.of(made.certificate()), tls.authorities());
        }
    }

    @Test
    void whatContradictsItselfIsRefused() {
        assertEquals(
                "PG_SSL_MODE is require and PG_USE_SSL is false: set one of them",
                refusal("PG_SSL_MODE", "require", "PG_USE_SSL", "false"));
        assertEquals(
                "PG_SSL_MODE is disable and PG_USE_SSL is true: set one of them",
                refusal("PG_SSL_MODE", "disable", "PG_USE_SSL", "true"));
        assertEquals(
                "PG_SSL_MODE is prefer and PG_SSL_REJECT_UNAUTHORIZED is true: set one of them",
                refusal("PG_SSL_MODE", "prefer", "PG_SSL_REJECT_UNAUTHORIZED", "true"));
        assertEquals(
                "PG_SSL_MODE is verify-ca and PG_SSL_REJECT_UNAUTHORIZED is false: set one of"
                        + " them",
                refusal("PG_SSL_MODE", "verify-ca", "PG_SSL_REJECT_UNAUTHORIZED", "false"));
    }

    @Test
    void certificatesAreTextsOrFiles(@TempDir Path folder) throws IOException {
        Path certificate = folder.resolve("it.crt");
        Path key = folder.resolve("it.key");
        Files.writeString(certificate, "# of the broker\n" + made.certificate());
        Files.writeString(key, made.key());
        Tls expected =
                new Tls(
                        Tls.Mode.VERIFY_FULL,
                        Optional.of(made.certificate()),
                        Optional.of(new Tls.Identity(made.certificate(), made.key().strip())));
        assertEquals(
                expected,
                of(
                        "PG_USE_SSL", "1",
                        "PG_SSL_ROOT_CERT", certificate.toString(),
                        "PG_SSL_CERT", certificate.toString(),
                        "PG_SSL_KEY", key.toString()));
        assertEquals(
                expected,
                of(
                        "PG_USE_SSL", "1",
                        "PG_SSL_ROOT_CERT", made.certificate().replace("\n", "\\n"),
                        "PG_SSL_CERT", made.certificate(),
                        "PG_SSL_KEY", made.key()));
        assertFalse(expected.toString().contains(made.key().lines().toList().get(1)));
    }

    @Test
    void aCertificateIsLookedAtEvenWhereNothingIsEncrypted() {
        String range = "PG_SSL_ROOT_CERT must be certificates in PEM, or the file that holds them";
        assertEquals(
                range + ", got the name of a file that is not there",
                refusal("PG_SSL_ROOT_CERT", "/nowhere"));
        assertEquals(
                range + ", got a text without a certificate",
                refusal("PG_SSL_ROOT_CERT", made.key()));
        assertEquals(
                range + ", got a certificate that is damaged",
                refusal("PG_SSL_ROOT_CERT", made.certificate().replaceFirst("MII", "AAA")));
    }

    @Test
    void aKeyIsOneThatCanBeReadAndComesWithItsCertificate() {
        String range =
                "PG_SSL_KEY must be a private key in PEM (PKCS #8, without a password), or the file"
                        + " that holds it, got ";
        assertEquals(
                range + "a block \"EC PRIVATE KEY\": openssl pkcs8 -topk8 -nocrypt converts it",
                refusal(
                        "PG_SSL_CERT", made.certificate(),
                        "PG_SSL_KEY", made.key().replace("PRIVATE KEY", "EC PRIVATE KEY")));
        assertEquals(
                range + "a text without a private key",
                refusal("PG_SSL_CERT", made.certificate(), "PG_SSL_KEY", made.certificate()));
        assertEquals(
                "PG_SSL_KEY must be set where PG_SSL_CERT is",
                refusal("PG_SSL_CERT", made.certificate()));
        assertEquals(
                "PG_SSL_CERT must be set where PG_SSL_KEY is", refusal("PG_SSL_KEY", made.key()));
    }
}
