package io.queenmq.timer;

import io.queenmq.hint.HintOutbox;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Wakes the sweepers at the time of the earliest timer that anybody told of, and tells other
 * brokers of times that are earlier than those they know. Any thread.
 */
public final class TimerAlarm {
    private static final long NEVER = Long.MAX_VALUE;

    private final HintOutbox outbox;
    private final Clock clock;

    /** Guards everything below. */
    private final ReentrantLock alarmLock = new ReentrantLock();

    private final Condition woken = alarmLock.newCondition();

    /** How often somebody asked for a look. */
    private long asked;

    /** Earliest time told of since a sweeper last looked, in ms of the database's clock. */
    private long earliestMs = NEVER;

    /**
     * What every broker was told last: until then, by the database's clock, there is no need to
     * tell of a later time.
     */
    private long announcedMs = NEVER;

    /**
     * How far the database's clock is ahead of ours, by the last look; null = this broker has not
     * looked, and tells of every time.
     */
    private @Nullable Long aheadMs;

    public TimerAlarm(HintOutbox outbox, Clock clock) {
        this.outbox = outbox;
        this.clock = clock;
    }

    /** This broker has scheduled a message; called after the commit. */
    public void scheduled(Instant deliverAt) {
        long ms = deliverAt.toEpochMilli();
        if (wake(ms)) {
            outbox.timerDue(ms);
        }
    }

    /** Somebody else has. */
    public void heard(long deliverAtMs) {
        wake(deliverAtMs);
    }

    /** Something may have been scheduled that nobody told of. */
    public void look() {
        alarmLock.lock();
        try {
            asked++;
            woken.signalAll();
        } finally {
            alarmLock.unlock();
        }
    }

    /** Whether the others do not know of a time that is as early. */
    private boolean wake(long ms) {
        alarmLock.lock();
        try {
            if (ms < earliestMs) {
                earliestMs = ms;
                woken.signalAll();
            }
            Long ahead = aheadMs;
            boolean news =
                    ahead == null
                            || ms < announcedMs
                            || announcedMs <= clock.now().toEpochMilli() + ahead;
            if (news) {
                announcedMs = ms;
            }
            return news;
        } finally {
            alarmLock.unlock();
        }
    }

    /**
     * A sweeper is about to look: what is told from now on it may not see.
     *
     * @return how often somebody has asked for a look so far
     */
    long looking() {
        alarmLock.lock();
        try {
            earliestMs = NEVER;
            return asked;
        } finally {
            alarmLock.unlock();
        }
    }

    /**
     * Waits until a timer can be claimed.
     *
     * @param seen what {@link #looking} said: whoever has asked since then is obeyed at once
     * @param readAt what the database's clock showed at {@code readNanos}
     * @param next earliest time that was found; null = there is none
     * @param longest after so long the sweeper looks whatever it knows
     */
    void await(long seen, Instant readAt, long readNanos, @Nullable Instant next, Duration longest)
            throws InterruptedException {
        alarmLock.lockInterruptibly();
        try {
            long sinceNanos = clock.nanos() - readNanos;
            aheadMs = readAt.plusNanos(sinceNanos).toEpochMilli() - clock.now().toEpochMilli();
            // Rounded up: a timer of this millisecond must not be looked for before it is over.
            long nextMs = next == null ? NEVER : next.plusNanos(999_999).toEpochMilli();
            long deadlineNanos = readNanos + longest.toNanos();
            long left = left(readAt, readNanos, nextMs, deadlineNanos);
            while (left > 0 && asked == seen) {
                woken.awaitNanos(left);
                left = left(readAt, readNanos, nextMs, deadlineNanos);
            }
        } finally {
            alarmLock.unlock();
        }
    }

    private long left(Instant readAt, long readNanos, long nextMs, long deadlineNanos) {
        long now = clock.nanos();
        long dueMs = Math.min(nextMs, earliestMs);
        long untilDeadline = deadlineNanos - now;
        if (dueMs == NEVER) {
            return untilDeadline;
        }
        // Anybody may tell of any time: an absurd one must not overflow.
        long aheadMs = Math.clamp(dueMs - readAt.toEpochMilli(), 0, TimeUnit.DAYS.toMillis(1));
        Instant due = Instant.ofEpochMilli(readAt.toEpochMilli() + aheadMs);
        long aheadNanos = Duration.between(readAt, due).toNanos();
        return Math.min(untilDeadline, readNanos + aheadNanos - now);
    }
}
