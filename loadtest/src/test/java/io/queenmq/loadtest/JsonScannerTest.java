package io.queenmq.loadtest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;

final class JsonScannerTest {
    @Test
    void skipsWhatIsNotAskedFor() {
        JsonScanner scanner =
                scanner("{\"a\": {\"x\":[1,{\"}\":\"]\\\"\"}],\"y\":null}, \"n\":-42,\"s\":\"q\"}");
        scanner.enterObject();
        assertTrue(scanner.nextField());
        scanner.skipValue();
        assertTrue(scanner.nextField());
        assertTrue(scanner.keyIs("n".getBytes(StandardCharsets.UTF_8)));
        assertEquals(-42, scanner.number());
        assertTrue(scanner.nextField());
        scanner.string();
        assertTrue(scanner.valueIs("q".getBytes(StandardCharsets.UTF_8)));
        assertFalse(scanner.nextField());
    }

    @Test
    void walksEmptyArraysAndObjects() {
        JsonScanner scanner = scanner("[{},[],true]");
        scanner.enterArray();
        assertTrue(scanner.nextElement());
        scanner.enterObject();
        assertFalse(scanner.nextField());
        assertTrue(scanner.nextElement());
        scanner.enterArray();
        assertFalse(scanner.nextElement());
        assertTrue(scanner.nextElement());
        assertTrue(scanner.bool());
        assertFalse(scanner.nextElement());
    }

    @Test
    void refusesATruncatedText() {
        JsonScanner scanner = scanner("{\"a\":[1,");
        scanner.enterObject();
        assertTrue(scanner.nextField());
        assertThrows(IllegalStateException.class, scanner::skipValue);
    }

    private static JsonScanner scanner(String json) {
        byte[] bytes = json.getBytes(StandardCharsets.UTF_8);
        JsonScanner scanner = new JsonScanner();
        scanner.reset(bytes, 0, bytes.length);
        return scanner;
    }
}
