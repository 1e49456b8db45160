package io.queenmq.fetch;

import java.util.List;

/**
 * Where in one partition is what is to be read.
 *
 * @param logStart lowest offset kept
 * @param lastOffset newest offset, -1 = none yet
 * @param segments in their order, without gaps
 */
record Located(
        Fetched.Verdict verdict,
        long partitionNumber,
        long logStart,
        long lastOffset,
        List<Segment> segments) {
    /**
     * @param messages from the first wanted one on
     * @param bytes of keys and messages, those before it included
     */
    record Segment(long baseOffset, int messages, int bytes) {}

    long messages() {
        return segments.stream().mapToLong(Segment::messages).sum();
    }

    long bytes() {
        return segments.stream().mapToLong(Segment::bytes).sum();
    }

    /** What was read of them. */
    Fetched with(List<Fetched.Run> runs) {
        return new Fetched(verdict, logStart, lastOffset, runs);
    }
}
