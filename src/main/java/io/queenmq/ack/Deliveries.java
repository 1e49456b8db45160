package io.queenmq.ack;

import io.queenmq.ready.Delivery;
import io.queenmq.runtime.Clock;
import io.queenmq.segment.MessageKey;
import java.time.Duration;
import java.util.Collection;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * What was delivered under leases that have not been acknowledged: an ack of all of it is a commit
 * by lease and end, without a search by key. Bounded, the oldest go first; a forgotten one costs a
 * search, never a verdict. Any thread.
 */
public final class Deliveries implements Delivery.Listener {
    /** After its lease has run out an ack by it is refused anyway. */
    private static final Duration GRACE = Duration.ofSeconds(10);

    private static final int OVERHEAD_BYTES = 256;

    private record Lease(UUID leaseId, long lane) {}

    private final long bytesMax;
    private final Clock clock;

    /** Guards the map and its size. */
    private final ReentrantLock deliveriesLock = new ReentrantLock();

    private final LinkedHashMap<Lease, Delivery> deliveries = new LinkedHashMap<>();
    private long bytes;

    public Deliveries(AckConfig config, Clock clock) {
        this.bytesMax = config.deliveriesBytesMax();
        this.clock = clock;
    }

    @Override
    public void delivered(Delivery delivery) {
        deliveriesLock.lock();
        try {
            Delivery old = deliveries.put(lease(delivery), delivery);
            bytes += size(delivery) - (old == null ? 0 : size(old));
            while (!deliveries.isEmpty()) {
                Map.Entry<Lease, Delivery> eldest = deliveries.firstEntry();
                if (bytes <= bytesMax
                        && eldest.getValue().leaseExpiresAt().plus(GRACE).isAfter(clock.now())) {
                    break;
                }
                drop(eldest.getKey());
            }
        } finally {
            deliveriesLock.unlock();
        }
    }

    /** What the lease delivered of the lane, if it is remembered. */
    @Nullable Delivery find(UUID leaseId, long lane) {
        deliveriesLock.lock();
        try {
            return deliveries.get(new Lease(leaseId, lane));
        } finally {
            deliveriesLock.unlock();
        }
    }

    void forget(UUID leaseId, long lane) {
        deliveriesLock.lock();
        try {
            drop(new Lease(leaseId, lane));
        } finally {
            deliveriesLock.unlock();
        }
    }

    /**
     * Forgets what any of these leases, which may be of other lanes too, delivered to the group.
     */
    void forget(Collection<UUID> leaseIds, long lane, String group) {
        deliveriesLock.lock();
        try {
            for (UUID leaseId : leaseIds) {
                Lease lease = new Lease(leaseId, lane);
                Delivery delivery = deliveries.get(lease);
                if (delivery != null && delivery.group().equals(group)) {
                    drop(lease);
                }
            }
        } finally {
            deliveriesLock.unlock();
        }
    }

    /** Bytes of keys remembered. */
    long bytes() {
        deliveriesLock.lock();
        try {
            return bytes;
        } finally {
            deliveriesLock.unlock();
        }
    }

    /** Whether the keys are those of everything that was delivered, in whatever order. */
    static boolean isAll(Delivery delivery, List<MessageKey> acked) {
        if (acked.size() < count(delivery)) {
            return false;
        }
        return isInOrder(delivery, acked) || isSet(delivery, acked);
    }

    private static boolean isInOrder(Delivery delivery, List<MessageKey> acked) {
        if (acked.size() != count(delivery)) {
            return false;
        }
        int at = 0;
        for (Delivery.Keys keys : delivery.keys()) {
            for (int i = 0; i < keys.count(); i++) {
                if (!MessageKey.read(keys.segment(), keys.first() + i).equals(acked.get(at++))) {
                    return false;
                }
            }
        }
        return true;
    }

    private static boolean isSet(Delivery delivery, List<MessageKey> acked) {
        Set<MessageKey> left = new HashSet<>(acked);
        Set<MessageKey> delivered = new HashSet<>();
        for (Delivery.Keys keys : delivery.keys()) {
            for (int i = 0; i < keys.count(); i++) {
                delivered.add(MessageKey.read(keys.segment(), keys.first() + i));
            }
        }
        return left.equals(delivered);
    }

    private static int count(Delivery delivery) {
        int count = 0;
        for (Delivery.Keys keys : delivery.keys()) {
            count += keys.count();
        }
        return count;
    }

    private void drop(Lease lease) {
        Delivery old = deliveries.remove(lease);
        if (old != null) {
            bytes -= size(old);
        }
    }

    private static Lease lease(Delivery delivery) {
        return new Lease(delivery.leaseId(), delivery.lane());
    }

    private static long size(Delivery delivery) {
        long size = OVERHEAD_BYTES;
        for (Delivery.Keys keys : delivery.keys()) {
            size += keys.segment().length;
        }
        return size;
    }
}
