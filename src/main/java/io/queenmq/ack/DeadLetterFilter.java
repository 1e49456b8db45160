package io.queenmq.ack;

import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Which dead letters are asked for; what is null does not matter.
 *
 * @param from given up at or after
 * @param to given up at or before
 * @param search part of the error, whatever its case
 * @param before only those behind this one in the list
 */
public record DeadLetterFilter(
        UUID tenant,
        @Nullable String queue,
        @Nullable String group,
        @Nullable String partition,
        @Nullable Instant from,
        @Nullable Instant to,
        @Nullable String search,
        @Nullable Place before,
        int limit,
        int offset) {

    /** Where a dead letter stands in the list, which has the newest first. */
    public record Place(Instant failedAt, long id) {}
}
