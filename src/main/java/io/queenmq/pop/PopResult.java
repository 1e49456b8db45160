package io.queenmq.pop;

import java.time.Instant;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What a pop took.
 *
 * @param leaseId the lease over all lanes; null with autoAck or when nothing was taken
 * @param lanes one entry per lane with at least one message; empty = nothing to deliver
 * @param conflation what the group's policy is, delivery or not
 * @param chosen what the broker chose for it; null = it was not asked to, or had no choice
 * @param paused deliveries are stopped: nothing was looked at
 */
public record PopResult(
        @Nullable UUID leaseId,
        List<Lane> lanes,
        Conflation conflation,
        @Nullable Chosen chosen,
        boolean paused) {
    public static final PopResult EMPTY = new PopResult(null, List.of());

    /** A result of a group that delivers every message. */
    public PopResult(@Nullable UUID leaseId, List<Lane> lanes) {
        this(leaseId, lanes, Conflation.NONE, null, false);
    }

    /**
     * The policy is not asked for either: whoever wants one is told that nothing speaks against.
     */
    static PopResult paused(@Nullable Boolean asked) {
        return new PopResult(null, List.of(), Conflation.asAsked(asked), null, true);
    }

    PopResult with(Conflation policy) {
        return policy.equals(conflation)
                ? this
                : new PopResult(leaseId, lanes, policy, chosen, paused);
    }

    PopResult with(Chosen choice) {
        return new PopResult(leaseId, lanes, conflation, choice, paused);
    }

    /** Messages of one lane, oldest first. */
    public record Lane(
            String queue,
            String partition,
            long partitionNumber,
            int groupId,
            int attempt,
            List<Batch> batches) {}

    /**
     * A run of messages of one segment; {@code segment.FrameReader} walks it.
     *
     * @param baseOffset offset of the segment's first message
     * @param first index in the segment of the first message of the run
     * @param count messages in the run
     * @param createdAt of every message, microseconds
     */
    public record Batch(
            long baseOffset, int first, int count, Instant createdAt, byte[] keys, byte[] frames) {}
}
