package io.queenmq.cipher;

import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.model.Slice;
import io.queenmq.segment.Frame;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.security.SecureRandom;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import javax.crypto.Cipher;
import javax.crypto.SecretKey;
import javax.crypto.spec.GCMParameterSpec;
import org.jspecify.annotations.Nullable;

/**
 * Encrypts payloads before they are stored and decrypts them before they are delivered, with
 * AES-256-GCM and the newest of the broker's keys. An envelope names its key, so that keys can be
 * changed while messages of before are still there. Whether a queue encrypts is decided when a
 * message is pushed; whether a payload is decrypted, by its shape alone. Any thread.
 */
public final class PayloadCipher {
    private static final String ALGORITHM = "AES/GCM/NoPadding";
    private static final int TAG_BITS = 8 * Envelope.TAG_BYTES;

    private static final int ID_BYTES = 4;

    /**
     * @param id the beginning of its SHA-256: it tells keys apart, and nothing about them
     */
    private record Key(String id, SecretKey secret) {}

    private final List<Key> keys;
    private final SecureRandom random = new SecureRandom();
    private final Counter unreadable;

    public PayloadCipher(CipherConfig config, Metrics metrics) {
        this.keys = config.keys().stream().map(key -> new Key(id(key), key)).toList();
        metrics.gauge(
                "queen_cipher_keys",
                "Keys that open payloads; 0 = queues that encrypt are refused here.",
                keys::size);
        metrics.gauge(
                "queen_encryption_enabled",
                "1 = there is a key to encrypt payloads with.",
                () -> keys.isEmpty() ? 0 : 1);
        this.unreadable =
                metrics.counter(
                        "queen_decrypt_failures_total",
                        "Payloads that look encrypted and that no key of this broker opens;"
                                + " delivered as stored.");
    }

    private static String id(SecretKey key) {
        try {
            byte[] hash = MessageDigest.getInstance("SHA-256").digest(key.getEncoded());
            return HexFormat.of().formatHex(hash, 0, ID_BYTES);
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every JVM has SHA-256", e);
        }
    }

    /** Whether there is a key. */
    public boolean hasKey() {
        return !keys.isEmpty();
    }

    /**
     * The message as an encrypted queue stores it; one that is sealed already stays as it is.
     *
     * @throws QueenException {@code QUEUE_ENCRYPTED} without a key: never stored in the clear
     */
    public Frame seal(Frame frame) {
        if ((frame.content() & Frame.ENCRYPTED) != 0) {
            return frame;
        }
        return frame.sealed(seal(frame.payload()));
    }

    /**
     * The payload in an envelope.
     *
     * @throws QueenException {@code QUEUE_ENCRYPTED} without a key
     */
    public Slice seal(Slice payload) {
        return encrypt(payload).toJson();
    }

    private Envelope encrypt(Slice payload) {
        if (keys.isEmpty()) {
            throw new QueenException(
                    Failure.QUEUE_ENCRYPTED,
                    "the queue stores encrypted payloads and this broker has no key: set"
                            + " QUEEN_ENCRYPTION_KEY");
        }
        byte[] iv = new byte[Envelope.IV_BYTES];
        random.nextBytes(iv);
        Key key = keys.getFirst();
        try {
            Cipher cipher = cipher(Cipher.ENCRYPT_MODE, key.secret(), iv);
            byte[] sealed = cipher.doFinal(payload.array(), payload.offset(), payload.length());
            int end = sealed.length - Envelope.TAG_BYTES;
            return new Envelope(
                    key.id(),
                    Arrays.copyOf(sealed, end),
                    iv,
                    Arrays.copyOfRange(sealed, end, sealed.length));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this JVM cannot do " + ALGORITHM, e);
        }
    }

    /** The payload in the clear; as stored if it is no envelope or no key opens it. */
    public Slice open(Slice stored) {
        Envelope envelope = keys.isEmpty() ? null : Envelope.read(stored);
        if (envelope == null) {
            return stored;
        }
        for (Key key : keys) {
            if (envelope.keyId() == null || envelope.keyId().equals(key.id())) {
                byte[] opened = opened(envelope, key.secret());
                if (opened != null) {
                    return Slice.of(opened);
                }
            }
        }
        unreadable.increment();
        return stored;
    }

    /** Null = another key's, tampered with, or a client's own: nothing a consumer could mend. */
    private static byte @Nullable [] opened(Envelope envelope, SecretKey key) {
        byte[] encrypted = envelope.encrypted();
        byte[] sealed = Arrays.copyOf(encrypted, encrypted.length + Envelope.TAG_BYTES);
        System.arraycopy(
                envelope.authTag(), 0, sealed, encrypted.length, envelope.authTag().length);
        try {
            return cipher(Cipher.DECRYPT_MODE, key, envelope.iv()).doFinal(sealed);
        } catch (GeneralSecurityException e) {
            return null;
        }
    }

    private static Cipher cipher(int mode, SecretKey key, byte[] iv)
            throws GeneralSecurityException {
        Cipher cipher = Cipher.getInstance(ALGORITHM);
        cipher.init(mode, key, new GCMParameterSpec(TAG_BITS, iv, 0, Envelope.NONCE_BYTES));
        return cipher;
    }
}
