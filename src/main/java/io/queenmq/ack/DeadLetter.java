package io.queenmq.ack;

import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A message that a group gave up.
 *
 * @param partition null = its lane has been cleaned up
 * @param payload as stored; null = it had expired before, or {@code omitted}
 * @param omitted whether it was left out because the page is full of payload
 * @param flags of its frame
 * @param createdAt when it was pushed; null where that was not known any more
 */
public record DeadLetter(
        long id,
        String queue,
        long partitionNumber,
        @Nullable String partition,
        String group,
        long offset,
        UUID messageId,
        String transactionId,
        byte @Nullable [] payload,
        boolean omitted,
        int flags,
        @Nullable UUID traceId,
        @Nullable String producer,
        @Nullable Instant createdAt,
        String error,
        int retryCount,
        Instant failedAt) {}
