package io.queenmq.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.queenmq.testkit.Lines;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Objects;
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
                "2026-07-30 09:00:00",
                " 2026-07-30T09:00:00Z ",
                "2026-7-30 9:00",
                "2026-07-30t09:00Z",
                "2026-07-30 09:00Z",
                "2026-07-30 09:00:00.000+00",
                "2026-07-30 09:00:00 +00",
                "2026-07-30 11:00:00 +0200",
                "2026-07-30 11:00:00+2",
                "2026-07-30 09:00:00 UTC",
                "2026-07-30 09:00:00 gmt",
                "2026-07-30 11:00 Europe/Rome",
                "2026-07-30 14:30:15+05:30:15",
                "20260730T090000Z",
                "20260730T0900",
                "20260730 090000.0+00",
                "2026-07-30T08:59:60Z",
                "Thu, 30 Jul 2026 09:00:00 GMT",
                "Thu, 30 Jul 2026 11:00:00 +0200"
            })
    void isoTimestampsAreReadInUtc(String text) {
        assertEquals(Instant.parse("2026-07-30T09:00:00Z"), Timestamps.parse(text));
    }

    @Test
    void aDateIsItsMidnight() {
        for (String day : List.of("2026-07-30", "20260730", "2026-7-30", "2026-07-29 24:00")) {
            assertEquals(Instant.parse("2026-07-30T00:00:00Z"), Timestamps.parse(day), day);
        }
    }

    @Test
    void fractionsAreKept() {
        Instant instant = Instant.parse("2026-07-30T09:00:00.123456789Z");
        assertEquals(instant, Timestamps.parse("2026-07-30 09:00:00.123456789012+00"));
        assertEquals(instant, Timestamps.parse("20260730T090000.123456789Z"));
    }

    /** None of these spellings means something else where the server reads it. */
    @Test
    void theServerUnderstandsTheSame() throws SQLException {
        try (TestDatabase database = TestDatabase.migrated();
                Connection connection = database.connect()) {
            Lines.lines(connection, "set timezone = 'UTC'");
            for (String text :
                    List.of(
                            "2026-07-30 9:00",
                            "2026-7-3 09:00:00.25+2",
                            "2026-07-30 14:30:15+05:30:15",
                            "20260730T090000.5Z",
                            "20260730T0900-0330",
                            "2026-07-30T08:59:60Z",
                            "2026-07-29 24:00:00",
                            "2026-01-30 11:00 America/New_York",
                            "2026-07-30 11:00 America/New_York",
                            "2026-10-25 02:30 Europe/Rome",
                            "2026-03-29 02:30 Europe/Rome",
                            "2026-11-01 01:30 America/New_York",
                            "2026-07-30 09:00+15:59",
                            "Thu, 30 Jul 2026 11:00:00 +0200",
                            "2026-11-30 12:00:00+00",
                            "2026-11-30T12:00Z",
                            "2026-11-30",
                            "2026-11-30 12:00:00 UTC")) {
                assertEquals(
                        Lines.line(
                                connection,
                                "select to_char(timestamptz '"
                                        + text
                                        + "', 'YYYY-MM-DD HH24:MI:SS.US')"),
                        DateTimeFormatter.ofPattern("yyyy-MM-dd HH:mm:ss.SSSSSS")
                                .withZone(ZoneOffset.UTC)
                                .format(Objects.requireNonNull(Timestamps.parse(text), text)),
                        text);
            }
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "yesterday",
                "now",
                "today",
                "infinity",
                "-infinity",
                "epoch",
                "2026-13-01",
                "2026-02-30",
                "2026-07-30T25:00:00Z",
                "2026-07-30T24:00:01Z",
                "2026-07-30T09:60:00Z",
                "2026-07-30T09:00:61Z",
                "2026-07-30T09:00:00+19",
                "2026-07-30T09:00:00 Nowhere/Land",
                "2026-07-30 now",
                "2026-07-30T",
                "30/07/2026",
                "2026-11-30T123",
                "2026-11-30T12345",
                "20261130T1",
                "31 Feb 2026 00:00:00 GMT",
                "31 Nov 2026 00:00:00 GMT",
                "1 Dec 26 12:00:00 GMT",
                "0000-01-01",
                "2026-07-30T09:00:00+16",
                "2026-07-30T09:00:00-18:00",
                "-2026-07-30",
                "2026-07-30 BC",
                "1753866000",
                "1753866000000"
            })
    void anythingElseIsNone(String text) {
        assertNull(Timestamps.parse(text));
    }
}
