package io.queenmq.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.util.UUID;
import org.junit.jupiter.api.Test;

final class BytesTest {
    @Test
    void writesUuidsAsJavaDoes() {
        Rng rng = new Rng(7);
        for (int i = 0; i < 100; i++) {
            long high = rng.uuidHigh();
            long low = rng.uuidLow();
            UUID uuid = new UUID(high, low);
            assertEquals(4, uuid.version());
            assertEquals(2, uuid.variant());
            assertEquals(uuid.toString(), text(new Bytes(1).uuid(high, low)));
        }
    }

    @Test
    void writesNumbers() {
        assertEquals("0", text(new Bytes(1).number(0)));
        assertEquals("1234567890123", text(new Bytes(1).number(1_234_567_890_123L)));
        assertEquals("007", text(new Bytes(1).padded(7, 3)));
        assertEquals("89", text(new Bytes(1).padded(789, 2)));
    }

    private static String text(Bytes bytes) {
        return new String(bytes.array(), 0, bytes.size(), StandardCharsets.US_ASCII);
    }
}
