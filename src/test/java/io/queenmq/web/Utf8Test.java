package io.queenmq.web;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class Utf8Test {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "80",
                "c080",
                "c1bf",
                "c3",
                "c3c3",
                "e08080",
                "e09fbf",
                "eda080",
                "edbfbf",
                "e282",
                "f0808080",
                "f08fbfbf",
                "f4908080",
                "f5808080",
                "f09f91",
                "ff",
                "fe"
            })
    void whatIsNoCharacterIsFoundWhereItIs(String hex) {
        byte[] bad = HexFormat.of().parseHex(hex);
        byte[] text = new byte[20 + bad.length + 20];
        Arrays.fill(text, (byte) 'x');
        System.arraycopy(bad, 0, text, 20, bad.length);
        assertEquals(20, Utf8.firstBad(text));
    }

    @Test
    void theJdkAgreesOnRandomBytes() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        for (int round = 0; round < 20_000; round++) {
            byte[] bytes = "abcdefghé€👑0123456789".getBytes(StandardCharsets.UTF_8);
            for (int i = random.nextInt(3); i > 0; i--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            assertEquals(decodes(bytes), Utf8.firstBad(bytes) < 0, "seed " + seed);
        }
    }

    private static boolean decodes(byte[] bytes) {
        try {
            StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes));
            return true;
        } catch (CharacterCodingException e) {
            return false;
        }
    }
}
