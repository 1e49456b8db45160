package io.queenmq.segment;

/** The bytes of a stored segment contradict its format: a bug of ours, or the disk's. */
public final class DamagedSegment extends RuntimeException {
    private static final long serialVersionUID = 1L;

    DamagedSegment(long partitionNumber, long offset, String what) {
        super("partition " + partitionNumber + ", offset " + offset + ": " + what);
    }
}
