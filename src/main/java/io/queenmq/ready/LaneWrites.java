package io.queenmq.ready;

import java.util.List;
import java.util.UUID;

/**
 * Who wants to know which lanes were written: told after the commit and never before it, from any
 * thread, and only about this broker's own writes. An implementation never blocks and never throws.
 */
@FunctionalInterface
public interface LaneWrites {

    /**
     * A lane that has new messages.
     *
     * @param number number of the lane
     * @param lastOffset offset of the newest message that this write stored
     */
    record Lane(
            UUID tenant,
            int queueId,
            String queue,
            long number,
            String partition,
            long lastOffset) {}

    void written(List<Lane> lanes);
}
