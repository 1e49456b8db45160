package io.queenmq.ready;

import io.queenmq.runtime.Clock;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * One long poll: the thread that made it, and whether somebody has woken it since it last looked.
 * It parks holding nothing else, no connection least of all.
 */
public final class Poll {
    private final Clock clock;
    private final Thread thread = Thread.currentThread();
    private final AtomicBoolean woken = new AtomicBoolean();
    private final AtomicBoolean news = new AtomicBoolean();
    private volatile @Nullable GroupLanes wokenBy;

    Poll(Clock clock) {
        this.clock = clock;
    }

    /**
     * Waits for a wake; its own thread only.
     *
     * @param untilNanos when to give up, on the clock's scale
     * @return whether it was woken
     */
    public boolean await(long untilNanos) {
        while (!woken.get()) {
            long left = untilNanos - clock.nanos();
            if (left <= 0 || thread.isInterrupted()) {
                return false;
            }
            LockSupport.parkNanos(this, left);
        }
        return true;
    }

    /** Makes it look again, for a reason that is nobody's lane. */
    public void wake() {
        wake(null);
    }

    public boolean isWoken() {
        return woken.get();
    }

    /** Before the next look, once it has left every place that may wake it. */
    public void rearm() {
        woken.set(false);
    }

    /** False = somebody else has woken it already. */
    boolean wake(@Nullable GroupLanes by) {
        if (!woken.compareAndSet(false, true)) {
            return false;
        }
        wokenBy = by;
        LockSupport.unpark(thread);
        return true;
    }

    /** The wake by a group's lane has been used or passed on. */
    void answered() {
        wokenBy = null;
    }

    /** Says that there may be queues it does not know of; stands until it is taken. */
    void tellNews() {
        news.set(true);
        wake(null);
    }

    /** Whether {@link #takeNews} would say yes. A wake may have come too late for its last look. */
    public boolean hasNews() {
        return news.get();
    }

    /** Whether queues may have appeared since it last asked. */
    public boolean takeNews() {
        return news.getAndSet(false);
    }

    boolean wasWokenBy(GroupLanes lanes) {
        return wokenBy == lanes;
    }
}
