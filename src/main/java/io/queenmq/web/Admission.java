package io.queenmq.web;

import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;

/**
 * The room for work in flight: so many requests with a body, and so many bytes of bodies and
 * answers. Who finds no room waits in line, then is refused. Polls are not counted here: they park
 * under a bound of their own.
 */
final class Admission {
    /** Bytes are counted in units of this, so that any bound fits the permits of a semaphore. */
    private static final int UNIT = 1_024;

    private final Semaphore requests;
    private final Semaphore units;
    private final int unitsMax;
    private final long waitNanos;
    private final Counter refusedRequests;
    private final Counter refusedBytes;

    Admission(WebConfig config, Metrics metrics) {
        requests = new Semaphore(config.requestsMax(), true);
        unitsMax = (int) Math.min(Integer.MAX_VALUE, config.bytesMax() / UNIT + 1);
        units = new Semaphore(unitsMax, true);
        waitNanos = config.admissionWait().toNanos();
        refusedRequests = refused(metrics, "requests");
        refusedBytes = refused(metrics, "bytes");
        metrics.gauge(
                "queen_web_requests_inflight",
                "Requests with a body that are worked on.",
                () -> config.requestsMax() - requests.availablePermits());
        metrics.gauge(
                "queen_web_bytes_inflight",
                "Bytes of bodies and answers held.",
                () -> (long) (unitsMax - units.availablePermits()) * UNIT);
    }

    private static Counter refused(Metrics metrics, String bound) {
        return metrics.counter(
                "queen_web_refused_total", "Requests refused for lack of room.", "bound", bound);
    }

    /** What one request holds; given back when it ends. Used by the thread of the request only. */
    final class Share {
        private boolean counted;
        private int held;

        /** Waits for room for a request. */
        void request() {
            if (!counted) {
                acquire(requests, 1, refusedRequests);
                counted = true;
            }
        }

        /** Waits until so many bytes fit, those that this request holds already included. */
        void bytes(long total) {
            int wanted = (int) Math.min(unitsMax, total / UNIT + 1);
            if (wanted > held) {
                acquire(units, wanted - held, refusedBytes);
                held = wanted;
            }
        }

        void release() {
            units.release(held);
            held = 0;
            if (counted) {
                requests.release();
                counted = false;
            }
        }
    }

    private void acquire(Semaphore bound, int permits, Counter refused) {
        try {
            if (bound.tryAcquire(permits)
                    || bound.tryAcquire(permits, waitNanos, TimeUnit.NANOSECONDS)) {
                return;
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new QueenException(Failure.STOPPING, "the broker is stopping", e);
        }
        refused.increment();
        throw new QueenException(Failure.OVERLOADED, "the broker is overloaded, try again");
    }
}
