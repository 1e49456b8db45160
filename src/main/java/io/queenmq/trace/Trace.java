package io.queenmq.trace;

import java.time.Instant;
import java.util.UUID;

/**
 * A note about a message.
 *
 * @param data JSON as it was sent
 * @param worker broker that stored it
 * @param names a JSON array
 */
public record Trace(
        UUID id,
        String eventType,
        String data,
        String group,
        String worker,
        Instant createdAt,
        String names,
        String transactionId,
        long partitionNumber,
        String queue,
        String partition) {}
