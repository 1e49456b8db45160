package io.queenmq.web;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Contract;
import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class JsonBufferTest {
    private static String string(@Nullable String text) {
        return new JsonBuffer(0).string(text).toString();
    }

    @Test
    void stringsAreEscapedOnlyWhereTheyMustBe() {
        assertEquals("\"\"", string(""));
        assertEquals("\"a/b é € 👑\"", string("a/b é € 👑"));
        assertEquals("\"\\\"\\\\\\n\\r\\t\\u0000\\u001f\"", string("\"\\\n\r\t\u0000\u001f"));
        assertEquals("null", string(null));
    }

    @Test
    void aLoneSurrogateIsEscapedSinceUtf8CannotHoldIt() {
        assertEquals("\"a\\ud800\"", string("a\ud800"));
        assertEquals("\"\\udc00\\ud800\"", string("\udc00\ud800"));
    }

    @Test
    @Contract("http-15")
    void instantsAreUtcWithMicroseconds() {
        assertEquals(
                "\"2026-07-30T11:02:44.512873Z\"",
                new JsonBuffer(0)
                        .instant(Instant.parse("2026-07-30T11:02:44.512873999Z"))
                        .toString());
        assertEquals(
                "\"0999-01-02T03:04:05.000000Z\"",
                new JsonBuffer(0).instant(Instant.parse("0999-01-02T03:04:05Z")).toString());
        assertEquals("null", new JsonBuffer(0).instant(null).toString());
    }

    @Test
    @Contract("http-15")
    void uuidsAndNumbersAreSpelledAsTheJdkDoes() {
        UUID id = UUID.randomUUID();
        assertEquals('"' + id.toString() + '"', new JsonBuffer(0).uuid(id).toString());
        assertEquals("-9223372036854775808", new JsonBuffer(0).number(Long.MIN_VALUE).toString());
    }

    @Test
    void theBufferGrowsWithWhatIsWritten() {
        JsonBuffer json = new JsonBuffer(0);
        for (int i = 0; i < 10_000; i++) {
            json.raw("0123456789");
        }
        assertEquals("0123456789".repeat(10_000), json.toString());
        assertEquals(100_000, json.length());
    }
}
