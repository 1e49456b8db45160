package io.queenmq.ack;

import org.jspecify.annotations.Nullable;

/** What a consumer says of a message. */
public enum AckStatus {
    COMPLETED,
    FAILED,
    RETRY,
    DEAD_LETTER;

    /**
     * Reads the wire spelling: anything unknown is a failure, so that a typo never loses a message.
     */
    public static AckStatus of(@Nullable String text) {
        return switch (text) {
            case null -> COMPLETED;
            case "completed", "success", "acked", "ok" -> COMPLETED;
            case "retry" -> RETRY;
            case "dlq" -> DEAD_LETTER;
            default -> FAILED;
        };
    }
}
