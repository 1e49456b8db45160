package io.queenmq.queue;

import io.queenmq.db.Database;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.IntConsumer;

/**
 * What this broker knows of queues and lanes. All of it is a hint: a lane that has gone shows in
 * the verdict of the procedure that is called for it, options may be a refresh interval old, and
 * both are dropped when somebody says so. Safe for any thread; a look-up that misses blocks for one
 * database call.
 */
public final class QueueCatalog {
    private record Key(UUID tenant, String name) {}

    /** Reloaded by one caller once it is old; the others use it meanwhile. */
    private record Known(Queue queue, long loadedNanos, AtomicBoolean reloading) {}

    private final QueueConfig config;
    private final QueueProcedures queues;
    private final LaneProcedures lanes;
    private final LaneCache laneCache;
    private final LaneProvisioner provisioner;
    private final Clock clock;
    private final ConcurrentHashMap<Key, Known> byName = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<Integer, Key> byId = new ConcurrentHashMap<>();
    private final List<IntConsumer> listeners = new CopyOnWriteArrayList<>();

    public QueueCatalog(QueueConfig config, Database database, Clock clock) {
        this.config = config;
        this.queues = new QueueProcedures(database);
        this.lanes = new LaneProcedures(database);
        this.laneCache = new LaneCache(config.laneCacheBytes());
        this.provisioner =
                new LaneProvisioner(lanes, this::remember, config.provisionRoomMax(), clock);
        this.clock = clock;
    }

    public void start() {
        provisioner.start();
    }

    public void stop(Duration patience) {
        provisioner.stop(patience);
    }

    /** The queue of that name, if there is one. */
    public Optional<Queue> queue(UUID tenant, String name) {
        Key key = new Key(tenant, name);
        Known known = byName.get(key);
        if (known == null) {
            return load(key);
        }
        if (clock.nanos() - known.loadedNanos() > config.cacheRefresh().toNanos()
                && known.reloading().compareAndSet(false, true)) {
            try {
                return load(key);
            } catch (QueenException e) {
                // With the database away an old answer is better than none.
                known.reloading().set(false);
            }
        }
        return Optional.of(known.queue());
    }

    /** The number of a lane; 0 = there is no such lane. */
    public long laneNumber(LaneName name) {
        Queue queue = queue(name.tenant(), name.queue()).orElse(null);
        if (queue == null) {
            return 0;
        }
        long number = laneCache.number(queue.id(), name.partition());
        if (number != 0) {
            return number;
        }
        Lane lane = lanes.find(List.of(name)).getFirst();
        if (lane == null) {
            return 0;
        }
        remember(lane);
        return lane.number();
    }

    /** The number of a lane as far as this broker knows it, without asking; 0 = it does not. */
    public long knownLaneNumber(int queueId, String partition) {
        return laneCache.number(queueId, partition);
    }

    /**
     * Asks for the lanes of these distinct names; queues and lanes are made where missing, many
     * callers' in one call. While an application's open transaction is making one, its request
     * stays open: the caller waits as long as it likes, then {@link #withdraw}s it.
     *
     * @throws QueenException {@code OVERLOADED}
     */
    public List<LaneRequest> requestLanes(List<LaneName> names, long deadlineNanos) {
        return provisioner.request(names, deadlineNanos);
    }

    /** Nobody waits for this lane any more. */
    public void withdraw(LaneRequest request) {
        provisioner.withdraw(request);
    }

    /** An offset that a lane has certainly reached; -1 when none is known. */
    public long lastOffset(long number) {
        return laneCache.lastOffset(number);
    }

    /** A write of this broker took the lane to this offset. */
    public void wrote(long number, long lastOffset) {
        laneCache.wrote(number, lastOffset);
    }

    /** A procedure said that the lane, or its queue, is gone. */
    public void laneGone(LaneName name, long number) {
        laneCache.forget(number);
        Known known = byName.get(new Key(name.tenant(), name.queue()));
        if (known != null) {
            queueChanged(known.queue().id());
        }
    }

    /** Options of a queue changed here, or it was deleted: it is forgotten, and listeners told. */
    public void queueChanged(int queueId) {
        forget(queueId);
        listeners.forEach(listener -> listener.accept(queueId));
    }

    /** Somebody else changed a queue: whoever needs it looks it up again. */
    public void forget(int queueId) {
        Key key = byId.remove(queueId);
        if (key != null) {
            byName.remove(key);
        }
    }

    /** Any queue may have changed. Lanes stay: SQL refuses the number of one that is gone. */
    public void forgetAll() {
        byId.clear();
        byName.clear();
    }

    /** Numbers may be handed out again: after a fail-over that lost what was committed last. */
    public void serverChanged() {
        laneCache.clear();
        forgetAll();
    }

    /** Is told the number of every queue that {@link #queueChanged} names. */
    public void onChange(IntConsumer listener) {
        listeners.add(listener);
    }

    private Optional<Queue> load(Key key) {
        Optional<Queue> found = queues.find(key.tenant(), key.name());
        if (found.isPresent()) {
            put(key, found.get());
        } else {
            Known gone = byName.remove(key);
            if (gone != null) {
                byId.remove(gone.queue().id());
            }
        }
        return found;
    }

    void put(Queue queue) {
        put(new Key(queue.tenant(), queue.name()), queue);
    }

    private void put(Key key, Queue queue) {
        if (byName.size() >= config.queuesMax()) {
            // Rare enough that starting over is cheaper than keeping an order of use.
            byName.clear();
            byId.clear();
        }
        Known before = byName.put(key, new Known(queue, clock.nanos(), new AtomicBoolean(false)));
        if (before != null && before.queue().id() != queue.id()) {
            byId.remove(before.queue().id());
        }
        byId.put(queue.id(), key);
    }

    private void remember(Lane lane) {
        laneCache.put(lane.queueId(), lane.name().partition(), lane.number(), lane.lastOffset());
        checkQueueId(lane.name().tenant(), lane.name().queue(), lane.queueId());
    }

    /** A queue that was deleted and made anew elsewhere shows by its number. */
    private void checkQueueId(UUID tenant, String name, int id) {
        Known known = byName.get(new Key(tenant, name));
        if (known == null || known.queue().id() != id) {
            load(new Key(tenant, name));
        }
    }
}
