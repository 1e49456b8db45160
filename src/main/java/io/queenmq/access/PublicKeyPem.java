package io.queenmq.access;

import java.io.ByteArrayInputStream;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.cert.CertificateFactory;
import java.security.spec.X509EncodedKeySpec;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** Reads a public key in PEM, as operators paste it into a variable. Pure. */
public final class PublicKeyPem {
    private static final Pattern BLOCK =
            Pattern.compile(
                    "\\s*-----BEGIN (PUBLIC KEY|RSA PUBLIC KEY|CERTIFICATE)-----"
                            + "([A-Za-z0-9+/=\\s]+)-----END \\1-----\\s*");

    private static final List<String> KINDS = List.of("RSA", "EC", "Ed25519");

    /** In DER: the object identifier of RSA, and that it has no parameters. */
    private static final byte[] RSA = HexFormat.of().parseHex("300d06092a864886f70d0101010500");

    private PublicKeyPem() {}

    /**
     * The key, if it is one that signatures of tokens can be verified with.
     *
     * @param text one block; line ends may be written as a backslash and an n
     */
    public static Optional<PublicKey> parse(String text) {
        Matcher block = BLOCK.matcher(text.replace("\\n", "\n"));
        if (!block.matches()) {
            return Optional.empty();
        }
        try {
            byte[] der = Base64.getMimeDecoder().decode(block.group(2));
            Optional<PublicKey> key =
                    switch (block.group(1)) {
                        case "CERTIFICATE" -> Optional.of(ofCertificate(block.group()));
                        case "RSA PUBLIC KEY" -> ofEncoded(wrapped(der));
                        default -> ofEncoded(der);
                    };
            key.ifPresent(Keys::of);
            return key;
        } catch (GeneralSecurityException | IllegalArgumentException e) {
            return Optional.empty();
        }
    }

    private static PublicKey ofCertificate(String pem) throws GeneralSecurityException {
        return CertificateFactory.getInstance("X.509")
                .generateCertificate(
                        new ByteArrayInputStream(pem.strip().getBytes(StandardCharsets.US_ASCII)))
                .getPublicKey();
    }

    /** The encoding names its kind, but a factory reads only its own. */
    private static Optional<PublicKey> ofEncoded(byte[] der) {
        return KINDS.stream().flatMap(kind -> ofKind(kind, der).stream()).findFirst();
    }

    private static Optional<PublicKey> ofKind(String kind, byte[] der) {
        try {
            return Optional.of(
                    KeyFactory.getInstance(kind).generatePublic(new X509EncodedKeySpec(der)));
        } catch (GeneralSecurityException e) {
            return Optional.empty();
        }
    }

    /** A bare RSA key in the form that all kinds share. */
    private static byte[] wrapped(byte[] rsa) {
        byte[] bits = new byte[rsa.length + 1];
        System.arraycopy(rsa, 0, bits, 1, rsa.length);
        byte[] string = tagged(3, bits);
        byte[] both = new byte[RSA.length + string.length];
        System.arraycopy(RSA, 0, both, 0, RSA.length);
        System.arraycopy(string, 0, both, RSA.length, string.length);
        return tagged(0x30, both);
    }

    private static byte[] tagged(int tag, byte[] content) {
        if (content.length < 256 || content.length > 65_535) {
            throw new IllegalArgumentException("no RSA key: " + content.length + " bytes");
        }
        byte[] der = new byte[content.length + 4];
        der[0] = (byte) tag;
        der[1] = (byte) 0x82;
        der[2] = (byte) (content.length >> 8);
        der[3] = (byte) content.length;
        System.arraycopy(content, 0, der, 4, content.length);
        return der;
    }
}
