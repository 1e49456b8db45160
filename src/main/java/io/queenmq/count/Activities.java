package io.queenmq.count;

import io.queenmq.count.Activity.Sum;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAccumulator;
import java.util.concurrent.atomic.LongAdder;

/**
 * What clients of this broker do to queues, for those who look back: one report after another takes
 * it from here. Any thread; a queue number of 0, for one that nobody knows yet, counts nowhere.
 */
public final class Activities {
    private final ConcurrentHashMap<Integer, Activity> queues = new ConcurrentHashMap<>();
    private final LongAdder lagMillis = new LongAdder();
    private final LongAccumulator lagMillisMax = new LongAccumulator(Math::max, 0);
    private final LongAdder failedAcks = new LongAdder();

    Activities() {}

    /** How many pops wait at a queue, told when that has changed. */
    record Parked(Activity queue, int number) {}

    void stored(int queueId, long messages) {
        if (queueId != 0) {
            of(queueId).stored(messages);
        }
    }

    /** What the log calls a queue with traffic. */
    public void named(int queueId, String queue) {
        if (queueId != 0) {
            of(queueId).named(queue);
        }
    }

    /** A transaction has stored messages there. */
    public void transacted(int queueId) {
        add(queueId, Sum.TRANSACTIONS, 1);
    }

    /** A pop got messages of a queue; {@link #delivered} says which. */
    public void popped(int queueId) {
        add(queueId, Sum.POPS, 1);
    }

    /**
     * Messages of one age were delivered.
     *
     * @param acknowledged whether that was their acknowledgement, too
     */
    public void delivered(int queueId, long messages, long ageMillis, boolean acknowledged) {
        if (queueId == 0) {
            return;
        }
        Activity activity = of(queueId);
        activity.add(Sum.POP_MESSAGES, messages);
        // Clocks of two machines may differ.
        long lag = Math.max(0, ageMillis);
        activity.lagged(lag, messages);
        lagMillis.add(lag * messages);
        lagMillisMax.accumulate(lag);
        if (acknowledged) {
            activity.add(Sum.ACKS, messages);
        }
    }

    /** A pop got nothing. */
    public void poppedNothing(int queueId) {
        add(queueId, Sum.EMPTY_POPS, 1);
    }

    /**
     * Acknowledgements of one partition were answered.
     *
     * @param failed those that told of a failure, or were refused
     * @param conflated messages that went unread with those completed
     */
    public void acknowledged(int queueId, long completed, long failed, long conflated) {
        if (queueId == 0) {
            return;
        }
        Activity activity = of(queueId);
        activity.add(Sum.ACK_REQUESTS, 1);
        activity.add(Sum.ACKS, completed);
        activity.add(Sum.FAILED_ACKS, failed);
        activity.add(Sum.CONFLATED, conflated);
        failedAcks.add(failed);
    }

    /** A pop begins to wait; {@link #leaves} must follow. */
    public void parks(int queueId) {
        park(queueId, 1);
    }

    public void leaves(int queueId) {
        park(queueId, -1);
    }

    private void park(int queueId, int change) {
        if (queueId == 0) {
            return;
        }
        queues.compute(
                queueId,
                (id, known) -> {
                    Activity activity = known == null ? new Activity(id) : known;
                    activity.park(change);
                    return activity;
                });
    }

    private void add(int queueId, Sum sum, long amount) {
        if (queueId != 0) {
            of(queueId).add(sum, amount);
        }
    }

    private Activity of(int queueId) {
        // Most of the time it is there, and found without a lock.
        Activity known = queues.get(queueId);
        return known == null ? queues.computeIfAbsent(queueId, Activity::new) : known;
    }

    /** Ages at delivery, added up over all queues since the start. */
    long lagMillis() {
        return lagMillis.sum();
    }

    /** The highest of these since this was asked last. */
    long takeLagMillisMax() {
        return lagMillisMax.getThenReset();
    }

    /** Of all queues since the start. */
    long failedAcks() {
        return failedAcks.sum();
    }

    /**
     * Queues with traffic since they were taken last; those that had none for long are forgotten.
     * Whoever has one of these in hand adds to it once more at most.
     */
    List<Activity> take() {
        List<Activity> busy = new ArrayList<>();
        for (Activity activity : queues.values()) {
            if (activity.take()) {
                busy.add(activity);
            } else {
                queues.computeIfPresent(
                        activity.queueId(), (id, known) -> known.isIdle() ? null : known);
            }
        }
        return busy;
    }

    /**
     * What was done to each since this was asked last; what was done to one that has been forgotten
     * meanwhile is lost.
     */
    List<QueueRate> show() {
        return queues.values().stream().map(Activity::show).toList();
    }

    /** Queues at which another number of pops waits than was told. */
    List<Parked> changed() {
        List<Parked> changed = new ArrayList<>();
        for (Integer queueId : queues.keySet()) {
            queues.computeIfPresent(
                    queueId,
                    (id, activity) -> {
                        if (activity.parked() != activity.parkedTold()) {
                            changed.add(new Parked(activity, activity.parked()));
                        }
                        return activity;
                    });
        }
        return changed;
    }
}
