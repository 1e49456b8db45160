package io.queenmq.http;

import io.queenmq.pop.StartAt;
import io.queenmq.web.Timestamps;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** Where a group asks to begin. Pure. */
final class Subscription {
    private Subscription() {}

    /**
     * The point in time wins over the mode; a point that cannot be read counts as now, and a mode
     * that is not {@code new} as everything.
     */
    static StartAt of(@Nullable String mode, @Nullable String from, boolean nowByDefault) {
        if (from != null && !from.isEmpty()) {
            Instant instant = from.equals("now") ? null : Timestamps.parse(from);
            return instant == null ? new StartAt.Now() : new StartAt.At(instant);
        }
        boolean now =
                switch (mode) {
                    case null -> nowByDefault;
                    case "" -> nowByDefault;
                    case "new", "new-only", "new_only", "newonly" -> true;
                    default -> false;
                };
        return now ? new StartAt.Now() : new StartAt.Oldest();
    }
}
