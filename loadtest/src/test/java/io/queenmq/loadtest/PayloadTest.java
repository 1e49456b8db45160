package io.queenmq.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

final class PayloadTest {
    @ParameterizedTest
    @EnumSource(Payload.Kind.class)
    void hasTheSizeThatWasAskedForAndSaysWhichMessageItIs(Payload.Kind kind) {
        Bytes out = new Bytes(16);
        new Payload(kind, 256, new Rng(1)).render(out, 12, 345, 6789);
        assertEquals(256, out.size());
        JsonScanner scanner = new JsonScanner();
        scanner.reset(out.array(), 0, out.size());
        scanner.enterObject();
        for (long expected : new long[] {12, 345, 6789}) {
            scanner.nextField();
            assertEquals(expected, scanner.number());
        }
        scanner.reset(out.array(), 0, out.size());
        scanner.skipValue();
        assertEquals(out.size(), scanner.valueTo());
        assertEquals(
                out.size(),
                new String(out.array(), 0, out.size(), StandardCharsets.US_ASCII).length());
    }
}
