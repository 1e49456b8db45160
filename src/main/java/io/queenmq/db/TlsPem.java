package io.queenmq.db;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Certificates and keys in PEM, as other programs write them. Pure. */
public final class TlsPem {
    /** What every PEM has and no name of a file. */
    public static final String BEGINS = "-----BEGIN";

    private static final Pattern CERTIFICATE =
            Pattern.compile(
                    "-----BEGIN CERTIFICATE-----[A-Za-z0-9+/=\\s]+-----END CERTIFICATE-----");

    private static final Pattern KEY =
            Pattern.compile("-----BEGIN ([A-Z ]*PRIVATE KEY)-----([^-]+)-----END \\1-----");

    private static final List<String> KINDS = List.of("RSA", "EC", "Ed25519");

    private TlsPem() {}

    /**
     * The certificates of the text, without what may stand around them.
     *
     * @throws IllegalArgumentException saying what there is instead
     */
    public static String certificates(String text) {
        StringBuilder blocks = new StringBuilder();
        Matcher block = CERTIFICATE.matcher(text);
        while (block.find()) {
            blocks.append(block.group()).append('\n');
        }
        try {
            if (blocks.isEmpty()) {
                throw new IllegalArgumentException("a text without a certificate");
            }
            parse(blocks.toString());
            return blocks.toString();
        } catch (CertificateException e) {
            throw new IllegalArgumentException("a certificate that is damaged", e);
        }
    }

    /**
     * The private key of the text, likewise.
     *
     * @throws IllegalArgumentException saying what there is instead
     */
    public static String privateKey(String text) {
        Matcher block = KEY.matcher(text);
        if (!block.find()) {
            throw new IllegalArgumentException("a text without a private key");
        }
        if (!block.group(1).equals("PRIVATE KEY")) {
            throw new IllegalArgumentException(
                    "a block \"%s\": openssl pkcs8 -topk8 -nocrypt converts it"
                            .formatted(block.group(1)));
        }
        key(block.group());
        return block.group();
    }

    static Collection<? extends Certificate> parse(String pem) throws CertificateException {
        return CertificateFactory.getInstance("X.509")
                .generateCertificates(
                        new ByteArrayInputStream(pem.getBytes(StandardCharsets.US_ASCII)));
    }

    static PrivateKey key(String pem) {
        Matcher block = KEY.matcher(pem);
        if (!block.find()) {
            throw new IllegalArgumentException("a text without a private key");
        }
        byte[] der = Base64.getMimeDecoder().decode(block.group(2));
        return KINDS.stream()
                .flatMap(kind -> ofKind(kind, der).stream())
                .findFirst()
                .orElseThrow(
                        () ->
                                new IllegalArgumentException(
                                        "a key that is neither of RSA, EC nor Ed25519"));
    }

    /** The encoding names its kind, but a factory reads only its own. */
    private static Optional<PrivateKey> ofKind(String kind, byte[] der) {
        try {
            return Optional.of(
                    KeyFactory.getInstance(kind).generatePrivate(new PKCS8EncodedKeySpec(der)));
        } catch (GeneralSecurityException e) {
            return Optional.empty();
        }
    }
}
