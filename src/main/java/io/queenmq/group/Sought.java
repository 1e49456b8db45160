package io.queenmq.group;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** What became of a seek. */
public sealed interface Sought {
    /**
     * A group was moved in every lane of a queue.
     *
     * @param lanes lanes the queue has
     * @param from messages created from then on are delivered; null = all that are retained
     * @param holder the transaction that puts {@code from} more than a second back; null = none
     *     does
     */
    record Queue(int queueId, long lanes, @Nullable Instant from, @Nullable Holder holder)
            implements Sought {}

    /**
     * A transaction that may hold messages nobody sees yet.
     *
     * @param pid of its session; 0 = it is prepared and has none
     * @param application name of the session's application, or of the prepared transaction; null =
     *     the server hides it
     */
    record Holder(int pid, @Nullable String application) {}

    /**
     * A group was moved in one lane.
     *
     * @param committed its cursor: the next message is the one behind
     */
    record Lane(int queueId, int groupId, long number, long committed, long lastOffset)
            implements Sought {}

    /** There is no such queue, or it has no lane. */
    record UnknownQueue() implements Sought {}

    /** The queue has no such lane. */
    record UnknownLane() implements Sought {}
}
