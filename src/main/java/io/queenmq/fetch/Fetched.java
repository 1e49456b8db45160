package io.queenmq.fetch;

import io.queenmq.segment.MessageKey;
import java.time.Instant;
import java.util.List;

/**
 * What was read of one partition.
 *
 * @param logStart lowest offset kept
 * @param lastOffset newest offset, -1 = none yet
 */
public record Fetched(Verdict verdict, long logStart, long lastOffset, List<Run> runs) {
    /** Whether it could be read. */
    public enum Verdict {
        /** It was; there may be nothing to read. */
        OK,
        /** There is no such queue. */
        UNKNOWN_QUEUE,
        /** The offset is below what is kept, or beyond the next one. */
        OUT_OF_RANGE
    }

    /**
     * Messages of one segment.
     *
     * @param first index in the segment of the first one that is wanted
     */
    public record Run(
            long partitionNumber,
            long baseOffset,
            int first,
            Instant createdAt,
            byte[] keys,
            byte[] frames) {
        /** Messages from the first wanted one on. */
        public int count() {
            return keys.length / MessageKey.BYTES - first;
        }
    }
}
