package io.queenmq.push;

import java.util.UUID;

/** What became of one pushed item. */
public sealed interface PushResult {
    UUID messageId();

    String transactionId();

    /** Committed under this id. */
    record Queued(UUID messageId, String transactionId) implements PushResult {}

    /** Its transactionId is in the lane already; {@code messageId} is the original's. */
    record Duplicate(UUID messageId, String transactionId) implements PushResult {}

    /** Certainly not stored; the client must send it again. */
    record Failed(UUID messageId, String transactionId) implements PushResult {}
}
