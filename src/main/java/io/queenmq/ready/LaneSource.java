package io.queenmq.ready;

import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Where a structure of ready lanes is filled from. */
interface LaneSource {
    /** A lane with messages beyond the group's cursor; with the end of its lease if it is held. */
    record Found(
            long number, long lastOffset, Instant lastWriteAt, @Nullable Instant leaseExpiresAt) {}

    /** One page, in order of (last write, number), beyond the last of the page before. */
    List<Found> lanesWithWork(int queueId, int groupId, @Nullable Found after, int limit);
}
