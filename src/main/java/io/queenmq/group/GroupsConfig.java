package io.queenmq.group;

import java.time.Duration;

/**
 * Bounds of the memory of groups.
 *
 * @param groupsMax groups remembered
 * @param refresh a group is asked for again after this, should word of a change have been lost
 */
public record GroupsConfig(int groupsMax, Duration refresh) {
    public static final GroupsConfig DEFAULT = new GroupsConfig(100_000, Duration.ofMinutes(1));
}
