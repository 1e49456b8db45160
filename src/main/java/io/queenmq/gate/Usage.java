package io.queenmq.gate;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What a tenant was last seen to have.
 *
 * @param rows keys
 * @param bytes of their values
 * @param timers scheduled messages
 * @param measuredAt null = it was not measured yet
 */
public record Usage(long rows, long bytes, long timers, @Nullable Instant measuredAt) {
    static final Usage NONE = new Usage(0, 0, 0, null);
}
