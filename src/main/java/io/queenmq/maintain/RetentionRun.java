package io.queenmq.maintain;

/** What a round of expiry did, added up step by step. For one thread. */
public final class RetentionRun {
    private long lanes;
    private long retention;
    private long completed;
    private long evicted;
    private long segments;
    private long bytes;
    private boolean complete = true;

    RetentionRun() {}

    void add(StorageProcedures.Expired step) {
        lanes += step.lanes();
        retention += step.retention();
        completed += step.completed();
        evicted += step.evicted();
        segments += step.segments();
        bytes += step.bytes();
    }

    void cut() {
        complete = false;
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

    /** Whether nothing is due any more. */
    public boolean isComplete() {
        return complete;
    }
}
