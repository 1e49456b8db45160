package io.queenmq.cipher;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.model.Slice;
import io.queenmq.segment.Frame;
import io.queenmq.testkit.Contract;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.UUID;
import javax.crypto.Cipher;
import javax.crypto.spec.GCMParameterSpec;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PayloadCipherTest {
    private static final String KEY = "00112233445566778899aabbccddeeff".repeat(2);

    private final Metrics metrics = new Metrics();
    private final PayloadCipher cipher =
            new PayloadCipher(CipherConfig.of(KEY, List.of()), metrics);

    @AfterEach
    void close() {
        metrics.close();
    }

    private static Frame frame(String payload) {
        return Frame.of("t1", UUID.randomUUID(), "sub", Slice.utf8(payload));
    }

    private String unreadable() {
        return metrics.prometheus()
                .lines()
                .filter(line -> line.startsWith("queen_decrypt_failures_total"))
                .findFirst()
                .orElse("")
                .replaceFirst(".* ", "");
    }

    @ParameterizedTest
    @ValueSource(strings = {"{\"n\":1.50,\"n\":2}", "null", "\"ü\\u0000\"", " [ ] ", ""})
    void whatIsSealedOpensToTheSameBytes(String payload) {
        Frame sealed = cipher.seal(frame(payload));
        assertNotEquals(payload, sealed.payload().toString());
        assertEquals(payload, cipher.open(sealed.payload()).toString());
    }

    @Test
    void aSealedFrameHasTheFlagAndKeepsEverythingElse() {
        Frame plain = frame("{}");
        Frame sealed = cipher.seal(plain);
        assertEquals(Frame.ENCRYPTED, sealed.content());
        assertEquals(plain.key(), sealed.key());
        assertEquals(plain.transactionId(), sealed.transactionId());
        assertEquals(plain.traceId(), sealed.traceId());
        assertEquals(plain.producer(), sealed.producer());
        assertSame(sealed, cipher.seal(sealed), "sealed once");
    }

    @Test
    void theEnvelopeNamesItsKeyAndIsNeverTheSameTwice() {
        String one = cipher.seal(frame("{\"n\":1}")).payload().toString();
        assertTrue(
                one.matches(
                        "\\{\"encrypted\":\"[A-Za-z0-9+/]+=*\",\"iv\":\"[A-Za-z0-9+/]{22}==\","
                                + "\"authTag\":\"[A-Za-z0-9+/]{22}==\",\"kid\":\"[0-9a-f]{8}\"}"),
                one);
        assertNotEquals(one, cipher.seal(frame("{\"n\":1}")).payload().toString());
        assertFalse(one.contains(KEY.substring(0, 8)));
    }

    /** The new key is added everywhere first, then it becomes the one that encrypts. */
    @Test
    @Contract("encrypt-5")
    void keysChangeWhileTheirPayloadsAreThere() {
        String newer = "f".repeat(64);
        PayloadCipher prepared = new PayloadCipher(CipherConfig.of(KEY, List.of(newer)), metrics);
        PayloadCipher changed = new PayloadCipher(CipherConfig.of(newer, List.of(KEY)), metrics);
        PayloadCipher done = new PayloadCipher(CipherConfig.of(newer, List.of()), metrics);
        Slice old = cipher.seal(Slice.utf8("1"));
        Slice fresh = changed.seal(Slice.utf8("2"));
        for (PayloadCipher one : List.of(prepared, changed)) {
            assertEquals("1", one.open(old).toString());
            assertEquals("2", one.open(fresh).toString());
        }
        assertEquals("2", done.open(fresh).toString());
        assertEquals("0.0", unreadable());
        assertSame(old, done.open(old));
        assertSame(fresh, cipher.open(fresh));
        assertEquals("2.0", unreadable());
        String nameless = old.toString().replaceFirst(",\"kid\":\"[^\"]+\"", "");
        assertEquals("1", changed.open(Slice.utf8(nameless)).toString());
    }

    @Test
    void opensWhatAnyAesGcmWroteWithTheFirstTwelveBytesOfTheIv() throws Exception {
        byte[] iv = HexFormat.of().parseHex("0102030405060708090a0b0c0d0e0f10");
        Cipher aes = Cipher.getInstance("AES/GCM/NoPadding");
        aes.init(
                Cipher.ENCRYPT_MODE,
                new SecretKeySpec(HexFormat.of().parseHex(KEY), "AES"),
                new GCMParameterSpec(128, iv, 0, 12));
        byte[] sealed =
                aes.doFinal("{\"other\":true}".getBytes(java.nio.charset.StandardCharsets.UTF_8));
        int end = sealed.length - 16;
        String envelope =
                " { \"iv\" : \"%s\", \"authTag\" : \"%s\", \"encrypted\" : \"%s\" } "
                        .formatted(
                                base64(iv, 0, 16), base64(sealed, end, 16), base64(sealed, 0, end));
        assertEquals("{\"other\":true}", cipher.open(Slice.utf8(envelope)).toString());
    }

    private static String base64(byte[] bytes, int from, int length) {
        return Base64.getEncoder().encodeToString(new Slice(bytes, from, length).copy());
    }

    @Test
    void anEnvelopeThatWasTamperedWithIsDeliveredAsStoredAndCounted() {
        Slice stored = cipher.seal(frame("{\"n\":1}")).payload();
        Envelope envelope = Envelope.read(stored);
        assertNotNull(envelope);
        for (byte[] part : new byte[][] {envelope.encrypted(), envelope.iv(), envelope.authTag()}) {
            part[0] ^= 1;
            Slice tampered = envelope.toJson();
            assertSame(tampered, cipher.open(tampered));
            part[0] ^= 1;
        }
        assertEquals("3.0", unreadable());
        assertEquals("{\"n\":1}", cipher.open(envelope.toJson()).toString());
    }

    @Test
    @Contract("encrypt-3")
    void anotherKeyOrNoneDeliversAsStored() {
        Slice stored = cipher.seal(frame("{\"n\":1}")).payload();
        PayloadCipher other =
                new PayloadCipher(CipherConfig.of("f".repeat(64), List.of()), metrics);
        assertSame(stored, other.open(stored));
        assertEquals("1.0", unreadable());
        PayloadCipher none = new PayloadCipher(CipherConfig.NONE, metrics);
        assertSame(stored, none.open(stored));
        assertEquals("1.0", unreadable());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "{}",
                "[\"encrypted\"]",
                "{\"n\":1}",
                "{\"encrypted\":\"AA==\"}",
                "{\"encrypted\":\"AA==\",\"iv\":\"AAAAAAAAAAAAAAAAAAAAAA==\",\"authTag\":\"AA==\"}",
                "{\"encrypted\":\"AA==\",\"iv\":\"AA==\",\"authTag\":\"AAAAAAAAAAAAAAAAAAAAAA==\"}",
                "{\"encrypted\":\"*\",\"iv\":\"AAAAAAAAAAAAAAAAAAAAAA==\",\"authTag\":\"AAAAAAAAAAAAAAAAAAAAAA==\"}",
                "{\"encrypted\":1,\"iv\":\"AAAAAAAAAAAAAAAAAAAAAA==\",\"authTag\":\"AAAAAAAAAAAAAAAAAAAAAA==\"}",
                "{\"encrypted\":{},\"iv\":\"\",\"authTag\":\"\"}",
                "{\"encrypted\":\"AA==\",\"iv\":\"AAAAAAAAAAAAAAAAAAAAAA==\",\"authTag\":\"AAAAAAAAAAAAAAAAAAAAAA==\",\"x\":\"\"}",
                "{\"encrypted\":\"AA==\",\"iv\":\"AAAAAAAAAAAAAAAAAAAAAA==\",\"authTag\":\"AAAAAAAAAAAAAAAAAAAAAA==\",\"kid\":1}",
                "{\"encrypted",
                "\"encrypted\""
            })
    void whatHasNotTheShapeIsAnOrdinaryPayload(String payload) {
        Slice stored = Slice.utf8(payload);
        assertSame(stored, cipher.open(stored));
        assertEquals("0.0", unreadable());
    }

    @Test
    void withoutAKeyNothingIsStoredInTheClear() {
        PayloadCipher none = new PayloadCipher(CipherConfig.NONE, metrics);
        assertFalse(none.hasKey());
        QueenException refusal =
                assertThrows(QueenException.class, () -> none.seal(frame("{\"n\":1}")));
        assertEquals(Failure.QUEUE_ENCRYPTED, refusal.failure());
    }

    @Test
    void theKeyIsNeverPrinted() {
        assertFalse(CipherConfig.of(KEY, List.of()).toString().contains("0011"));
    }
}
