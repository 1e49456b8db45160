package io.queenmq.cipher;

import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.model.Slice;
import io.queenmq.segment.Frame;
import java.security.GeneralSecurityException;
import java.security.SecureRandom;
import java.util.Arrays;
import javax.crypto.Cipher;
import javax.crypto.SecretKey;
import javax.crypto.spec.GCMParameterSpec;
import org.jspecify.annotations.Nullable;

/**
 * Encrypts payloads before they are stored and decrypts them before they are delivered, with
 * AES-256-GCM and one key for the whole broker. Whether a queue encrypts is decided when a message
 * is pushed; whether a payload is decrypted, by its shape alone. Any thread.
 */
public final class PayloadCipher {
    private static final String ALGORITHM = "AES/GCM/NoPadding";
    private static final int TAG_BITS = 8 * Envelope.TAG_BYTES;

    private final @Nullable SecretKey key;
    private final SecureRandom random = new SecureRandom();
    private final Counter unreadable;

    public PayloadCipher(CipherConfig config, Metrics metrics) {
        this.key = config.key().orElse(null);
        this.unreadable =
                metrics.counter(
                        "queen_cipher_unreadable_total",
                        "Payloads that look encrypted and that the key of this broker does not"
                                + " open; delivered as stored.");
    }

    /** Whether there is a key. */
    public boolean hasKey() {
        return key != null;
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
        if (key == null) {
            throw new QueenException(
                    Failure.QUEUE_ENCRYPTED,
                    "the queue stores encrypted payloads and this broker has no key: set"
                            + " QUEEN_ENCRYPTION_KEY");
        }
        byte[] iv = new byte[Envelope.IV_BYTES];
        random.nextBytes(iv);
        try {
            Cipher cipher = cipher(Cipher.ENCRYPT_MODE, key, iv);
            byte[] sealed = cipher.doFinal(payload.array(), payload.offset(), payload.length());
            int end = sealed.length - Envelope.TAG_BYTES;
            return new Envelope(
                    Arrays.copyOf(sealed, end), iv, Arrays.copyOfRange(sealed, end, sealed.length));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("this JVM cannot do " + ALGORITHM, e);
        }
    }

    /** The payload in the clear; as stored if it is no envelope or the key does not open it. */
    public Slice open(Slice stored) {
        Envelope envelope = key == null ? null : Envelope.read(stored);
        if (key == null || envelope == null) {
            return stored;
        }
        byte[] encrypted = envelope.encrypted();
        byte[] sealed = Arrays.copyOf(encrypted, encrypted.length + Envelope.TAG_BYTES);
        System.arraycopy(
                envelope.authTag(), 0, sealed, encrypted.length, envelope.authTag().length);
        try {
            return Slice.of(cipher(Cipher.DECRYPT_MODE, key, envelope.iv()).doFinal(sealed));
        } catch (GeneralSecurityException e) {
            // Another key's, tampered with, or a client's own: nothing that a consumer could mend.
            unreadable.increment();
            return stored;
        }
    }

    private static Cipher cipher(int mode, SecretKey key, byte[] iv)
            throws GeneralSecurityException {
        Cipher cipher = Cipher.getInstance(ALGORITHM);
        cipher.init(mode, key, new GCMParameterSpec(TAG_BITS, iv, 0, Envelope.NONCE_BYTES));
        return cipher;
    }
}
