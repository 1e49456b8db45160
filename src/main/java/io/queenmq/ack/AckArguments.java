package io.queenmq.ack;

import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * What ack_messages takes, column by column: per unit whose cursor it moves under which lease, per
 * item what is said of which message, the items of the first unit first.
 *
 * @param unitOf place of an item's unit in the other columns, from 1
 */
public record AckArguments(
        UUID[] tenants,
        long[] lanes,
        String[] groups,
        @Nullable UUID[] leases,
        int[] unitOf,
        byte[][] keys,
        Short[] statuses,
        @Nullable String[] errors) {

    static AckArguments of(List<AckUnit> units) {
        int items = units.stream().mapToInt(AckUnit::items).sum();
        AckArguments arguments =
                new AckArguments(
                        new UUID[units.size()],
                        new long[units.size()],
                        new String[units.size()],
                        new UUID[units.size()],
                        new int[items],
                        new byte[items][],
                        new Short[items],
                        new String[items]);
        int at = 0;
        for (int i = 0; i < units.size(); i++) {
            AckUnit unit = units.get(i);
            arguments.tenants[i] = unit.tenant;
            arguments.lanes[i] = unit.lane;
            arguments.groups[i] = unit.group;
            arguments.leases[i] = unit.leaseId;
            for (int j = 0; j < unit.items(); j++) {
                arguments.unitOf[at] = i + 1;
                arguments.keys[at] = unit.keys.get(j).bytes();
                arguments.statuses[at] = number(unit.statuses.get(j));
                arguments.errors[at] = unit.errors.get(j);
                at++;
            }
        }
        return arguments;
    }

    private static short number(AckStatus status) {
        return switch (status) {
            case COMPLETED -> 0;
            case FAILED -> 1;
            case RETRY -> 2;
            case DEAD_LETTER -> 3;
        };
    }
}
