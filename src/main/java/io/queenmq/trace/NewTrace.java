package io.queenmq.trace;

import io.queenmq.model.Slice;
import java.util.List;

/**
 * A note about a message, to be stored.
 *
 * @param data JSON, kept character by character
 * @param names by which it can be found
 */
public record NewTrace(
        long partitionNumber,
        String transactionId,
        String group,
        String eventType,
        Slice data,
        List<String> names) {}
