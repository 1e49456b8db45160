package io.queenmq.push;

import io.queenmq.model.Slice;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * One message to store.
 *
 * @param transactionId the producer's idempotency key; null = the broker mints one
 * @param payload JSON text exactly as received
 */
public record PushItem(
        String queue,
        String partition,
        @Nullable String transactionId,
        @Nullable UUID traceId,
        Slice payload) {}
