package io.queenmq.ack;

import org.jspecify.annotations.Nullable;

/**
 * One acknowledgement as the client sent it.
 *
 * @param partitionId UUID text of the lane; null = missing
 * @param leaseId null or empty = without a lease
 * @param error reason of a failure; null or empty = none
 */
public record AckItem(
        @Nullable String transactionId,
        @Nullable String partitionId,
        @Nullable String leaseId,
        AckStatus status,
        @Nullable String error) {}
