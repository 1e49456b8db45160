package io.queenmq.trace;

import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A note about a message.
 *
 * @param data JSON as it was sent; null = left out with the names, for the answer is full of others
 * @param worker broker that stored it
 * @param names a JSON array
 */
public record Trace(
        UUID id,
        String eventType,
        @Nullable String data,
        String group,
        String worker,
        Instant createdAt,
        String names,
        String transactionId,
        long partitionNumber,
        String queue,
        String partition) {}
