package io.queenmq.combine;

import java.util.ArrayDeque;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Keys whose turn it is: round-robin over tenants, within a tenant over queues, within a queue
 * oldest first. Every step is a few deque operations. Guarded by the combiner's lock.
 */
final class FairRing<K, W extends Work<K>> {
    private static final class QueueTurn<K, W extends Work<K>> {
        final Object queue;
        final ArrayDeque<KeyQueue<K, W>> keys = new ArrayDeque<>(2);

        QueueTurn(Object queue) {
            this.queue = queue;
        }
    }

    private static final class TenantTurn<K, W extends Work<K>> {
        final Object tenant;
        final Map<Object, QueueTurn<K, W>> byName = new HashMap<>(4);
        final ArrayDeque<QueueTurn<K, W>> turns = new ArrayDeque<>(2);

        TenantTurn(Object tenant) {
            this.tenant = tenant;
        }
    }

    private final Map<Object, TenantTurn<K, W>> byTenant = new HashMap<>();
    private final ArrayDeque<TenantTurn<K, W>> turns = new ArrayDeque<>();
    private int size;

    boolean isEmpty() {
        return size == 0;
    }

    int size() {
        return size;
    }

    void add(KeyQueue<K, W> key) {
        TenantTurn<K, W> tenant = byTenant.get(key.tenant);
        if (tenant == null) {
            tenant = new TenantTurn<>(key.tenant);
            byTenant.put(key.tenant, tenant);
            turns.addLast(tenant);
        }
        QueueTurn<K, W> queue = tenant.byName.get(key.queue);
        if (queue == null) {
            queue = new QueueTurn<>(key.queue);
            tenant.byName.put(key.queue, queue);
            tenant.turns.addLast(queue);
        }
        queue.keys.addLast(key);
        size++;
    }

    /** The key whose turn it is, without taking it; null = none. */
    @Nullable KeyQueue<K, W> peek() {
        TenantTurn<K, W> tenant = turns.peekFirst();
        if (tenant == null) {
            return null;
        }
        return tenant.turns.getFirst().keys.getFirst();
    }

    /** Takes the key that {@link #peek} shows; the turn passes to the next tenant and queue. */
    void remove() {
        TenantTurn<K, W> tenant = turns.removeFirst();
        QueueTurn<K, W> queue = tenant.turns.removeFirst();
        queue.keys.removeFirst();
        size--;
        if (queue.keys.isEmpty()) {
            tenant.byName.remove(queue.queue);
        } else {
            tenant.turns.addLast(queue);
        }
        if (tenant.turns.isEmpty()) {
            byTenant.remove(tenant.tenant);
        } else {
            turns.addLast(tenant);
        }
    }
}
