package io.queenmq.pop;

import io.queenmq.combine.Work;
import io.queenmq.model.QueenException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** What one pop asks of one claim, and the answer it waits for. Its own key: pops never clash. */
final class Claim implements Work<Claim> {
    /** What a claim said of a lane. */
    enum Verdict {
        /** Messages, under a lease. */
        LEASED,
        /** Messages, committed. */
        SERVED,
        /** No messages; with a time: none before then. */
        EMPTY,
        /** Under a lease of somebody else. */
        HELD,
        /** Its row is locked by somebody else. */
        BUSY,
        /** The group has no cursor there. */
        NO_CURSOR,
        UNKNOWN_PARTITION,
        /** Not looked at: the claim had enough without it. */
        SPARE
    }

    /**
     * The answer for one candidate. Of one that is empty {@code batchEnd} may be the offset that
     * ends its window before its time; 0 = none does.
     */
    static final class Outcome {
        final Verdict verdict;
        final @Nullable UUID leaseId;
        final @Nullable Instant leaseExpiresAt;
        final @Nullable Instant visibleAt;
        final int attempt;
        final long batchEnd;
        final long lastOffset;
        final List<Run> runs = new ArrayList<>(1);

        Outcome(
                Verdict verdict,
                @Nullable UUID leaseId,
                @Nullable Instant leaseExpiresAt,
                @Nullable Instant visibleAt,
                int attempt,
                long batchEnd,
                long lastOffset) {
            this.verdict = verdict;
            this.leaseId = leaseId;
            this.leaseExpiresAt = leaseExpiresAt;
            this.visibleAt = visibleAt;
            this.attempt = attempt;
            this.batchEnd = batchEnd;
            this.lastOffset = lastOffset;
        }
    }

    /** Messages of one segment; without frames they are still to be read. */
    static final class Run {
        final long baseOffset;
        final int first;
        final int count;
        final Instant createdAt;
        final byte[] keys;
        byte @Nullable [] frames;

        Run(
                long baseOffset,
                int first,
                int count,
                Instant createdAt,
                byte[] keys,
                byte @Nullable [] frames) {
            this.baseOffset = baseOffset;
            this.first = first;
            this.count = count;
            this.createdAt = createdAt;
            this.keys = keys;
            this.frames = frames;
        }
    }

    final PopRequest request;
    final @Nullable UUID mintedLease;
    final int budget;
    final Candidates candidates;
    final CompletableFuture<List<Outcome>> answer = new CompletableFuture<>();

    /**
     * @param mintedLease null = commit what is taken
     */
    Claim(PopRequest request, @Nullable UUID mintedLease, int budget, Candidates candidates) {
        this.request = request;
        this.mintedLease = mintedLease;
        this.budget = budget;
        this.candidates = candidates;
    }

    void fail(QueenException failure) {
        answer.completeExceptionally(failure);
    }

    @Override
    public Claim key() {
        return this;
    }

    @Override
    public Object tenant() {
        return request.tenant();
    }

    @Override
    public Object queue() {
        return candidates.lanes().getFirst().queueId();
    }

    @Override
    public int items() {
        return candidates.lanes().size();
    }

    @Override
    public int bytes() {
        return 256 * candidates.lanes().size();
    }
}
