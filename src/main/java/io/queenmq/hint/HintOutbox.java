package io.queenmq.hint;

import java.time.Duration;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;

/**
 * What this broker has to tell the others, until a carrier takes it: each lane once however often
 * it was written. What gets too much is told of the queue as a whole, then of everything. Any
 * thread; nobody ever waits but the carrier.
 */
public final class HintOutbox {
    /** A notification holds less than 8,000 bytes. */
    public static final int TEXT_BYTES_MAX = 7_900;

    private static final String EVERYTHING = "r";
    private static final long NEVER = Long.MAX_VALUE;
    private static final int LANES_MAX = 4_000;
    private static final int QUEUES_MAX = 1_000;

    /** Guards everything below. */
    private final ReentrantLock outboxLock = new ReentrantLock();

    private final Condition filled = outboxLock.newCondition();

    /** Lane to queue, in order of arrival. */
    private final Map<Long, Integer> written = new LinkedHashMap<>();

    private final Map<Long, Integer> freed = new LinkedHashMap<>();
    private final Set<Integer> queues = new LinkedHashSet<>();
    private final Set<Integer> changed = new LinkedHashSet<>();
    private boolean everything;

    /** When the next timer is due, in ms since 1970. */
    private long timerDueMs = NEVER;

    /** Whether what {@link #take} gave last is still on its way. */
    private boolean sending;

    public void laneWritten(int queueId, long lane) {
        add(() -> addLane(written, queueId, lane));
    }

    public void laneFreed(int queueId, long lane) {
        add(() -> addLane(freed, queueId, lane));
    }

    /** Any lane of the queue may have work again: there is no need to name some. */
    public void queueWritten(int queueId) {
        add(
                () -> {
                    queues.add(queueId);
                    written.values().removeIf(queue -> queue == queueId);
                    freed.values().removeIf(queue -> queue == queueId);
                });
    }

    public void queueChanged(int queueId) {
        add(() -> changed.add(queueId));
    }

    /** A timer is due at this time, in ms since 1970. */
    public void timerDue(long atMs) {
        add(() -> timerDueMs = Math.min(timerDueMs, atMs));
    }

    /** Hints were lost on their way: the others must look for themselves. */
    public void everythingChanged() {
        add(() -> everything = true);
    }

    /** How much the others do not know yet: lanes, queues, a time; one for a text being sent. */
    public int unsent() {
        outboxLock.lock();
        try {
            return written.size()
                    + freed.size()
                    + queues.size()
                    + changed.size()
                    + (timerDueMs == NEVER ? 0 : 1)
                    + (everything ? 1 : 0)
                    + (sending ? 1 : 0);
        } finally {
            outboxLock.unlock();
        }
    }

    /** What was taken last is committed, or lost and told anew. */
    public void sent() {
        outboxLock.lock();
        try {
            sending = false;
        } finally {
            outboxLock.unlock();
        }
    }

    /**
     * Waits for something to tell; as much of it as one notification holds, "" in time if none. The
     * carrier says {@link #sent} when it is.
     */
    public String take(Duration patience) throws InterruptedException {
        outboxLock.lockInterruptibly();
        try {
            long left = patience.toNanos();
            while (isEmpty() && left > 0) {
                left = filled.awaitNanos(left);
            }
            sending = !isEmpty();
            return text();
        } finally {
            outboxLock.unlock();
        }
    }

    /** All there is to tell, in one notification; "" if nothing. The last words of a carrier. */
    public String takeAll() {
        outboxLock.lock();
        try {
            String text = text();
            if (isEmpty()) {
                return text;
            }
            clear();
            return EVERYTHING;
        } finally {
            outboxLock.unlock();
        }
    }

    private String text() {
        if (everything) {
            clear();
            return EVERYTHING;
        }
        StringBuilder text = new StringBuilder();
        if (timerDueMs != NEVER) {
            text.append("t:").append(timerDueMs);
            timerDueMs = NEVER;
        }
        drain(text, 'c', changed);
        drain(text, 'q', queues);
        drain(text, 'p', written.keySet());
        drain(text, 'f', freed.keySet());
        return text.toString();
    }

    private void add(Runnable change) {
        outboxLock.lock();
        try {
            change.run();
            if (queues.size() + changed.size() > QUEUES_MAX) {
                everything = true;
            }
            if (everything) {
                clear();
                everything = true;
            }
            filled.signal();
        } finally {
            outboxLock.unlock();
        }
    }

    private void addLane(Map<Long, Integer> lanes, int queueId, long lane) {
        if (!queues.contains(queueId)) {
            lanes.put(lane, queueId);
        }
        if (written.size() + freed.size() > LANES_MAX) {
            queues.addAll(written.values());
            queues.addAll(freed.values());
            written.clear();
            freed.clear();
        }
    }

    private boolean isEmpty() {
        return !everything
                && written.isEmpty()
                && freed.isEmpty()
                && queues.isEmpty()
                && changed.isEmpty()
                && timerDueMs == NEVER;
    }

    private void clear() {
        everything = false;
        written.clear();
        freed.clear();
        queues.clear();
        changed.clear();
        timerDueMs = NEVER;
    }

    /** Moves numbers to the text as long as there is room. */
    private static void drain(StringBuilder text, char kind, Set<? extends Number> numbers) {
        boolean begun = false;
        for (Iterator<? extends Number> i = numbers.iterator(); i.hasNext(); ) {
            String number = Long.toString(i.next().longValue());
            int separators = begun ? 1 : 3;
            if (text.length() + separators + number.length() > TEXT_BYTES_MAX) {
                return;
            }
            if (begun) {
                text.append(',');
            } else {
                if (!text.isEmpty()) {
                    text.append(';');
                }
                text.append(kind).append(':');
                begun = true;
            }
            text.append(number);
            i.remove();
        }
    }
}
