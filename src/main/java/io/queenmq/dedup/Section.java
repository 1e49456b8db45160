package io.queenmq.dedup;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.ReentrantLock;

/**
 * The memory of some lanes with dedup windows of about one length. Keys stand as fingerprints in
 * buckets by time of creation: forgetting is dropping the oldest bucket, for lanes hot and cold
 * alike.
 */
final class Section {
    private static final class Bucket {
        /** Holds the keys created from here until the start of the next bucket. */
        final long startMillis;

        final Fingerprints keys;

        /** Its newest key. */
        long newestMillis;

        Bucket(long startMillis, long openBytesMax) {
            this.keys = new Fingerprints(openBytesMax);
            this.startMillis = startMillis;
            this.newestMillis = startMillis;
        }
    }

    private final long spanMillis;
    private final long bucketBytesMax;
    private final long openBytesMax;

    /** Guards what follows. */
    private final ReentrantLock state = new ReentrantLock();

    /** Oldest first. */
    private final List<Bucket> buckets = new ArrayList<>();

    private LaneColumns lanes = new LaneColumns();

    /** Keys created earlier than this may be gone. */
    private long droppedMillis = Long.MIN_VALUE;

    private long newestMillis = Long.MIN_VALUE;
    private long bucketBytes;
    private volatile long bytes = lanes.bytes();

    Section(long spanMillis, long bucketBytesMax, long openBytesMax) {
        this.spanMillis = spanMillis;
        this.bucketBytesMax = bucketBytesMax;
        this.openBytesMax = openBytesMax;
    }

    /** Memory it holds; any thread. */
    long bytes() {
        return bytes;
    }

    /** See {@link KeyMemory#vouch}; keys created before {@code cutoffMillis} do not count. */
    Range vouch(long lane, long[] fingerprints, int count, long cutoffMillis) {
        state.lock();
        try {
            Range range = range(lane, cutoffMillis);
            if (range.isNothing()) {
                return range;
            }
            if (range.from() > 0) {
                lanes.uncovered[lanes.find(lane)]++;
            }
            for (int b = buckets.size() - 1; b >= 0; b--) {
                if (buckets.get(b).keys.containsAny(fingerprints, count)) {
                    return Range.NOTHING;
                }
            }
            return range;
        } finally {
            state.unlock();
        }
    }

    /** The offsets whose keys are all remembered, whatever counts. */
    Range known(long lane, long cutoffMillis) {
        state.lock();
        try {
            Range range = range(lane, cutoffMillis);
            return range.isNothing() ? range : new Range(lanes.low[lanes.find(lane)], range.to());
        } finally {
            state.unlock();
        }
    }

    private Range range(long lane, long cutoffMillis) {
        int at = lanes.find(lane);
        if (at == LaneColumns.NONE) {
            return Range.NOTHING;
        }
        if (droppedMillis > cutoffMillis && droppedMillis > lanes.lowMillis[at]) {
            // Keys that still count had to go: only what came after a mark is known for certain.
            if (droppedMillis <= lanes.olderMarkMillis[at]) {
                beginAt(at, lanes.olderMark[at], lanes.olderMarkMillis[at]);
            } else if (droppedMillis <= lanes.markMillis[at]) {
                beginAt(at, lanes.mark[at], lanes.markMillis[at]);
            } else {
                return Range.NOTHING;
            }
        }
        boolean nothingBelowCounts = lanes.belowMillis[at] < cutoffMillis;
        return new Range(nothingBelowCounts ? 0 : lanes.low[at], lanes.last[at]);
    }

    private void beginAt(int at, long offset, long millis) {
        lanes.low[at] = offset;
        lanes.lowMillis[at] = millis;
        lanes.belowMillis[at] = millis;
    }

    /** Messages of a lane were stored at {@code base}. */
    void stored(long lane, long base, long createdMillis, long[] fingerprints, int count) {
        state.lock();
        try {
            remember(createdMillis, fingerprints, count);
            int at = lanes.find(lane);
            if (at == LaneColumns.NONE || base <= lanes.last[at]) {
                if (at == LaneColumns.NONE) {
                    at = lanes.add(lane);
                }
                begin(at, base, base == 0 ? Long.MIN_VALUE : createdMillis, createdMillis);
            } else if (base > lanes.last[at] + 1) {
                // Somebody else wrote in between: the range ends before that.
                lanes.uncovered[at]++;
                return;
            }
            lanes.last[at] = base + count - 1;
            lanes.lastMillis[at] = createdMillis;
            if (lanes.markMillis[at] < buckets.getLast().startMillis) {
                lanes.olderMark[at] = lanes.mark[at];
                lanes.olderMarkMillis[at] = lanes.markMillis[at];
                lanes.mark[at] = base;
                lanes.markMillis[at] = createdMillis;
            }
        } finally {
            account();
            state.unlock();
        }
    }

    /** The lane was made just now: nothing is stored in it. */
    void created(long lane, long nowMillis) {
        state.lock();
        try {
            if (lanes.find(lane) == LaneColumns.NONE) {
                int at = lanes.add(lane);
                begin(at, 0, Long.MIN_VALUE, nowMillis);
                lanes.last[at] = -1;
                lanes.lastMillis[at] = nowMillis;
            }
        } finally {
            account();
            state.unlock();
        }
    }

    /** Keys of stored messages were read back. */
    void read(long createdMillis, long[] fingerprints, int count) {
        state.lock();
        try {
            remember(createdMillis, fingerprints, count);
        } finally {
            account();
            state.unlock();
        }
    }

    /** All keys of the range have been read back; what is below it was created before that. */
    void hydrated(long lane, Range range, long belowMillis, long lowMillis, long lastMillis) {
        state.lock();
        try {
            int at = lanes.find(lane);
            if (at == LaneColumns.NONE) {
                at = lanes.add(lane);
            }
            begin(at, range.from(), belowMillis, lowMillis);
            lanes.last[at] = range.to();
            lanes.lastMillis[at] = lastMillis;
        } finally {
            account();
            state.unlock();
        }
    }

    private void begin(int at, long low, long belowMillis, long lowMillis) {
        lanes.low[at] = low;
        lanes.belowMillis[at] = belowMillis;
        lanes.lowMillis[at] = lowMillis;
        lanes.mark[at] = low;
        lanes.markMillis[at] = lowMillis;
        lanes.olderMark[at] = low;
        lanes.olderMarkMillis[at] = lowMillis;
        lanes.uncovered[at] = 0;
    }

    boolean wantsHydration(long lane, int uncoveredMax, int pause) {
        state.lock();
        try {
            int at = lanes.find(lane);
            if (at == LaneColumns.NONE || lanes.uncovered[at] < uncoveredMax) {
                return false;
            }
            lanes.uncovered[at] = -pause;
            return true;
        } finally {
            state.unlock();
        }
    }

    /** Forgets what was created before that, if whole buckets are. */
    void expire(long cutoffMillis) {
        state.lock();
        try {
            while (!buckets.isEmpty() && endOfOldest() <= cutoffMillis) {
                dropOldest();
            }
            if (buckets.isEmpty()) {
                // Lanes that were made and never written to: no bucket takes them along.
                lanes.dropOlderThan(cutoffMillis);
            }
        } finally {
            account();
            state.unlock();
        }
    }

    /** Forgets the oldest keys although they still count: there is no room for more. */
    void evict() {
        state.lock();
        try {
            if (buckets.isEmpty()) {
                lanes = new LaneColumns();
            } else {
                dropOldest();
            }
        } finally {
            account();
            state.unlock();
        }
    }

    /** All its keys are older. The next bucket may begin much later: lanes can be quiet at once. */
    private long endOfOldest() {
        return buckets.getFirst().newestMillis + 1;
    }

    private void dropOldest() {
        droppedMillis = Math.max(droppedMillis, endOfOldest());
        bucketBytes -= buckets.removeFirst().keys.bytes();
        lanes.dropOlderThan(droppedMillis);
    }

    private void remember(long createdMillis, long[] fingerprints, int count) {
        Bucket bucket = bucketOf(createdMillis);
        bucket.newestMillis = Math.max(bucket.newestMillis, createdMillis);
        Fingerprints keys = bucket.keys;
        newestMillis = Math.max(newestMillis, createdMillis);
        for (int i = 0; i < count; i++) {
            bucketBytes += keys.add(fingerprints[i]);
        }
    }

    private Bucket bucketOf(long createdMillis) {
        int at = buckets.size() - 1;
        while (at >= 0 && buckets.get(at).startMillis > createdMillis) {
            at--;
        }
        if (at < 0) {
            return open(0, Math.floorDiv(createdMillis, spanMillis) * spanMillis);
        }
        Bucket bucket = buckets.get(at);
        boolean full =
                createdMillis - bucket.startMillis >= spanMillis
                        || bucket.keys.bytes() >= bucketBytesMax;
        // A new bucket begins after everything that stands in the one before.
        if (full && at == buckets.size() - 1 && createdMillis > newestMillis) {
            return open(at + 1, createdMillis);
        }
        return bucket;
    }

    private Bucket open(int at, long startMillis) {
        if (at > 0) {
            bucketBytes += buckets.get(at - 1).keys.pack();
        }
        Bucket bucket = new Bucket(startMillis, openBytesMax);
        buckets.add(at, bucket);
        bucketBytes += bucket.keys.bytes();
        return bucket;
    }

    private void account() {
        bytes = bucketBytes + lanes.bytes();
    }
}
