package io.queenmq.ready;

import io.queenmq.db.Database;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * What lanes are called, remembered both ways. A server never reuses a number, and a lane is never
 * renamed, so only the way from a name may go stale: when its queue is deleted. Any thread.
 */
public final class LaneNames {
    private static final int LANES_MAX = 200_000;

    /** The name of a lane. */
    public record Name(UUID tenant, String queue, String partition) {}

    /** A lane with its name. */
    public record Named(Name name, int queueId, long number) {}

    private final ReadyProcedures procedures;

    /** Guards both maps; the least used go first. */
    private final ReentrantLock namesLock = new ReentrantLock();

    private final Map<Long, Named> byNumber = new LinkedHashMap<>(16, 0.75f, true);
    private final Map<Name, Named> byName = new LinkedHashMap<>(16, 0.75f, true);

    public LaneNames(Database database) {
        this.procedures = new ReadyProcedures(database);
    }

    /** The lanes of these numbers, but for those that are gone; one call for all not known. */
    public Map<Long, Named> of(Collection<Long> numbers) {
        Map<Long, Named> found = new HashMap<>();
        List<Long> missing = new ArrayList<>();
        namesLock.lock();
        try {
            for (Long number : numbers) {
                Named lane = byNumber.get(number);
                if (lane == null) {
                    missing.add(number);
                } else {
                    found.put(number, lane);
                }
            }
        } finally {
            namesLock.unlock();
        }
        if (!missing.isEmpty()) {
            for (LaneWrites.Lane lane : procedures.lanes(missing)) {
                Named named =
                        new Named(
                                new Name(lane.tenant(), lane.queue(), lane.partition()),
                                lane.queueId(),
                                lane.number());
                found.put(lane.number(), named);
                remember(byNumber, lane.number(), named);
            }
        }
        return found;
    }

    /** The lane of that name, or null if there is none now. */
    public @Nullable Named find(Name name) {
        Named lane;
        namesLock.lock();
        try {
            lane = byName.get(name);
        } finally {
            namesLock.unlock();
        }
        if (lane == null) {
            lane = procedures.findLane(name);
            if (lane != null) {
                remember(byName, name, lane);
            }
        }
        return lane;
    }

    /** A claim found the lane of that name gone. */
    public void forget(Name name) {
        namesLock.lock();
        try {
            byName.remove(name);
        } finally {
            namesLock.unlock();
        }
    }

    public void queueChanged(int queueId) {
        namesLock.lock();
        try {
            byName.values().removeIf(lane -> lane.queueId() == queueId);
        } finally {
            namesLock.unlock();
        }
    }

    /** Numbers may be handed out again: after a fail-over that lost what was committed last. */
    public void serverChanged() {
        namesLock.lock();
        try {
            byNumber.clear();
            byName.clear();
        } finally {
            namesLock.unlock();
        }
    }

    public void everythingChanged() {
        namesLock.lock();
        try {
            byName.clear();
        } finally {
            namesLock.unlock();
        }
    }

    private <K> void remember(Map<K, Named> map, K key, Named lane) {
        namesLock.lock();
        try {
            map.put(key, lane);
            if (map.size() > LANES_MAX) {
                map.remove(map.keySet().iterator().next());
            }
        } finally {
            namesLock.unlock();
        }
    }
}
