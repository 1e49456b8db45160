package io.queenmq.ack;

import java.time.Instant;
import java.util.UUID;

/** What became of moving a dead letter back into a lane. */
public sealed interface Replay {
    /**
     * Where it was to go, and what it was.
     *
     * @param transactionId it had as a message
     * @param replayId transactionId of the copy
     */
    record Letter(
            long id,
            String queue,
            String partition,
            String group,
            String transactionId,
            String replayId) {}

    /** The copy is in the lane, the dead letter is gone. */
    record Moved(Letter letter, UUID messageId, long offset, Instant createdAt) implements Replay {}

    /** The lane has a message of that transactionId; nothing was done. */
    record Duplicate(Letter letter) implements Replay {}

    /** There is no such dead letter; another may have moved or deleted it. */
    record Gone() implements Replay {}

    /** Its payload had expired before it was given up: there is nothing to move. */
    record Expired(long id) implements Replay {}

    /** Its lane has been cleaned up, and none was named. */
    record NoPartition(long id) implements Replay {}
}
