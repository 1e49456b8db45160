package io.queenmq.count;

import io.micrometer.core.instrument.Counter;
import io.queenmq.db.Database;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import io.queenmq.runtime.Loop;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Sums what the calls of this broker have changed, per queue and per group, and tells the database
 * every few seconds; nothing where nothing moved. What a kill takes away a walk over the lanes
 * finds missing. Called by any thread, once a call has committed.
 */
public final class Counts implements AutoCloseable {
    private static final Logger LOG = System.getLogger(Counts.class.getName());

    /** Sums that stay at zero this often in a row are forgotten. */
    private static final int IDLE_ROUNDS_MAX = 6;

    private final ConcurrentHashMap<Integer, Tally> queues = new ConcurrentHashMap<>();
    private final ConcurrentHashMap<Integer, Tally> groups = new ConcurrentHashMap<>();
    private final Activities activities = new Activities();
    private final CountProcedures procedures;
    private final Counter told;
    private final Loop loop;
    private boolean closing;

    /**
     * Starts to tell.
     *
     * @param interval from one telling to the next
     */
    public Counts(Duration interval, Database database, Metrics metrics, Clock clock) {
        procedures = new CountProcedures(database);
        told =
                metrics.counter(
                        "queen_count_rows_total",
                        "Queues and groups of which this broker told what had changed.");
        loop = Loop.start("count", interval, this::tellInTime, metrics, clock);
    }

    /** Messages have been stored; bytes are those of their keys and frames. */
    public void stored(int queueId, long messages, long bytes) {
        queues.computeIfAbsent(queueId, Tally::new).addEach(messages, bytes);
        activities.stored(queueId, messages);
    }

    /** What is told to people who look back, and proved by nobody. */
    public Activities activities() {
        return activities;
    }

    /**
     * A cursor or lease has changed.
     *
     * @param passed messages that the cursor went by
     * @param granted messages that got a lease
     * @param ended messages whose lease is over
     * @param deadLetters dead letters filed
     */
    public void moved(int groupId, long passed, long granted, long ended, long deadLetters) {
        if ((passed | granted | ended | deadLetters) != 0) {
            // Here nothing but acknowledgements moves cursors: what they did not file is completed.
            // A sum of its own, for no walk mends it: two that are told apart do not make it up.
            groups.computeIfAbsent(groupId, Tally::new)
                    .addEach(
                            passed, granted, ended, deadLetters, Math.max(passed - deadLetters, 0));
        }
    }

    /** Tells at once; {@code queen_store.count_deltas} has all of it then. */
    public void tellNow() {
        tellInTime();
    }

    /** Tells what is left, if the database can be had. */
    @Override
    public void close() {
        synchronized (this) {
            // Nothing is under way now: interrupted, it would be told twice.
            closing = true;
        }
        loop.close();
        try {
            tell();
        } catch (QueenException e) {
            LOG.log(Level.INFO, "what this broker counted last is left to a walk", e);
        }
    }

    private synchronized void tellInTime() {
        if (!closing) {
            tell();
        }
    }

    private synchronized void tell() {
        List<Tally> ofQueues = take(queues);
        List<Tally> ofGroups = take(groups);
        if (ofQueues.isEmpty() && ofGroups.isEmpty()) {
            return;
        }
        boolean done = false;
        try {
            procedures.flush(ofQueues, ofGroups);
            done = true;
        } finally {
            if (!done) {
                ofQueues.forEach(Tally::giveBack);
                ofGroups.forEach(Tally::giveBack);
            }
        }
        told.increment((double) ofQueues.size() + ofGroups.size());
    }

    /** Those that have changed; those that have not for long are forgotten. */
    private static List<Tally> take(ConcurrentHashMap<Integer, Tally> tallies) {
        List<Tally> changed = new ArrayList<>();
        tallies.forEach(
                (key, tally) -> {
                    if (tally.take()) {
                        changed.add(tally);
                    } else if (tally.idleRounds() > IDLE_ROUNDS_MAX) {
                        // Whoever has it in hand adds to it once more at most: a moment ago, or
                        // that much is left to a walk.
                        tallies.remove(key, tally);
                    }
                });
        return changed;
    }
}
