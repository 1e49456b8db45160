package io.queenmq.admin;

import io.queenmq.insight.Window;
import io.queenmq.model.Failure;
import io.queenmq.model.Names;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import io.queenmq.web.JsonBuffer;
import io.queenmq.web.Query;
import io.queenmq.web.Timestamps;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import org.jspecify.annotations.Nullable;

/**
 * Parameters as management routes take them: a number or switch that cannot be read counts as
 * absent, an empty text too; only a point in time refuses the request.
 */
final class AdminQuery {
    static final Duration HOUR = Duration.ofHours(1);

    private static final int FILTER_BYTES_MAX = 4_096;

    /** The widest buckets are of 6 hours, and an answer has 2,000 at most. */
    private static final Duration WINDOW_MAX = Duration.ofDays(500);

    private AdminQuery() {}

    /** A text to compare with; null when absent. */
    static @Nullable String filter(Query query, String name) {
        String value = query.text(name);
        return value == null || value.isEmpty()
                ? null
                : Names.checked(name, value, FILTER_BYTES_MAX);
    }

    static int number(Query query, String name, int absent, int min, int max) {
        String value = query.text(name);
        try {
            return value == null ? absent : Math.clamp(Integer.parseInt(value), min, max);
        } catch (NumberFormatException e) {
            return absent;
        }
    }

    /**
     * How many rows to pass over. Beyond what can be it is refused: brought into its range it would
     * be the same page again, and whoever pages would not come to an end.
     *
     * @throws QueenException bad request
     */
    static int offset(Query query, String name, int max) {
        int offset = number(query, name, 0, 0, Integer.MAX_VALUE);
        if (offset > max) {
            throw new QueenException(
                    Failure.BAD_REQUEST,
                    "%s must be at most %d, got %d".formatted(name, max, offset));
        }
        return offset;
    }

    static boolean bool(Query query, String name, boolean absent) {
        return switch (query.text(name)) {
            case "true", "1", "yes" -> true;
            case "false", "0", "no" -> false;
            case null, default -> absent;
        };
    }

    static @Nullable Instant time(Query query, String name) {
        String value = filter(query, name);
        return value == null ? null : time(name, value);
    }

    /**
     * From {@code from} to {@code to}: until now unless they say otherwise, to the second, so that
     * those who ask at once ask the same.
     *
     * @param length of the time that is meant where they say nothing
     * @throws QueenException bad request
     */
    static Window window(Query query, Duration length, Clock clock) {
        Instant to = time(query, "to");
        if (to == null) {
            to = clock.now().truncatedTo(ChronoUnit.SECONDS);
        }
        Instant from = time(query, "from");
        if (from == null) {
            from = to.minus(length);
        }
        if (from.isAfter(to)) {
            throw new QueenException(Failure.BAD_REQUEST, "from must not be after to");
        }
        if (from.isBefore(Instant.EPOCH)) {
            throw new QueenException(Failure.BAD_REQUEST, "from must not be before 1970");
        }
        if (Duration.between(from, to).compareTo(WINDOW_MAX) > 0) {
            throw new QueenException(
                    Failure.BAD_REQUEST,
                    "from and to must be at most %d days apart".formatted(WINDOW_MAX.toDays()));
        }
        return new Window(from, to);
    }

    /** An answer as the database made it. */
    static JsonBuffer json(byte[] text) {
        return new JsonBuffer(text.length).raw(text);
    }

    /**
     * @throws QueenException bad request
     */
    static Instant time(String name, String value) {
        Instant instant = Timestamps.parse(value);
        if (instant == null) {
            throw new QueenException(Failure.BAD_REQUEST, "bad timestamp: " + name);
        }
        return instant;
    }
}
