package io.queenmq.admin;

import io.queenmq.model.Failure;
import io.queenmq.model.Names;
import io.queenmq.model.QueenException;
import io.queenmq.web.Query;
import io.queenmq.web.Timestamps;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Parameters as management routes take them: a number or switch that cannot be read counts as
 * absent, an empty text too; only a point in time refuses the request.
 */
final class AdminQuery {
    private static final int FILTER_BYTES_MAX = 4_096;

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
