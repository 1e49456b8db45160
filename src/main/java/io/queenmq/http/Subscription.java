package io.queenmq.http;

import io.queenmq.pop.StartAt;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Where a group asks to begin. Pure. */
final class Subscription {
    private static final int DATE_LENGTH = 10;

    /** An offset without its colon, as date(1) and strftime write it. */
    private static final Pattern OFFSET = Pattern.compile("([+-]\\d\\d)(\\d\\d)$");

    private Subscription() {}

    /**
     * The point in time wins over the mode; a point that cannot be read counts as now, and a mode
     * that is not {@code new} as everything.
     */
    static StartAt of(@Nullable String mode, @Nullable String from, boolean nowByDefault) {
        if (from != null && !from.isEmpty()) {
            Instant instant = from.equals("now") ? null : instant(from);
            return instant == null ? new StartAt.Now() : new StartAt.At(instant);
        }
        boolean now =
                switch (mode) {
                    case null -> nowByDefault;
                    case "" -> nowByDefault;
                    case "new", "new-only" -> true;
                    default -> false;
                };
        return now ? new StartAt.Now() : new StartAt.Oldest();
    }

    /** An ISO-8601 date, with or without time and zone; null for anything else. */
    static @Nullable Instant instant(String text) {
        try {
            if (text.length() == DATE_LENGTH) {
                return LocalDate.parse(text).atStartOfDay(ZoneOffset.UTC).toInstant();
            }
            // A + that was not escaped in a query arrives as a space; so does one instead of T.
            String time = text.substring(DATE_LENGTH + 1).replace(' ', '+');
            String whole = text.substring(0, DATE_LENGTH) + 'T' + time;
            boolean zoned =
                    time.endsWith("Z")
                            || time.endsWith("z")
                            || time.indexOf('+') > 0
                            || time.indexOf('-') > 0;
            return zoned
                    ? OffsetDateTime.parse(OFFSET.matcher(whole).replaceFirst("$1:$2")).toInstant()
                    : LocalDateTime.parse(whole).toInstant(ZoneOffset.UTC);
        } catch (DateTimeException | StringIndexOutOfBoundsException e) {
            return null;
        }
    }
}
