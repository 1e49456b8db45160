package io.queenmq.maintain;

import java.time.Duration;
import java.util.HashSet;
import java.util.Optional;
import java.util.Set;

/** What a round of expiry and of removing idle lanes did, added up step by step. For one thread. */
public final class RetentionRun {
    private final Set<Integer> queueIds = new HashSet<>();
    private long lanes;
    private long removedLanes;
    private long retention;
    private long completed;
    private long evicted;
    private long segments;
    private long bytes;
    private boolean complete = true;

    RetentionRun() {}

    void add(StorageProcedures.Expired step) {
        queueIds.addAll(step.queueIds());
        lanes += step.lanes();
        retention += step.retention();
        completed += step.completed();
        evicted += step.evicted();
        segments += step.segments();
        bytes += step.bytes();
    }

    void add(StorageProcedures.Removed step) {
        removedLanes += step.lanes();
    }

    void cut() {
        complete = false;
    }

    /** What the log says of it; empty = nothing went. */
    Optional<String> line(Duration elapsed) {
        long messages = messages();
        return messages + removedLanes == 0
                ? Optional.empty()
                : Optional.of(
                        ("retention swept queues=%d due=%d segments_deleted=%d txns_purged=%d"
                                        + " max_wait_evicted=%d partitions_deleted=%d elapsed_ms=%d")
                                .formatted(
                                        queues(),
                                        lanes,
                                        segments,
                                        messages,
                                        evicted,
                                        removedLanes,
                                        elapsed.toMillis()));
    }

    /** Messages gone, by whatever rule. */
    public long messages() {
        return retention + completed + evicted;
    }

    /** Queues that had lanes that were due. */
    public int queues() {
        return queueIds.size();
    }

    /** Lanes that were due. */
    public long lanes() {
        return lanes;
    }

    /** Messages gone for their age, read or not. */
    public long retention() {
        return retention;
    }

    /** Messages gone that every group had read. */
    public long completed() {
        return completed;
    }

    /** Messages gone because they had waited too long. */
    public long evicted() {
        return evicted;
    }

    /** Segments of these; an estimate where they are very many. */
    public long segments() {
        return segments;
    }

    /** Bytes of these, before compression. */
    public long bytes() {
        return bytes;
    }

    /** Lanes removed that nobody used. */
    public long removedLanes() {
        return removedLanes;
    }

    /** Whether nothing is due any more. */
    public boolean isComplete() {
        return complete;
    }
}
