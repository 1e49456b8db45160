package io.queenmq.push;

import java.util.UUID;

/** What append said about one lane-batch. */
sealed interface PushVerdict {
    /** Stored, the first message at {@code baseOffset}. */
    record Queued(long baseOffset, long createdMillis, int queueId) implements PushVerdict {}

    /** Not stored: these messages of the batch, from 0, are in the lane already. */
    record Duplicates(int[] positions, UUID[] originalIds) implements PushVerdict {}

    /** Not stored: looking for duplicates would read too much under the lane's lock. */
    record Cold() implements PushVerdict {}

    /** Not stored: somebody else holds the lane. */
    record Busy() implements PushVerdict {}

    /** Not stored: the lane or its queue is gone. */
    record UnknownPartition() implements PushVerdict {}
}
