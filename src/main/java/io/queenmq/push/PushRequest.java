package io.queenmq.push;

import io.queenmq.dedup.KeyIndex;
import io.queenmq.model.Caller;
import io.queenmq.model.Failure;
import io.queenmq.model.Ids;
import io.queenmq.model.Names;
import io.queenmq.model.QueenException;
import io.queenmq.model.UuidMint;
import io.queenmq.queue.LaneName;
import io.queenmq.segment.Frame;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * One push: its items split by lane in their order, each transactionId once per lane, and put
 * together again when every lane is answered.
 */
final class PushRequest {
    /** The messages of a lane, as they are found. */
    private static final class Draft {
        final int ordinal;
        final LaneName lane;
        final List<Frame> frames = new ArrayList<>();

        Draft(int ordinal, LaneName lane) {
            this.ordinal = ordinal;
            this.lane = lane;
        }
    }

    private final List<PushItem> items;
    private final String[] transactionIds;

    /** Of each item, the lane it is for and its place there: its own, or that of the first. */
    private final int[] laneOf;

    private final int[] placeOf;
    private final boolean[] follows;
    private final List<LaneBatch> batches;
    private final CountDownLatch answered;
    private int failedCount;

    /**
     * Checks every item before anything is stored.
     *
     * @throws QueenException {@code BAD_REQUEST}
     */
    PushRequest(Caller caller, List<PushItem> items, UuidMint mint, long deadlineNanos) {
        this.items = items;
        this.transactionIds = new String[items.size()];
        this.laneOf = new int[items.size()];
        this.placeOf = new int[items.size()];
        this.follows = new boolean[items.size()];
        List<Draft> drafts = split(caller, mint);
        this.answered = new CountDownLatch(drafts.size());
        this.batches = new ArrayList<>(drafts.size());
        for (Draft draft : drafts) {
            batches.add(new LaneBatch(draft.lane, draft.frames, answered, deadlineNanos));
        }
    }

    private List<Draft> split(Caller caller, UuidMint mint) {
        Map<LaneName, Draft> byName = new HashMap<>();
        List<Draft> drafts = new ArrayList<>();
        KeyIndex seen = items.size() > 1 ? new KeyIndex(items.size()) : null;
        Draft draft = null;
        for (int i = 0; i < items.size(); i++) {
            PushItem item = items.get(i);
            if (draft == null || !isFor(draft, item)) {
                LaneName name = laneName(caller.tenant(), item, i);
                draft = byName.get(name);
                if (draft == null) {
                    draft = new Draft(drafts.size(), name);
                    byName.put(name, draft);
                    drafts.add(draft);
                }
            }
            Frame frame = frame(item, i, caller.subject(), mint);
            int place = draft.frames.size();
            int leader =
                    seen == null
                            ? -1
                            : seen.put(draft.ordinal, frame.key().high(), frame.key().low(), place);
            laneOf[i] = draft.ordinal;
            if (leader >= 0) {
                placeOf[i] = leader;
                follows[i] = true;
            } else {
                placeOf[i] = place;
                draft.frames.add(frame);
            }
        }
        return drafts;
    }

    private static boolean isFor(Draft draft, PushItem item) {
        return item.queue().equals(draft.lane.queue())
                && item.partition().equals(draft.lane.partition());
    }

    private static LaneName laneName(UUID tenant, PushItem item, int index) {
        String queue = Names.name("items[" + index + "].queue", item.queue());
        String partition =
                item.partition().isEmpty()
                        ? Names.DEFAULT_PARTITION
                        : Names.name("items[" + index + "].partition", item.partition());
        return new LaneName(tenant, queue, partition);
    }

    private Frame frame(PushItem item, int index, @Nullable String producer, UuidMint mint) {
        String transactionId = item.transactionId();
        if (transactionId == null || transactionId.isEmpty()) {
            UUID id = mint.mint();
            transactionIds[index] = id.toString();
            return Frame.minted(id, item.traceId(), producer, item.payload());
        }
        if (!Names.isTransactionId(transactionId)) {
            // Refuses; its name is made only now.
            Names.transactionId("items[" + index + "].transactionId", transactionId);
        }
        transactionIds[index] = transactionId;
        return Frame.of(transactionId, item.traceId(), producer, item.payload());
    }

    List<LaneBatch> batches() {
        return batches;
    }

    /** True once every lane is answered. */
    boolean await(long nanos) throws InterruptedException {
        return answered.await(nanos, TimeUnit.NANOSECONDS);
    }

    /**
     * Why the request as a whole is refused; null = each item has its result. In doubt about one
     * lane is in doubt about the request. Otherwise it is refused only if nothing was stored, and
     * not for want of a database: then the items say so.
     */
    @Nullable QueenException refusal() {
        QueenException first = null;
        boolean nothingDecided = true;
        for (LaneBatch batch : batches) {
            QueenException refusal = batch.refusal();
            if (refusal == null) {
                nothingDecided = false;
            } else if (refusal.failure() == Failure.OUTCOME_UNKNOWN) {
                return refusal;
            } else {
                nothingDecided &= batch.open() == batch.items();
                if (first == null && !isPerItem(refusal.failure())) {
                    first = refusal;
                }
            }
        }
        return nothingDecided ? first : null;
    }

    private static boolean isPerItem(Failure failure) {
        return failure == Failure.DATABASE_AWAY || failure == Failure.INTERNAL;
    }

    /** One result per item, in their order. */
    List<PushResult> results() {
        PushResult[] results = new PushResult[items.size()];
        for (int i = 0; i < results.length; i++) {
            LaneBatch batch = batches.get(laneOf[i]);
            UUID id = batch.id(placeOf[i]);
            String transactionId = transactionIds[i];
            results[i] =
                    switch (batch.fate(placeOf[i])) {
                        case QUEUED ->
                                follows[i]
                                        ? new PushResult.Duplicate(id, transactionId)
                                        : new PushResult.Queued(id, transactionId);
                        case DUPLICATE -> new PushResult.Duplicate(id, transactionId);
                        case OPEN -> {
                            failedCount++;
                            yield new PushResult.Failed(Ids.NIL, transactionId);
                        }
                    };
        }
        return Arrays.asList(results);
    }

    int failedCount() {
        return failedCount;
    }
}
