package io.queenmq.timer;

import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A timer whose message is still to be delivered.
 *
 * @param payload as stored; null = it was not asked for
 * @param encrypted whether that is an envelope
 * @param attempts fires that failed for a reason of its own
 * @param claimed whether a broker is about to deliver it
 */
public record PendingTimer(
        String timerKey,
        String partition,
        Instant deliverAt,
        String transactionId,
        UUID messageId,
        byte @Nullable [] payload,
        boolean encrypted,
        boolean dedup,
        @Nullable String producer,
        int attempts,
        @Nullable String lastError,
        boolean claimed,
        Instant createdAt,
        Instant updatedAt) {}
