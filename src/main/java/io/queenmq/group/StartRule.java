package io.queenmq.group;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Where a group begins in lanes it has no cursor for.
 *
 * @param sql {@code all}, {@code new} or {@code instant}
 * @param at only with {@code instant}
 */
public record StartRule(String sql, @Nullable Instant at) {
    /** At the oldest retained message. */
    public static final StartRule ALL = new StartRule("all", null);

    /** At the first message stored after the registration. */
    public static final StartRule NEW = new StartRule("new", null);

    /** At the first message created at or after an instant. */
    public static StartRule at(Instant instant) {
        return new StartRule("instant", instant);
    }
}
