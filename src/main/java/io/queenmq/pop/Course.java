package io.queenmq.pop;

import io.queenmq.ready.GroupLanes;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;

/**
 * How many lanes a pop of one group should take, learned from what pops find ready. Few lanes per
 * pop cost a commit each, and lanes that no pop comes to wait; many lanes are bound to a consumer
 * that works them off one after the other. Any thread.
 *
 * <p>It goes by how many lanes are ready and by how long the first of them has been: that lane is
 * the one nobody has come to. The age of lanes that were taken says nothing about the others: with
 * one lane per pop it looks perfect however many are waiting.
 */
final class Course {
    static final int WIDTH_MAX = 64;

    /** The share of a new value in the running ones. */
    private static final double SMOOTHING = 0.25;

    /** Longest advised pause, in target ages: by default that of clients without advice. */
    private static final int PAUSE_MAX = 4;

    /**
     * What a pop is to do.
     *
     * @param width lanes it may take
     * @param pauseMillis what to advise for a loop that finds nothing
     */
    record Choice(int width, int pauseMillis) {}

    private final AutopilotConfig config;

    /** Guards all below. */
    private final ReentrantLock courseLock = new ReentrantLock();

    private int live;
    private int looks;
    private long changedNanos;

    /** 0 = nobody has looked yet. */
    private int width;

    private double ready;
    private double waitedMillis;

    /** Full, until a pop says otherwise: what is not known narrows nothing. */
    private double fill = 1;

    Course(AutopilotConfig config) {
        this.config = config;
    }

    /** A pop begins; {@link #leave} must follow. */
    void enter() {
        courseLock.lock();
        try {
            live++;
        } finally {
            courseLock.unlock();
        }
    }

    void leave() {
        courseLock.lock();
        try {
            live--;
        } finally {
            courseLock.unlock();
        }
    }

    /** A pop looks for lanes. */
    Choice choose(GroupLanes.Load load, long nowNanos) {
        courseLock.lock();
        try {
            looks++;
            if (width == 0) {
                ready = load.ready();
                waitedMillis = load.waitedMillis();
                change(Math.ceilDiv(load.ready(), Math.max(1, live)), nowNanos);
            } else {
                ready += SMOOTHING * (load.ready() - ready);
                waitedMillis += SMOOTHING * (load.waitedMillis() - waitedMillis);
                adjust(nowNanos);
            }
            int burst = Math.min(load.ready(), config.burst());
            return new Choice(Math.max(width, burst), pauseMillis());
        } finally {
            courseLock.unlock();
        }
    }

    /** A pop took something: that share of the messages it could have taken. */
    void filled(double share) {
        courseLock.lock();
        try {
            fill += SMOOTHING * (share - fill);
        } finally {
            courseLock.unlock();
        }
    }

    private void adjust(long nowNanos) {
        boolean settled =
                looks >= config.dwellLooks()
                        && nowNanos - changedNanos
                                >= TimeUnit.MILLISECONDS.toNanos(config.dwellMillis());
        int wanted = (int) Math.ceil(ready);
        boolean late = waitedMillis > config.targetMillis();
        if (width < Math.min(wanted, WIDTH_MAX)) {
            if (settled || late) {
                change(wanted, nowNanos);
            }
        } else if (settled
                && width > 2 * ready
                && waitedMillis < config.targetMillis() / 4.0
                && fill < 0.5) {
            // Never by more than half at once: the next burst may be as wide as the last.
            change(Math.max(wanted, width / 2), nowNanos);
        }
    }

    private void change(int wanted, long nowNanos) {
        width = Math.clamp(wanted, 1, WIDTH_MAX);
        changedNanos = nowNanos;
        looks = 0;
    }

    /** The longer lanes have been ready when somebody comes, the sooner to come again. */
    private int pauseMillis() {
        double late = Math.min(1, waitedMillis / config.targetMillis());
        return (int) Math.round(config.targetMillis() * (PAUSE_MAX - (PAUSE_MAX - 1) * late));
    }
}
