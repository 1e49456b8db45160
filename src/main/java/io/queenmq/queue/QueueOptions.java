package io.queenmq.queue;

/** The configuration of a queue with every value in force; units as on the wire. */
public record QueueOptions(
        String namespace,
        String task,
        int leaseSeconds,
        int retryLimit,
        int retryDelayMs,
        boolean deadLetterQueue,
        boolean dlqAfterMaxRetries,
        int delayedProcessingSeconds,
        int windowBufferSeconds,
        int minPopWaitMs,
        boolean retentionEnabled,
        int retentionSeconds,
        int completedRetentionSeconds,
        int maxWaitSeconds,
        boolean encryptionEnabled,
        int dedupWindowSeconds,
        int priority,
        int maxSize,
        int ttlSeconds,
        String retentionSinkHold,
        int retentionSinkHoldMaxSeconds) {}
