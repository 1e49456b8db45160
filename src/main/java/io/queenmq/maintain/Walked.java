package io.queenmq.maintain;

import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.SequencedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/** What a walk has found of a queue: per group the sums over its lanes, 0 being the queue. */
final class Walked {
    private static final int OLDEST_MAX = 100;

    /**
     * When lanes were written last, and whether somebody works on them.
     *
     * @param live how many were written in the last hour, day and week; leases, and lanes with one
     */
    record Writes(long[] live, OffsetDateTime oldestAt, OffsetDateTime newestAt) {
        Writes and(Writes other) {
            long[] sum = live.clone();
            for (int i = 0; i < sum.length; i++) {
                sum[i] += other.live[i];
            }
            return new Writes(
                    sum,
                    oldestAt.isBefore(other.oldestAt) ? oldestAt : other.oldestAt,
                    newestAt.isAfter(other.newestAt) ? newestAt : other.newestAt);
        }
    }

    /** A lane with something unread. */
    record Oldest(long lane, OffsetDateTime unreadAt) {}

    /**
     * Sums of one group.
     *
     * @param found lanes, messages, lanes behind, leased, dead letters
     * @param before what the counts were when the walk began: lanes, stored, passed, granted,
     *     ended, dead letters
     * @param writes of the lanes of the queue; null = there are none, or it is of a group
     */
    record Sums(
            int queueId,
            int groupId,
            OffsetDateTime startedAt,
            long[] found,
            long[] before,
            List<Oldest> oldest,
            @Nullable Writes writes) {}

    final int queueId;
    private final SequencedMap<Integer, Sums> groups = new TreeMap<>();

    Walked(int queueId) {
        this.queueId = queueId;
    }

    /** Another page. What the counts were is what the first page says. */
    void add(Sums page) {
        Sums sums = groups.putIfAbsent(page.groupId(), page);
        if (sums == null) {
            return;
        }
        for (int i = 0; i < sums.found().length; i++) {
            sums.found()[i] += page.found()[i];
        }
        List<Oldest> oldest = new ArrayList<>(sums.oldest());
        oldest.addAll(page.oldest());
        oldest.sort(Comparator.comparing(Oldest::unreadAt).thenComparingLong(Oldest::lane));
        groups.put(
                page.groupId(),
                new Sums(
                        queueId,
                        page.groupId(),
                        sums.startedAt(),
                        sums.found(),
                        sums.before(),
                        List.copyOf(oldest.subList(0, Math.min(OLDEST_MAX, oldest.size()))),
                        both(sums.writes(), page.writes())));
    }

    private static @Nullable Writes both(@Nullable Writes one, @Nullable Writes other) {
        return one == null || other == null ? (one == null ? other : one) : one.and(other);
    }

    /** When its lanes were written last; null = there are none. */
    @Nullable Writes writes() {
        Sums queue = groups.get(0);
        return queue == null ? null : queue.writes();
    }

    Collection<Sums> sums() {
        return groups.sequencedValues();
    }
}
