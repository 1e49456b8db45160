package io.queenmq.ack;

import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** What ack_batches takes, column by column: whose cursor ends which lease, and where. */
public record BatchArguments(long[] lanes, int[] groups, @Nullable UUID[] leases, long[] ends) {

    /**
     * @param units each the ack of a whole batch
     */
    static BatchArguments of(List<AckUnit> units) {
        int size = units.size();
        BatchArguments arguments =
                new BatchArguments(
                        new long[size], new int[size], new @Nullable UUID[size], new long[size]);
        for (int i = 0; i < size; i++) {
            AckUnit unit = units.get(i);
            arguments.lanes[i] = unit.lane;
            arguments.groups[i] = unit.groupId();
            arguments.leases[i] = unit.leaseId;
            arguments.ends[i] = unit.batchEnd();
        }
        return arguments;
    }
}
