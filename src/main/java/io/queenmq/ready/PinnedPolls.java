package io.queenmq.ready;

import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.SequencedSet;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Polls that wait for one lane: by number, or by name while the lane does not exist. A poll enters
 * before it looks, so that a write in between is not lost; a wake goes to one poll per group, which
 * passes it on if it does not use it.
 */
final class PinnedPolls {
    private record Name(UUID tenant, String queue, String partition) {}

    private record Lane(int queueId, Map<Integer, LinkedHashSet<Poll>> byGroup) {}

    private final ConcurrentHashMap<Long, Lane> byNumber = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<Name, Set<Poll>> byName = new ConcurrentHashMap<>();

    void enter(int queueId, int groupId, long number, Poll poll) {
        byNumber.compute(
                number,
                (key, present) -> {
                    Lane lane = present == null ? new Lane(queueId, new HashMap<>(2)) : present;
                    lane.byGroup()
                            .computeIfAbsent(groupId, group -> new LinkedHashSet<>(2))
                            .add(poll);
                    return lane;
                });
    }

    void leave(int groupId, long number, Poll poll) {
        byNumber.computeIfPresent(
                number,
                (key, lane) -> {
                    LinkedHashSet<Poll> polls = lane.byGroup().get(groupId);
                    if (polls != null && polls.remove(poll) && polls.isEmpty()) {
                        lane.byGroup().remove(groupId);
                    }
                    return lane.byGroup().isEmpty() ? null : lane;
                });
    }

    void enter(UUID tenant, String queue, String partition, Poll poll) {
        byName.compute(
                new Name(tenant, queue, partition),
                (key, present) -> {
                    Set<Poll> polls = present == null ? new LinkedHashSet<>(2) : present;
                    polls.add(poll);
                    return polls;
                });
    }

    void leave(UUID tenant, String queue, String partition, Poll poll) {
        byName.computeIfPresent(
                new Name(tenant, queue, partition),
                (key, polls) -> {
                    polls.remove(poll);
                    return polls.isEmpty() ? null : polls;
                });
    }

    /** The lane has new messages: one poll of every group looks, and all that knew only a name. */
    void written(LaneWrites.Lane lane) {
        if (!byNumber.isEmpty()) {
            byNumber.computeIfPresent(
                    lane.number(),
                    (key, polls) -> {
                        polls.byGroup().values().removeIf(PinnedPolls::wakeFirst);
                        return polls.byGroup().isEmpty() ? null : polls;
                    });
        }
        if (!byName.isEmpty()) {
            wakeNamed(new Name(lane.tenant(), lane.queue(), lane.partition()));
        }
    }

    /** The lane may be had again: one poll of the group looks, or of all groups if null. */
    void freed(long number, @Nullable Integer groupId) {
        if (byNumber.isEmpty()) {
            return;
        }
        byNumber.computeIfPresent(
                number,
                (key, lane) -> {
                    lane.byGroup()
                            .entrySet()
                            .removeIf(
                                    group ->
                                            (groupId == null || groupId.equals(group.getKey()))
                                                    && wakeFirst(group.getValue()));
                    return lane.byGroup().isEmpty() ? null : lane;
                });
    }

    /** The queue changed: its polls look up again what they wait for. */
    void changed(int queueId) {
        for (Long number : byNumber.keySet()) {
            wakeAll(number, lane -> lane.queueId() == queueId);
        }
    }

    /** Queues of the lanes that are waited for. */
    Set<Integer> queueIds() {
        Set<Integer> queueIds = new HashSet<>();
        byNumber.values().forEach(lane -> queueIds.add(lane.queueId()));
        return queueIds;
    }

    void wakeAll() {
        for (Long number : byNumber.keySet()) {
            wakeAll(number, lane -> true);
        }
        wakeNamed();
    }

    /** Polls of lanes that did not exist look for them again. */
    void wakeNamed() {
        byName.keySet().forEach(this::wakeNamed);
    }

    private void wakeNamed(Name name) {
        byName.computeIfPresent(
                name,
                (key, polls) -> {
                    polls.forEach(Poll::wake);
                    return null;
                });
    }

    /** Within the map's own exclusion of the key: polls come and go there. */
    private void wakeAll(Long number, Predicate<Lane> which) {
        byNumber.computeIfPresent(
                number,
                (key, lane) -> {
                    if (!which.test(lane)) {
                        return lane;
                    }
                    lane.byGroup().values().forEach(polls -> polls.forEach(Poll::wake));
                    return null;
                });
    }

    /** Wakes the poll that waits longest; true = it was the last. */
    private static boolean wakeFirst(SequencedSet<Poll> polls) {
        while (!polls.isEmpty()) {
            if (polls.removeFirst().wake(null)) {
                break;
            }
        }
        return polls.isEmpty();
    }
}
