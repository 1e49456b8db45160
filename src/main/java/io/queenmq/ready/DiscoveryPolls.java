package io.queenmq.ready;

import java.util.HashSet;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Polls that look for queues by their labels: beside the lanes of the queues they have found, they
 * wait for queues to appear. The first write heard of from any queue makes those of its tenant look
 * again; later ones do not.
 */
final class DiscoveryPolls {
    private record Tenant(Set<Poll> polls, Set<Integer> seen) {
        void wake() {
            polls.forEach(Poll::tellNews);
        }
    }

    private final ConcurrentHashMap<UUID, Tenant> tenants = new ConcurrentHashMap<>();

    void enter(UUID tenant, Poll poll) {
        tenants.compute(
                tenant,
                (key, present) -> {
                    Tenant entry =
                            present == null
                                    ? new Tenant(new HashSet<>(), new HashSet<>())
                                    : present;
                    entry.polls().add(poll);
                    return entry;
                });
    }

    void leave(UUID tenant, Poll poll) {
        tenants.computeIfPresent(
                tenant,
                (key, entry) -> {
                    entry.polls().remove(poll);
                    return entry.polls().isEmpty() ? null : entry;
                });
    }

    void written(UUID tenant, int queueId) {
        if (tenants.isEmpty()) {
            return;
        }
        tenants.computeIfPresent(
                tenant,
                (key, entry) -> {
                    if (entry.seen().add(queueId)) {
                        entry.wake();
                    }
                    return entry;
                });
    }

    /** A queue changed its labels, or went. */
    void wakeAll() {
        for (UUID tenant : tenants.keySet()) {
            tenants.computeIfPresent(
                    tenant,
                    (key, entry) -> {
                        entry.seen().clear();
                        entry.wake();
                        return entry;
                    });
        }
    }
}
