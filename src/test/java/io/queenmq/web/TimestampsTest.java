package io.queenmq.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class TimestampsTest {
    @ParameterizedTest
    @ValueSource(
            strings = {
                "2026-07-30T09:00:00Z",
                "2026-07-30T09:00:00.000000Z",
                "2026-07-30T11:00:00+02:00",
                "2026-07-30T11:00:00 02:00",
                "2026-07-30T11:00:00+0200",
                "2026-07-30T11:00:00+02",
                "2026-07-30 11:00:00+02",
                "2026-07-30T09:00:00z",
                "2026-07-30T05:00:00-04:00",
                "2026-07-30T09:00:00",
                "2026-07-30T09:00",
                "2026-07-30 09:00:00"
            })
    void isoTimestampsAreReadInUtc(String text) {
        assertEquals(Instant.parse("2026-07-30T09:00:00Z"), Timestamps.parse(text));
    }

    @Test
    void aDateIsItsMidnight() {
        assertEquals(Instant.parse("2026-07-30T00:00:00Z"), Timestamps.parse("2026-07-30"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "yesterday", "2026-13-01", "2026-07-30T25:00:00Z", "1753866000"})
    void anythingElseIsNone(String text) {
        assertNull(Timestamps.parse(text));
    }
}
