package io.queenmq.access;

import com.nimbusds.jose.JOSEException;
import com.nimbusds.jose.JWSAlgorithm;
import com.nimbusds.jose.JWSHeader;
import com.nimbusds.jose.JWSVerifier;
import com.nimbusds.jose.crypto.impl.BaseJWSProvider;
import com.nimbusds.jose.util.Base64URL;
import java.security.GeneralSecurityException;
import java.security.InvalidKeyException;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.Signature;
import java.security.SignatureException;
import java.security.interfaces.EdECPublicKey;
import java.security.spec.NamedParameterSpec;
import java.security.spec.X509EncodedKeySpec;
import java.util.HexFormat;
import java.util.Set;

/** Verifies Ed25519 with the JDK: the library would want a second library for it. Any thread. */
final class Ed25519 extends BaseJWSProvider implements JWSVerifier {
    private static final String NAME = NamedParameterSpec.ED25519.getName();
    private static final int KEY_BYTES = 32;

    /** What stands before the 32 bytes in the usual encoding of a public key. */
    private static final byte[] PREFIX = HexFormat.of().parseHex("302a300506032b6570032100");

    private final PublicKey key;

    Ed25519(PublicKey key) {
        super(Set.of(JWSAlgorithm.EdDSA));
        this.key = key;
    }

    static boolean isKey(PublicKey key) {
        return key instanceof EdECPublicKey ed && ed.getParams().getName().equals(NAME);
    }

    /**
     * The key that a set of keys holds as {@code x}.
     *
     * @throws JOSEException it is none
     */
    static PublicKey key(byte[] x) throws JOSEException {
        if (x.length != KEY_BYTES) {
            throw new JOSEException("an Ed25519 key has 32 bytes, got " + x.length);
        }
        byte[] encoded = new byte[PREFIX.length + KEY_BYTES];
        System.arraycopy(PREFIX, 0, encoded, 0, PREFIX.length);
        System.arraycopy(x, 0, encoded, PREFIX.length, KEY_BYTES);
        try {
            return KeyFactory.getInstance(NAME).generatePublic(new X509EncodedKeySpec(encoded));
        } catch (GeneralSecurityException e) {
            throw new JOSEException("no Ed25519 key", e);
        }
    }

    @Override
    public boolean verify(JWSHeader header, byte[] signed, Base64URL signature)
            throws JOSEException {
        try {
            Signature verifier = Signature.getInstance(NAME);
            verifier.initVerify(key);
            verifier.update(signed);
            return verifier.verify(signature.decode());
        } catch (SignatureException | InvalidKeyException e) {
            // Not 64 bytes, or no point of the curve: a client's doing.
            return false;
        } catch (GeneralSecurityException e) {
            throw new JOSEException("this JVM cannot do " + NAME, e);
        }
    }
}
