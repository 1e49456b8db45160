package io.queenmq.gate;

import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import java.time.Instant;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/** The quota of one tenant on this broker. Any thread. */
final class Account {
    /** Guards everything. */
    private final ReentrantLock lock = new ReentrantLock();

    private final Allowance rows = new Allowance();
    private final Allowance bytes = new Allowance();
    private final Allowance timers = new Allowance();
    private Quota quota = Quota.UNBOUNDED;
    private @Nullable Instant measuredAt;

    /** Until then it is not measured again by this broker. */
    private long restsUntilNanos;

    Account(long nowNanos) {
        this.restsUntilNanos = nowNanos;
    }

    void allow(Quota said) {
        lock.lock();
        try {
            quota = said;
        } finally {
            lock.unlock();
        }
    }

    /** Only a measurement that is news settles what was added here. */
    void measured(Usage seen, int releasePercent) {
        lock.lock();
        try {
            if (!Objects.equals(measuredAt, seen.measuredAt())) {
                measuredAt = seen.measuredAt();
                rows.measured(seen.rows());
                bytes.measured(seen.bytes());
                timers.measured(seen.timers());
            }
            rows.allow(quota.maxRows(), releasePercent);
            bytes.allow(quota.maxBytes(), releasePercent);
            timers.allow(quota.maxTimers(), releasePercent);
        } finally {
            lock.unlock();
        }
    }

    Quota quota() {
        lock.lock();
        try {
            return quota;
        } finally {
            lock.unlock();
        }
    }

    /**
     * Counts what a call may add.
     *
     * @throws QueenException kv quota exceeded
     */
    void addKeys(long moreRows, long moreBytes) {
        lock.lock();
        try {
            require(rows, moreRows, Failure.KV_QUOTA_EXCEEDED, "keys");
            require(bytes, moreBytes, Failure.KV_QUOTA_EXCEEDED, "bytes of values");
            rows.add(moreRows);
            bytes.add(moreBytes);
        } finally {
            lock.unlock();
        }
    }

    /**
     * The same for timers.
     *
     * @throws QueenException timers quota exceeded
     */
    void addTimers(long more) {
        lock.lock();
        try {
            require(timers, more, Failure.TIMERS_QUOTA_EXCEEDED, "scheduled messages");
            timers.add(more);
        } finally {
            lock.unlock();
        }
    }

    private static void require(Allowance allowance, long more, Failure failure, String what) {
        if (!allowance.admits(more)) {
            throw new QueenException(
                    failure,
                    "the tenant may have %d %s, has %d as far as is known and asks for up to %d more"
                            .formatted(allowance.most(), what, allowance.used(), more));
        }
    }

    boolean isHot(int percent) {
        lock.lock();
        try {
            return rows.isHot(percent) || bytes.isHot(percent) || timers.isHot(percent);
        } finally {
            lock.unlock();
        }
    }

    /** Whether only a measurement can tell if it is near a limit. */
    boolean wantsMeasuring(int percent, long nowNanos) {
        lock.lock();
        try {
            return nowNanos - restsUntilNanos >= 0 && isHot(percent) && isGuessed();
        } finally {
            lock.unlock();
        }
    }

    /** Whether some of what it has is only supposed to be there. */
    boolean isGuessed() {
        lock.lock();
        try {
            return rows.isGuessed() || bytes.isGuessed() || timers.isGuessed();
        } finally {
            lock.unlock();
        }
    }

    void restUntil(long nanos) {
        lock.lock();
        try {
            restsUntilNanos = nanos;
        } finally {
            lock.unlock();
        }
    }
}
