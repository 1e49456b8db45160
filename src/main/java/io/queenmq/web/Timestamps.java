package io.queenmq.web;

import java.time.DateTimeException;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Points in time as clients write them. Pure. */
public final class Timestamps {
    private static final int DATE_LENGTH = 10;

    /** An offset without its colon, as date(1) and strftime write it, or of whole hours. */
    private static final Pattern OFFSET = Pattern.compile("([+-]\\d\\d)(\\d\\d)?$");

    private Timestamps() {}

    /** An ISO-8601 date, with or without time and zone; null for anything else. */
    public static @Nullable Instant parse(String text) {
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
                    ? OffsetDateTime.parse(withColon(whole)).toInstant()
                    : LocalDateTime.parse(whole).toInstant(ZoneOffset.UTC);
        } catch (DateTimeException | StringIndexOutOfBoundsException e) {
            return null;
        }
    }

    private static String withColon(String time) {
        return OFFSET.matcher(time)
                .replaceFirst(
                        offset ->
                                offset.group(1)
                                        + ':'
                                        + (offset.group(2) == null ? "00" : offset.group(2)));
    }
}
