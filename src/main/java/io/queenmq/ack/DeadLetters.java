package io.queenmq.ack;

import io.queenmq.ack.DeadLetterProcedures.Answer;
import io.queenmq.ack.DeadLetterProcedures.Payload;
import io.queenmq.cipher.PayloadCipher;
import io.queenmq.db.ColdReads;
import io.queenmq.db.Database;
import io.queenmq.db.LostAnswer;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.model.Slice;
import io.queenmq.ready.ReadyLanes;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.function.LongConsumer;
import org.jspecify.annotations.Nullable;

/**
 * The use cases of dead letters; called from the thread of the request, which waits for the
 * database.
 */
public final class DeadLetters {
    /** Most that one bulk replay moves. */
    public static final int REPLAYS_MAX = 1_000;

    /** After so long a bulk replay begins no further move. */
    private static final Duration REPLAYS_BUDGET = Duration.ofSeconds(20);

    /** A queue may begin or end to encrypt while a payload is made ready for it. */
    private static final int REPLAY_ATTEMPTS_MAX = 4;

    private static final int DELETE_STEP = 5_000;

    /** The database's clock may be ahead of ours. */
    private static final Duration CLOCKS_APART_MAX = Duration.ofSeconds(5);

    /**
     * What became of many.
     *
     * @param kept dead letters that cannot be moved to their own lane: they have expired, it is
     *     gone, wants payloads encrypted and there is no key, or is held by somebody else for too
     *     long
     * @param next behind which to go on; null = there is nothing left
     * @param stopped why it stopped early, other than for the time; the one it was at is not
     *     counted
     */
    public record Replayed(
            int moved,
            int duplicate,
            int gone,
            int kept,
            DeadLetterFilter.@Nullable Place next,
            @Nullable String stopped) {}

    private final Database database;
    private final DeadLetterProcedures procedures;
    private final DeadLetterReads reads;
    private final ReadyLanes ready;
    private final PayloadCipher cipher;
    private final Clock clock;

    /**
     * @param ready is told of lanes that got a message back
     * @param cipher makes payloads what the queues they go to want
     */
    public DeadLetters(
            Database database,
            ColdReads reads,
            ReadyLanes ready,
            PayloadCipher cipher,
            Clock clock) {
        this.database = database;
        this.procedures = new DeadLetterProcedures(database);
        this.reads = new DeadLetterReads(reads);
        this.ready = ready;
        this.cipher = cipher;
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
     * @param progress told after each step how many are gone, for good
     * @return how many there were
     */
    public long deleteAll(
            UUID tenant, String queue, @Nullable String group, LongConsumer progress) {
        var until = clock.now().plus(CLOCKS_APART_MAX);
        long deleted = 0;
        DeadLetterFilter.Place last = null;
        do {
            DeadLetterProcedures.Step step =
                    procedures.delete(tenant, queue, group, until, last, DELETE_STEP);
            deleted += step.deleted();
            progress.accept(deleted);
            last = step.last();
        } while (last != null);
        return deleted;
    }

    /** Number of the newest dead letter of a message; 0 = it has none. */
    public long newest(UUID tenant, long partitionNumber, String transactionId) {
        List<Long> ids = procedures.of(tenant, partitionNumber, transactionId);
        return ids.isEmpty() ? 0 : ids.getFirst();
    }

    /**
     * Moves a dead letter to the end of a lane.
     *
     * @param queue null = its own; so for {@code partition}
     * @throws QueenException {@code OUTCOME_UNKNOWN}: whether it moved must be looked up; {@code
     *     QUEUE_ENCRYPTED}: the queue wants the payload encrypted, and there is no key
     */
    public Replay replay(UUID tenant, long id, @Nullable String queue, @Nullable String partition) {
        Payload payload = null;
        for (int attempt = 1; attempt <= REPLAY_ATTEMPTS_MAX; attempt++) {
            switch (attempt(tenant, id, queue, partition, payload)) {
                case Answer.Done(Replay replay) -> {
                    return replay;
                }
                case Answer.Seal(byte[] plain) ->
                        payload = new Payload(cipher.seal(Slice.of(plain)).copy(), true);
                case Answer.Open(byte[] envelope) -> payload = opened(Slice.of(envelope));
            }
        }
        throw new QueenException(
                Failure.BUSY, "the queue it was to go to keeps changing whether it encrypts");
    }

    /** In the clear; an envelope that the key does not open stays one. */
    private Payload opened(Slice envelope) {
        Slice payload = cipher.open(envelope);
        return new Payload(payload.copy(), payload.equals(envelope));
    }

    private Answer attempt(
            UUID tenant,
            long id,
            @Nullable String queue,
            @Nullable String partition,
            @Nullable Payload payload) {
        try {
            return procedures.replay(
                    tenant, id, queue, partition, payload, lane -> ready.written(List.of(lane)));
        } catch (QueenException e) {
            // It may have moved all the same, and polls may be waiting for it.
            if (LostAnswer.decide(database, e)) {
                ready.anythingMoved();
            }
            throw e;
        }
    }

    /**
     * Moves the oldest dead letters of a queue, or of one group in it, back to the ends of their
     * lanes, in the order in which they were given up; each for itself. A lane that is held by
     * somebody else is waited for once.
     *
     * @param after behind which to begin; null = at the oldest
     * @throws QueenException only if nothing was done before
     */
    public Replayed replayAll(
            UUID tenant,
            String queue,
            @Nullable String group,
            DeadLetterFilter.@Nullable Place after,
            int limit) {
        long start = clock.nanos();
        List<DeadLetterProcedures.Oldest> oldest =
                procedures.oldest(tenant, queue, group, after, limit);
        Set<Long> busy = new HashSet<>();
        int moved = 0;
        int duplicate = 0;
        int gone = 0;
        int kept = 0;
        DeadLetterFilter.Place last = null;
        for (DeadLetterProcedures.Oldest letter : oldest) {
            if (last != null && clock.nanos() - start > REPLAYS_BUDGET.toNanos()) {
                return new Replayed(moved, duplicate, gone, kept, last, null);
            }
            try {
                switch (busy.contains(letter.lane()) ? null : replayOrKeep(tenant, letter, busy)) {
                    case Replay.Moved _ -> moved++;
                    case Replay.Duplicate _ -> duplicate++;
                    case Replay.Gone() -> gone++;
                    case Replay.Expired _, Replay.NoPartition _ -> kept++;
                    case null -> kept++;
                }
            } catch (QueenException e) {
                if (last == null) {
                    throw e;
                }
                return new Replayed(moved, duplicate, gone, kept, last, e.failure().code());
            }
            last = letter.place();
        }
        return new Replayed(
                moved, duplicate, gone, kept, oldest.size() < limit ? null : last, null);
    }

    /** Null = refused for a reason of its own, or of its lane: others go on. */
    private @Nullable Replay replayOrKeep(
            UUID tenant, DeadLetterProcedures.Oldest letter, Set<Long> busy) {
        try {
            return replay(tenant, letter.place().id(), null, null);
        } catch (QueenException e) {
            if (e.failure() == Failure.BUSY) {
                busy.add(letter.lane());
            } else if (e.failure() != Failure.QUEUE_ENCRYPTED) {
                throw e;
            }
            return null;
        }
    }
}
