package io.queenmq.kv;

import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import java.time.Duration;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * How many calls may be in the database at once, so that keys never take the connections of
 * messages. Beside them a few may wait for keys that somebody holds. Whoever finds no room waits
 * for it a moment. After a run of refusals writes do not wait any more, until somebody had room
 * again: what a retry cannot do without goes on. Any thread.
 */
final class Bulkhead {
    static final String REJECTED = "queen_kv_read_rejected_total";
    static final String REJECTED_WHAT =
            "Calls on keys that were refused before the database was asked.";

    /** One such call for so many others. */
    private static final int WAITING_SHARE = 4;

    private static final Duration PATIENCE = Duration.ofSeconds(1);

    private final Semaphore room;

    /** For calls that wait for a key that somebody holds. */
    private final Semaphore waitingRoom;

    private final int shedAfter;
    private final AtomicInteger refusedInARow = new AtomicInteger();
    private final Counter refused;

    Bulkhead(KvConfig config, Metrics metrics) {
        this.room = new Semaphore(config.inflightMax(), true);
        this.waitingRoom = new Semaphore(Math.max(1, config.inflightMax() / WAITING_SHARE));
        this.shedAfter = config.shedAfter();
        this.refused = metrics.counter(REJECTED, REJECTED_WHAT, "reason", "pool");
        String pool = "queen_kv_pool";
        String what = "Calls on keys that may be in the database at once, and their state.";
        metrics.gauge(pool, what, config::inflightMax, "state", "size");
        metrics.gauge(pool, what, room::availablePermits, "state", "available");
        metrics.gauge(pool, what, room::getQueueLength, "state", "waiting");
    }

    /**
     * Waits for room; {@link #leave} gives it back.
     *
     * @throws QueenException overloaded, stopping
     */
    void enter(boolean writes) {
        boolean shed = writes && refusedInARow.get() >= shedAfter;
        try {
            if (room.tryAcquire()
                    || (!shed && room.tryAcquire(PATIENCE.toNanos(), TimeUnit.NANOSECONDS))) {
                refusedInARow.set(0);
                return;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new QueenException(Failure.STOPPING, "the broker is stopping", e);
        }
        refused.increment();
        if (shed) {
            throw new QueenException(
                    Failure.OVERLOADED,
                    "kv_standalone_paused",
                    "writes wait until calls on keys find room again; transactions go on");
        }
        refusedInARow.incrementAndGet();
        throw new QueenException(
                Failure.OVERLOADED, "kv_pool_exhausted", "every connection for keys is in use");
    }

    void leave() {
        room.release();
    }

    /**
     * Goes on with a call that has left, to wait for a key; {@link #leaveWaiting} ends that.
     *
     * @throws QueenException busy: enough calls do
     */
    void enterToWait() {
        if (!waitingRoom.tryAcquire()) {
            throw new QueenException(
                    Failure.BUSY, "a key stayed locked, and enough calls wait for locked keys");
        }
    }

    void leaveWaiting() {
        waitingRoom.release();
    }
}
