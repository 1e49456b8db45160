package io.queenmq.model;

import java.util.UUID;

/**
 * Numbers inside, UUIDs at the edge: how lanes, messages and leases are named to clients. Pure
 * functions, the twins of those in {@code R__ids.sql}.
 *
 * <p>A message id and a lease id are UUIDs of version 7 that carry the 36-bit number of a lane in
 * the same places: its upper 12 bits beside the version, its lower 24 beside the variant.
 */
public final class Ids {
    /** Numbers of lanes stay below this. */
    public static final long PARTITION_NUMBER_LIMIT = 1L << 36;

    /** Stands where the id of a message is not known any more. */
    public static final UUID NIL = new UUID(0, 0);

    private static final long PARTITION_HIGH = 0x8000L;
    private static final long QUEUE_HIGH = 0x1_8000L;
    private static final long VARIANT = 0x8000_0000_0000_0000L;
    private static final long VERSION_7 = 0x7000L;
    private static final long LOW_24 = 0xFF_FFFFL;
    private static final long LOW_38 = (1L << 38) - 1;

    private Ids() {}

    /** {@code 00000000-0001-8000-8000-00000000002a} for queue 42: apart from that of a lane. */
    public static UUID queueId(int number) {
        return new UUID(QUEUE_HIGH, VARIANT | number);
    }

    /** {@code 00000000-0000-8000-8000-00000000002a} for lane 42. */
    public static UUID partitionId(long number) {
        return new UUID(PARTITION_HIGH, VARIANT | number);
    }

    /** The number of the lane, or 0 where the id names none: numbers start at 1. */
    public static long partitionNumber(UUID partitionId) {
        long number = partitionId.getLeastSignificantBits() ^ VARIANT;
        return partitionId.getMostSignificantBits() == PARTITION_HIGH
                        && number > 0
                        && number < PARTITION_NUMBER_LIMIT
                ? number
                : 0;
    }

    /** Id of a message whose transactionId the client gave: computed, never stored. */
    public static UUID messageId(long createdAtMillis, long partitionNumber, long offset) {
        return new UUID(
                (createdAtMillis << 16) | VERSION_7 | (partitionNumber >>> 24),
                VARIANT | ((partitionNumber & LOW_24) << 38) | (offset & LOW_38));
    }

    /** The minted id with the number of the one lane it covers; 0 = several. */
    public static UUID leaseId(UUID minted, long partitionNumber) {
        return new UUID(
                (minted.getMostSignificantBits() & ~0xFFFL) | (partitionNumber >>> 24),
                VARIANT
                        | ((partitionNumber & LOW_24) << 38)
                        | (minted.getLeastSignificantBits() & LOW_38));
    }

    /** The number of the lane a lease covers, 0 = several, -1 = not a lease id. */
    public static long leasePartition(UUID leaseId) {
        if (leaseId.version() != 7 || leaseId.variant() != 2) {
            return -1;
        }
        return ((leaseId.getMostSignificantBits() & 0xFFF) << 24)
                | ((leaseId.getLeastSignificantBits() >>> 38) & LOW_24);
    }
}
