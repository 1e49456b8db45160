package io.queenmq.testkit;

import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.KeyPair;
import java.security.KeyPairGenerator;
import java.security.Signature;
import java.security.interfaces.ECPublicKey;
import java.security.interfaces.RSAPublicKey;
import java.security.spec.ECGenParameterSpec;
import java.util.Arrays;
import java.util.Base64;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/** Signs tokens, with nothing but the JDK: what the broker verifies them with is another's. */
public final class TokenKey {
    private static final Base64.Encoder BASE64 = Base64.getUrlEncoder().withoutPadding();

    private static final Map<String, String> JDK_NAMES =
            Map.of(
                    "HS256", "HmacSHA256",
                    "HS384", "HmacSHA384",
                    "HS512", "HmacSHA512",
                    "RS256", "SHA256withRSA",
                    "RS384", "SHA384withRSA",
                    "RS512", "SHA512withRSA",
                    "ES256", "SHA256withECDSAinP1363Format",
                    "ES384", "SHA384withECDSAinP1363Format",
                    "EdDSA", "Ed25519");

    private final byte[] secret;
    private final @Nullable KeyPair pair;

    private TokenKey(byte[] secret, @Nullable KeyPair pair) {
        this.secret = secret;
        this.pair = pair;
    }

    public static TokenKey secret(String secret) {
        return new TokenKey(secret.getBytes(StandardCharsets.UTF_8), null);
    }

    public static TokenKey rsa(int bits) {
        try {
            KeyPairGenerator generator = KeyPairGenerator.getInstance("RSA");
            generator.initialize(bits);
            return new TokenKey(new byte[0], generator.generateKeyPair());
        } catch (GeneralSecurityException e) {
            throw new AssertionError(e);
        }
    }

    public static TokenKey ed25519() {
        try {
            return new TokenKey(
                    new byte[0], KeyPairGenerator.getInstance("Ed25519").generateKeyPair());
        } catch (GeneralSecurityException e) {
            throw new AssertionError(e);
        }
    }

    public static TokenKey elliptic(int bits) {
        try {
            KeyPairGenerator generator = KeyPairGenerator.getInstance("EC");
            generator.initialize(new ECGenParameterSpec("secp" + bits + "r1"));
            return new TokenKey(new byte[0], generator.generateKeyPair());
        } catch (GeneralSecurityException e) {
            throw new AssertionError(e);
        }
    }

    public boolean isSecret() {
        return pair == null;
    }

    /** A token that says this. */
    public String token(String algorithm, String claims) {
        return signed("{\"alg\":\"" + algorithm + "\",\"typ\":\"JWT\"}", claims);
    }

    /** The same, naming the key it is signed with. */
    public String token(String algorithm, String keyId, String claims) {
        return signed("{\"alg\":\"%s\",\"kid\":\"%s\"}".formatted(algorithm, keyId), claims);
    }

    /** A token with a header of the test's own; what it names as {@code alg} signs it. */
    public String signed(String header, String claims) {
        String content = base64(header) + '.' + base64(claims);
        String algorithm = Json.parse(header).text("alg");
        try {
            return content + '.' + BASE64.encodeToString(signature(algorithm, content));
        } catch (GeneralSecurityException e) {
            throw new AssertionError(e);
        }
    }

    public static String base64(String text) {
        return BASE64.encodeToString(text.getBytes(StandardCharsets.UTF_8));
    }

    private byte[] signature(String algorithm, String content) throws GeneralSecurityException {
        byte[] bytes = content.getBytes(StandardCharsets.US_ASCII);
        String name = JDK_NAMES.get(algorithm);
        if (pair == null) {
            Mac mac = Mac.getInstance(name);
            mac.init(new SecretKeySpec(secret, name));
            return mac.doFinal(bytes);
        }
        Signature signature = Signature.getInstance(name);
        signature.initSign(pair.getPrivate());
        signature.update(bytes);
        return signature.sign();
    }

    /** The public key as operators paste it. */
    public String pem() {
        return "-----BEGIN PUBLIC KEY-----\n"
                + Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(encoded())
                + "\n-----END PUBLIC KEY-----\n";
    }

    /** The public key of RSA without saying that it is one of RSA. */
    public String pkcs1Pem() {
        byte[] spki = encoded();
        // Behind two headers of four bytes, the identifier of 15 and one byte of unused bits.
        byte[] bare = Arrays.copyOfRange(spki, 24, spki.length);
        return "-----BEGIN RSA PUBLIC KEY-----\n"
                + Base64.getEncoder().encodeToString(bare)
                + "\n-----END RSA PUBLIC KEY-----";
    }

    private byte[] encoded() {
        if (pair == null) {
            throw new AssertionError("a secret has no public key");
        }
        return pair.getPublic().getEncoded();
    }

    /** The public key as servers publish it. */
    public String jwk(String id) {
        if (pair == null) {
            return "{\"kty\":\"oct\",\"kid\":\"%s\",\"k\":\"%s\"}"
                    .formatted(id, BASE64.encodeToString(secret));
        }
        return switch (pair.getPublic()) {
            case RSAPublicKey rsa ->
                    "{\"kty\":\"RSA\",\"kid\":\"%s\",\"n\":\"%s\",\"e\":\"%s\"}"
                            .formatted(
                                    id,
                                    number(rsa.getModulus(), 0),
                                    number(rsa.getPublicExponent(), 0));
            case ECPublicKey ec -> {
                int bits = ec.getParams().getCurve().getField().getFieldSize();
                yield "{\"kty\":\"EC\",\"kid\":\"%s\",\"crv\":\"P-%d\",\"x\":\"%s\",\"y\":\"%s\"}"
                        .formatted(
                                id,
                                bits,
                                number(ec.getW().getAffineX(), bits / 8),
                                number(ec.getW().getAffineY(), bits / 8));
            }
            default -> {
                byte[] spki = encoded();
                yield "{\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"kid\":\"%s\",\"x\":\"%s\"}"
                        .formatted(
                                id,
                                BASE64.encodeToString(
                                        Arrays.copyOfRange(spki, spki.length - 32, spki.length)));
            }
        };
    }

    /** Big-endian without a sign, in at least so many bytes. */
    private static String number(BigInteger value, int bytesMin) {
        byte[] bytes = value.toByteArray();
        int from = bytes[0] == 0 ? 1 : 0;
        byte[] padded = new byte[Math.max(bytesMin, bytes.length - from)];
        System.arraycopy(
                bytes, from, padded, padded.length - (bytes.length - from), bytes.length - from);
        return BASE64.encodeToString(padded);
    }
}
