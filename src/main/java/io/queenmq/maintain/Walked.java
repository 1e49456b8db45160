package io.queenmq.maintain;

import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.SequencedMap;
import java.util.TreeMap;

/** What a walk has found of a queue: per group the sums over its lanes, 0 being the queue. */
final class Walked {
    private static final int OLDEST_MAX = 100;

    /** A lane with something unread. */
    record Oldest(long lane, OffsetDateTime unreadAt) {}

    /**
     * Sums of one group.
     *
     * @param found lanes, messages, lanes behind, leased, dead letters
     * @param before what the counts were when the walk began: lanes, stored, passed, granted,
     *     ended, dead letters
     */
    record Sums(
            int queueId,
            int groupId,
            OffsetDateTime startedAt,
            long[] found,
            long[] before,
            List<Oldest> oldest) {}

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
                        List.copyOf(oldest.subList(0, Math.min(OLDEST_MAX, oldest.size())))));
    }

    Collection<Sums> sums() {
        return groups.sequencedValues();
    }
}
