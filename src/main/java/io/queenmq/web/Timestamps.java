package io.queenmq.web;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.ResolverStyle;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Points in time as clients write them: the spellings of PostgreSQL that mean the same whatever its
 * settings are, and no words like {@code now}, which mean another one each time. Pure.
 */
public final class Timestamps {
    private static final int NANO_DIGITS = 9;
    private static final int HOURS_MAX = 24;
    private static final int OFFSET_HOURS_MAX = 15;

    /** Earlier ones are years of two digits, or none at all. */
    private static final int YEAR_MIN = 1_000;

    /** A leap second is the next minute, as PostgreSQL has it. */
    private static final int SECONDS_MAX = 60;

    /** An unescaped + in a query arrives as a space. */
    private static final Pattern WRITTEN =
            Pattern.compile(
                    """
                    (?<year>\\d{4})(?:-(?<month>\\d{1,2})-(?<day>\\d{1,2})|(?<md>\\d{4}))
                    (?:(?:[Tt]|\\x20+)
                       (?: (?<hour>\\d{1,2})
                           :(?<minute>\\d{2})(?::(?<second>\\d{2})(?:\\.(?<fraction>\\d+))?)?
                         | (?<hour2>\\d{2})(?<ms>\\d{2}(?:\\d{2})?)(?:\\.(?<fraction2>\\d+))?)
                       (?:\\x20*(?<zulu>[Zz]|(?i:UTC|GMT))
                         | \\x20*(?<sign>[+-]|\\x20)(?<offHour>\\d{1,2})
                           (?::?(?<offMinute>\\d{2})(?::?(?<offSecond>\\d{2}))?)?
                         | \\x20+(?<region>[A-Za-z]+/[A-Za-z0-9_+/-]+))?)?""",
                    Pattern.COMMENTS);

    private static final DateTimeFormatter OF_MAILS =
            DateTimeFormatter.RFC_1123_DATE_TIME.withResolverStyle(ResolverStyle.STRICT);

    private Timestamps() {}

    /**
     * A date, or a date and a time, UTC where no zone is named; or what {@code date -R} and HTTP
     * write. Null for anything else.
     */
    public static @Nullable Instant parse(String text) {
        String stripped = text.strip();
        Matcher written = WRITTEN.matcher(stripped);
        try {
            ZonedDateTime time =
                    written.matches()
                            // When clocks go back PostgreSQL takes the second of the two hours.
                            ? time(written).atZone(zone(written)).withLaterOffsetAtOverlap()
                            : ZonedDateTime.parse(stripped, OF_MAILS);
            return time.getYear() < YEAR_MIN ? null : time.toInstant();
        } catch (DateTimeException e) {
            return null;
        }
    }

    private static LocalDateTime time(Matcher written) {
        String md = written.group("md");
        String ms = written.group("ms");
        LocalDateTime midnight =
                LocalDate.of(
                                number(written.group("year")),
                                number(md == null ? written.group("month") : md.substring(0, 2)),
                                number(md == null ? written.group("day") : md.substring(2)))
                        .atStartOfDay();
        int hour = number(written.group(ms == null ? "hour" : "hour2"));
        int minute = number(ms == null ? written.group("minute") : ms.substring(0, 2));
        int second = number(ms == null ? written.group("second") : ms.substring(2));
        long nanos = nanos(written.group("fraction")) + nanos(written.group("fraction2"));
        if (hour > HOURS_MAX
                || minute >= 60
                || second > SECONDS_MAX
                || (hour == HOURS_MAX && minute + second + nanos > 0)) {
            throw new DateTimeException("no time of a day");
        }
        return midnight.plusHours(hour).plusMinutes(minute).plusSeconds(second).plusNanos(nanos);
    }

    private static ZoneId zone(Matcher written) {
        if (written.group("region") != null) {
            return ZoneId.of(written.group("region"));
        }
        String sign = written.group("sign");
        if (sign == null) {
            return ZoneOffset.UTC;
        }
        int direction = sign.equals("-") ? -1 : 1;
        int hours = number(written.group("offHour"));
        if (hours > OFFSET_HOURS_MAX) {
            throw new DateTimeException("no offset");
        }
        return ZoneOffset.ofHoursMinutesSeconds(
                direction * hours,
                direction * number(written.group("offMinute")),
                direction * number(written.group("offSecond")));
    }

    /** What is left out is nothing. */
    private static int number(@Nullable String digits) {
        return digits == null || digits.isEmpty() ? 0 : Integer.parseInt(digits);
    }

    private static long nanos(@Nullable String fraction) {
        if (fraction == null) {
            return 0;
        }
        String digits = fraction + "0".repeat(NANO_DIGITS);
        return Long.parseLong(digits.substring(0, NANO_DIGITS));
    }
}
