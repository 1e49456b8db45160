package io.queenmq.combine;

import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * Who may hand work to a {@link Combiner}: what it holds is bounded, in all and per key, and
 * callers wait a while for room. Guarded by the backlog's lock, which it gives up while a caller
 * waits.
 */
final class Admission<K, W extends Work<K>> {
    private final CombinerConfig config;
    private final Clock clock;
    private final ReentrantLock state;
    private final Condition roomMade;
    private final LongAdder refused = new LongAdder();
    private long heldItems;
    private long heldBytes;
    private int waiters;
    private boolean closed;

    Admission(CombinerConfig config, Clock clock, ReentrantLock state) {
        this.config = config;
        this.clock = clock;
        this.state = state;
        this.roomMade = state.newCondition();
    }

    /** Lets all works in, or throws. */
    void enter(List<W> works, Map<K, KeyQueue<K, W>> keys, long deadlineNanos) {
        long items = 0;
        long bytes = 0;
        for (int i = 0; i < works.size(); i++) {
            items += works.get(i).items();
            bytes += works.get(i).bytes();
        }
        if (!hasRoom(works, keys, items, bytes)) {
            awaitRoom(works, keys, items, bytes, deadlineNanos);
        }
        if (closed) {
            throw stopped();
        }
        heldItems += items;
        heldBytes += bytes;
    }

    void leave(KeyQueue<K, W> key, long items, long bytes) {
        heldItems -= items;
        heldBytes -= bytes;
        key.items -= items;
        key.bytes -= bytes;
        if (waiters > 0) {
            roomMade.signalAll();
        }
    }

    /** Nobody gets in any more. */
    void close() {
        closed = true;
        roomMade.signalAll();
    }

    static QueenException stopped() {
        return new QueenException(Failure.STOPPING, "the broker is stopping");
    }

    /** Items waiting or under way; any thread. */
    long heldItems() {
        state.lock();
        try {
            return heldItems;
        } finally {
            state.unlock();
        }
    }

    /** Bytes waiting or under way; any thread. */
    long heldBytes() {
        state.lock();
        try {
            return heldBytes;
        } finally {
            state.unlock();
        }
    }

    /** Submissions refused for want of room; any thread. */
    long refused() {
        return refused.sum();
    }

    /** An empty combiner has room for anything, or a work over its bounds could never be served. */
    private boolean hasRoom(List<W> works, Map<K, KeyQueue<K, W>> keys, long items, long bytes) {
        if (heldItems == 0) {
            return true;
        }
        CombinerConfig.Room room = config.room();
        if (heldItems + items > room.items() || heldBytes + bytes > room.bytes()) {
            return false;
        }
        for (int i = 0; i < works.size(); i++) {
            W work = works.get(i);
            KeyQueue<K, W> key = keys.get(work.key());
            if (key != null
                    && key.items > 0
                    && (key.items + work.items() > room.items() / room.keyShare()
                            || key.bytes + work.bytes() > room.bytes() / room.keyShare())) {
                return false;
            }
        }
        return true;
    }

    private void awaitRoom(
            List<W> works,
            Map<K, KeyQueue<K, W>> keys,
            long items,
            long bytes,
            long deadlineNanos) {
        long left = Math.min(config.room().patience().toNanos(), deadlineNanos - clock.nanos());
        if (waiters >= config.room().waiters()) {
            left = 0;
        }
        waiters++;
        try {
            while (!closed && !hasRoom(works, keys, items, bytes)) {
                if (left <= 0) {
                    refused.increment();
                    throw overloaded();
                }
                left = roomMade.awaitNanos(left);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new QueenException(Failure.STOPPING, "interrupted while waiting for room", e);
        } finally {
            waiters--;
        }
    }

    private QueenException overloaded() {
        return new QueenException(
                Failure.OVERLOADED,
                "no room for more %s work: %d of %d items, %d of %d bytes held"
                        .formatted(
                                config.name(),
                                heldItems,
                                config.room().items(),
                                heldBytes,
                                config.room().bytes()));
    }
}
