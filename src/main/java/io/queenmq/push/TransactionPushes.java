package io.queenmq.push;

import io.queenmq.dedup.KeyMemory;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.queue.LaneName;
import io.queenmq.queue.QueueCatalog;
import java.util.ArrayList;
import java.util.List;

/**
 * The pushes of one transaction: split by lane and looked up here, stored by the call of the
 * transaction, which says what became of every lane-batch. For the thread of the request.
 */
public final class TransactionPushes {
    private final PushRequest request;
    private final PushCombiner combiner;
    private final QueueCatalog catalog;
    private final KeyMemory memory;
    private final List<Attempt> attempts;

    TransactionPushes(
            PushRequest request, PushCombiner combiner, QueueCatalog catalog, KeyMemory memory) {
        this.request = request;
        this.combiner = combiner;
        this.catalog = catalog;
        this.memory = memory;
        this.attempts = new ArrayList<>(request.batches().size());
        for (LaneBatch batch : request.batches()) {
            attempts.add(Attempt.of(batch, catalog::lastOffset));
        }
    }

    /** What one lane-batch is told by the call. */
    public record Stored(long baseOffset, long createdMillis, int queueId) {}

    public int lanes() {
        return attempts.size();
    }

    /** The lane of a lane-batch. */
    public LaneName lane(int index) {
        return attempts.get(index).lane();
    }

    /** Messages. */
    public int items() {
        return request.batches().stream().mapToInt(LaneBatch::items).sum();
    }

    /** Of all of them. */
    public long bytes() {
        return request.batches().stream().mapToLong(LaneBatch::bytes).sum();
    }

    /** The lanes, which no other transaction may push to at once. */
    public List<LaneName> touches() {
        return attempts.stream().map(Attempt::lane).toList();
    }

    /**
     * Arguments of append, for a server that has been checked.
     *
     * @param transactions whose lane-batches it takes, one behind the other; no lane is in two
     * @param settle whether they may be stored already, the answer lost
     */
    public static AppendArguments arguments(List<TransactionPushes> transactions, boolean settle) {
        return AppendArguments.of(
                transactions.stream().flatMap(each -> each.attempts.stream()).toList(),
                transactions.getFirst().memory,
                settle);
    }

    /**
     * The database found too much to look for in this lane: what it would have read is read here.
     *
     * @return whether a message turned out to be in the lane already
     */
    public boolean search(int index, long deadlineNanos) {
        Attempt attempt = attempts.get(index);
        try {
            combiner.search(attempt, deadlineNanos);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new QueenException(Failure.STOPPING, "the broker is stopping", e);
        }
        return attempt.works().getFirst().open() < attempt.frames().size();
    }

    /** The lane is gone: the one that has its name now is looked up, or made. */
    public void makeAgain(int index, long deadlineNanos) {
        LaneBatch batch = request.batches().get(index);
        try {
            combiner.makeAgain(attempts.get(index), List.of(batch), deadlineNanos);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new QueenException(Failure.STOPPING, "the broker is stopping", e);
        }
        // Certainly not stored, so it may go by another flush id.
        attempts.set(index, Attempt.of(batch, catalog::lastOffset));
    }

    /** All of them are committed, each as said; whoever waits for messages is told. */
    public void committed(List<Stored> stored) {
        List<PushVerdict> verdicts = new ArrayList<>(stored.size());
        for (int i = 0; i < stored.size(); i++) {
            Stored lane = stored.get(i);
            attempts.get(i).queued(lane.baseOffset(), lane.createdMillis());
            verdicts.add(
                    new PushVerdict.Queued(
                            lane.baseOffset(), lane.createdMillis(), lane.queueId()));
        }
        combiner.tellWhatIsStored(attempts, verdicts);
        stored.stream().mapToInt(Stored::queueId).distinct().forEach(combiner::tellTransaction);
    }

    /** One result per item, in their order, once committed: queued, or the copy of an earlier. */
    public List<PushResult> results() {
        return request.results();
    }
}
