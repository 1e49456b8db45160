package io.queenmq.ack;

import io.queenmq.db.ColdReads;
import io.queenmq.db.Database;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.ready.LaneWrites;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * The use cases of dead letters; called from the thread of the request, which waits for the
 * database.
 */
public final class DeadLetters {
    /** Most that one bulk replay moves. */
    public static final int REPLAYS_MAX = 1_000;

    private static final int DELETE_STEP = 5_000;

    /** The database's clock may be ahead of ours. */
    private static final Duration CLOCKS_APART_MAX = Duration.ofSeconds(5);

    /**
     * What became of many.
     *
     * @param kept dead letters that cannot be moved to their own lane: they have expired, it is
     *     gone, wants its payloads encrypted, or is held by somebody else for too long
     */
    public record Replayed(int moved, int duplicate, int gone, int kept) {}

    private final DeadLetterProcedures procedures;
    private final DeadLetterReads reads;
    private final LaneWrites writes;
    private final Clock clock;

    /**
     * @param writes is told of lanes that got a message back
     */
    public DeadLetters(Database database, ColdReads reads, LaneWrites writes, Clock clock) {
        this.procedures = new DeadLetterProcedures(database);
        this.reads = new DeadLetterReads(reads);
        this.writes = writes;
        this.clock = clock;
    }

    /** Part of the list, newest first. */
    public DeadLetterPage list(DeadLetterFilter filter) {
        return reads.list(filter);
    }

    /** Deletes what all groups gave up of one message; false = nothing. */
    public boolean delete(UUID tenant, long partitionNumber, String transactionId) {
        return procedures.delete(tenant, partitionNumber, transactionId) > 0;
    }

    /**
     * Deletes what groups, or one of them, gave up in a queue so far; in steps, so that none holds
     * much.
     *
     * @return how many there were
     */
    public long deleteAll(UUID tenant, String queue, @Nullable String group) {
        var until = clock.now().plus(CLOCKS_APART_MAX);
        long deleted = 0;
        DeadLetterFilter.Place last = null;
        do {
            DeadLetterProcedures.Step step =
                    procedures.delete(tenant, queue, group, until, last, DELETE_STEP);
            deleted += step.deleted();
            last = step.last();
        } while (last != null);
        return deleted;
    }

    /** Moves the newest dead letter of a message back to the end of its lane. */
    public Replay retry(UUID tenant, long partitionNumber, String transactionId) {
        List<Long> ids = procedures.of(tenant, partitionNumber, transactionId);
        return ids.isEmpty() ? new Replay.Gone() : replay(tenant, ids.getFirst(), null, null);
    }

    /**
     * Moves a dead letter to the end of a lane.
     *
     * @param queue null = its own; so for {@code partition}
     * @throws QueenException {@code OUTCOME_UNKNOWN}: whether it moved must be looked up
     */
    public Replay replay(UUID tenant, long id, @Nullable String queue, @Nullable String partition) {
        return procedures.replay(
                tenant, id, queue, partition, lane -> writes.written(List.of(lane)));
    }

    /**
     * Moves the oldest dead letters of a queue, or of one group in it, back to the ends of their
     * lanes, in the order in which they were given up; each for itself.
     */
    public Replayed replayAll(UUID tenant, String queue, @Nullable String group, int limit) {
        int moved = 0;
        int duplicate = 0;
        int gone = 0;
        int kept = 0;
        for (long id : procedures.oldest(tenant, queue, group, limit)) {
            switch (replayOrKeep(tenant, id)) {
                case Replay.Moved _ -> moved++;
                case Replay.Duplicate _ -> duplicate++;
                case Replay.Gone() -> gone++;
                case Replay.Expired _, Replay.NoPartition _ -> kept++;
                case null -> kept++;
            }
        }
        return new Replayed(moved, duplicate, gone, kept);
    }

    /** Null = refused for a reason of its own: those behind it go on. */
    private @Nullable Replay replayOrKeep(UUID tenant, long id) {
        try {
            return replay(tenant, id, null, null);
        } catch (QueenException e) {
            if (e.failure() == Failure.QUEUE_ENCRYPTED || e.failure() == Failure.BUSY) {
                return null;
            }
            throw e;
        }
    }
}
