package io.queenmq.ready;

import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The lanes of one (queue, group) that may have work, and the polls parked for them. Pops take
 * lanes, claim them in the database and say what they found; every lane taken must be handed back
 * by one of the methods below.
 *
 * <p>Invariant under {@code lanesLock}, at the end of every method: nobody is parked, or at least
 * as many polls have been woken and not yet looked as there are lanes ready. So no wake is lost,
 * and no more polls wake than there is work for.
 */
public final class GroupLanes implements Findings {
    /**
     * Lanes that have been ready longest, not taken.
     *
     * @param arrived where {@link #gather} begins to count what comes after
     */
    public record Glance(long[] lanes, long arrived) {}

    /**
     * How much waits for pops.
     *
     * @param ready lanes that are ready, not taken
     * @param waitedMillis how long the first of them has been
     */
    public record Load(int ready, int waitedMillis) {}

    /** Lanes came back, with how much nobody knows: as many as any batch. */
    private static final long MANY = Integer.MAX_VALUE;

    private final ReadyLanes owner;
    private final int queueId;
    private final int groupId;
    private final int generation;

    /** Guards the table, the parked polls and the flags below; never held across a call. */
    private final ReentrantLock lanesLock = new ReentrantLock();

    private final LaneTable table = new LaneTable(this::nowMillis);
    private final LinkedHashSet<Poll> parked = new LinkedHashSet<>();

    /**
     * Waiting lanes that are ready at once when a message at that offset has come: a hundred bytes
     * more for each, but only while a window holds it.
     */
    private final Map<Long, Long> filling = new HashMap<>();

    /** Polls that wait for more than is ready, and which value of {@link #arrived} wakes them. */
    private final Map<Poll, Long> gathering = new HashMap<>();

    /** Counts the messages that became known, at least as many as there were; never goes back. */
    private long arrived;

    private int woken;
    private boolean dropped;
    private boolean armed;
    private int armedFor;
    private long usedNanos;

    /** The reading of the tables that fills a new structure; replaced when one fails. */
    final AtomicReference<@Nullable CompletableFuture<Void>> seeding = new AtomicReference<>();

    volatile long seededNanos;

    GroupLanes(ReadyLanes owner, int queueId, int groupId, int generation) {
        this.owner = owner;
        this.queueId = queueId;
        this.groupId = groupId;
        this.generation = generation;
        this.usedNanos = owner.clock.nanos();
    }

    public int queueId() {
        return queueId;
    }

    public int groupId() {
        return groupId;
    }

    /** Whether it says nothing about a group of that generation. */
    boolean isOutdated(int current) {
        return generation < current || isDropped();
    }

    /**
     * Takes the lanes that have been ready longest.
     *
     * @param called whether {@link #leave} said so; others leave the lanes of woken polls alone
     */
    public long[] take(boolean called, int max) {
        lanesLock.lock();
        try {
            usedNanos = owner.clock.nanos();
            table.releaseDue(nowMillis());
            int free = called ? table.readyCount() : Math.max(0, table.readyCount() - woken);
            long[] lanes = new long[Math.min(max, free)];
            for (int i = 0; i < lanes.length; i++) {
                lanes[i] = table.take();
            }
            // Asked first: to look for a lane costs an object, and few queues have windows.
            if (!filling.isEmpty()) {
                for (long lane : lanes) {
                    filling.remove(lane);
                }
            }
            signal();
            return lanes;
        } finally {
            lanesLock.unlock();
        }
    }

    /** Shows the lanes that have been ready longest. */
    public Glance peek(int max) {
        lanesLock.lock();
        try {
            usedNanos = owner.clock.nanos();
            table.releaseDue(nowMillis());
            return new Glance(table.peek(max), arrived);
        } finally {
            lanesLock.unlock();
        }
    }

    /** How much is ready now. */
    public Load load() {
        lanesLock.lock();
        try {
            table.releaseDue(nowMillis());
            signal();
            return new Load(table.readyCount(), table.waitedMillis());
        } finally {
            lanesLock.unlock();
        }
    }

    /**
     * Queues the poll for the arrival of that many messages since the glance. It takes no part in
     * the invariant: what is ready meanwhile wakes those parked.
     *
     * @return false = they may have come, or this structure has been forgotten
     */
    public boolean gather(Poll poll, Glance since, long messages) {
        lanesLock.lock();
        try {
            usedNanos = owner.clock.nanos();
            long wakeAt = since.arrived + messages;
            if (dropped || arrived >= wakeAt) {
                return false;
            }
            gathering.put(poll, wakeAt);
            return true;
        } finally {
            lanesLock.unlock();
        }
    }

    /**
     * Takes the poll out of the parked. It must then look with {@link #take}, or pass its wake on
     * with {@link #pass}.
     *
     * @return whether it was woken for a lane of this group
     */
    public boolean leave(Poll poll) {
        lanesLock.lock();
        try {
            gathering.remove(poll);
            if (parked.remove(poll) || !poll.wasWokenBy(this)) {
                return false;
            }
            woken--;
            poll.answered();
            return true;
        } finally {
            lanesLock.unlock();
        }
    }

    /** The caller goes without looking: the lanes it was woken for wake somebody else. */
    public void pass() {
        change(() -> {});
    }

    /** Queues the poll for a wake; false = there is work, or this structure has been forgotten. */
    public boolean park(Poll poll) {
        lanesLock.lock();
        try {
            usedNanos = owner.clock.nanos();
            table.releaseDue(nowMillis());
            if (dropped || table.readyCount() > woken) {
                return false;
            }
            parked.add(poll);
            signal();
            return true;
        } finally {
            lanesLock.unlock();
        }
    }

    @Override
    public void empty(long lane, long lastOffset) {
        change(() -> table.drainedTo(lane, lastOffset));
    }

    @Override
    public void served(long lane, long end, long lastOffset) {
        change(() -> table.served(lane, end, lastOffset));
    }

    @Override
    public void held(long lane, long lastOffset, Instant expiresAt) {
        revisit(lane, lastOffset, owner.millisUntil(expiresAt, owner.config.heldRevisit()));
    }

    /**
     * An ack here frees the lane, and hints tell of one elsewhere: there is no need to ask. Beyond
     * the floor a reading of the tables looks after it anyway.
     */
    @Override
    public void leased(long lane, long lastOffset, Instant expiresAt) {
        revisit(lane, lastOffset, owner.millisUntil(expiresAt, owner.config.floor()));
    }

    @Override
    public void deferred(long lane, long lastOffset, Instant visibleAt, long fullAt) {
        int afterMillis = owner.millisUntil(visibleAt, owner.config.deferredRevisit());
        change(
                () -> {
                    table.revisit(lane, lastOffset, nowMillis() + afterMillis);
                    if (table.known(lane) >= fullAt) {
                        table.freed(lane);
                    } else if (fullAt != Long.MAX_VALUE) {
                        filling.put(lane, fullAt);
                    }
                });
    }

    /**
     * The lock may hide a committed tail, and an auto-ack winner leaves no lease whose expiry would
     * wake us: so the lane is never cleared for it.
     */
    @Override
    public void busy(long lane) {
        revisit(lane, -1, (int) owner.config.busyRevisit().toMillis());
    }

    /** It goes back to the head of the ready ones. */
    @Override
    public void untouched(long lane) {
        change(() -> table.untouched(lane));
    }

    @Override
    public void gone(long lane) {
        change(() -> table.forget(lane));
    }

    void written(long lane, long offset) {
        change(
                () -> {
                    arrived(table.written(lane, offset));
                    if (!filling.isEmpty()
                            && offset >= filling.getOrDefault(lane, Long.MAX_VALUE)) {
                        filling.remove(lane);
                        table.freed(lane);
                    }
                });
    }

    void freed(long lane, long committed, long lastOffset) {
        change(
                () -> {
                    table.freed(lane, committed, lastOffset);
                    arrived(MANY);
                });
    }

    void freed(long lane) {
        change(
                () -> {
                    table.freed(lane);
                    arrived(MANY);
                });
    }

    void found(List<LaneSource.Found> lanes) {
        change(
                () -> {
                    for (LaneSource.Found lane : lanes) {
                        Instant leasedUntil = lane.leaseExpiresAt();
                        // One that has ended stays in its row until somebody takes the lane over;
                        // a pop that does not wait must find it now.
                        if (leasedUntil == null || !leasedUntil.isAfter(owner.clock.now())) {
                            table.foundFree(lane.number(), lane.lastOffset());
                        } else {
                            table.foundLeased(
                                    lane.number(),
                                    lane.lastOffset(),
                                    nowMillis()
                                            + owner.millisUntil(
                                                    leasedUntil, owner.config.heldRevisit()));
                        }
                    }
                    arrived(lanes.isEmpty() ? 0 : MANY);
                });
    }

    /** Options or the queue itself changed: every waiting lane is worth a look, every poll too. */
    void changed() {
        change(table::releaseAll);
        wakeParked();
    }

    /** Wakes every parked poll, whether there is work or not. */
    void wakeParked() {
        List<Poll> polls;
        lanesLock.lock();
        try {
            polls = new ArrayList<>(parked);
            polls.addAll(gathering.keySet());
        } finally {
            lanesLock.unlock();
        }
        polls.forEach(Poll::wake);
    }

    boolean hasReady() {
        lanesLock.lock();
        try {
            return table.readyCount() > 0;
        } finally {
            lanesLock.unlock();
        }
    }

    boolean hasParked() {
        lanesLock.lock();
        try {
            return !parked.isEmpty() || !gathering.isEmpty();
        } finally {
            lanesLock.unlock();
        }
    }

    int size() {
        lanesLock.lock();
        try {
            return table.size();
        } finally {
            lanesLock.unlock();
        }
    }

    /** Keeps it from being forgotten; false = it has been, take another. */
    boolean use() {
        lanesLock.lock();
        try {
            usedNanos = owner.clock.nanos();
            return !dropped;
        } finally {
            lanesLock.unlock();
        }
    }

    /** Another has taken its place: nobody parks here any more, and whoever does looks again. */
    void drop() {
        lanesLock.lock();
        try {
            dropped = true;
        } finally {
            lanesLock.unlock();
        }
        wakeParked();
    }

    /** Whether another must be taken in its place. */
    public boolean isDropped() {
        lanesLock.lock();
        try {
            return dropped;
        } finally {
            lanesLock.unlock();
        }
    }

    /** Forgets it if nobody has popped for long; true = forgotten. */
    boolean dropIfIdle() {
        lanesLock.lock();
        try {
            long idle = owner.clock.nanos() - usedNanos;
            dropped |=
                    parked.isEmpty()
                            && gathering.isEmpty()
                            && woken == 0
                            && table.takenCount() == 0
                            && idle > owner.config.idle().toNanos();
            return dropped;
        } finally {
            lanesLock.unlock();
        }
    }

    /**
     * The timer's call: lanes whose time has come. One that an earlier call replaced is nothing.
     */
    void tick(int due) {
        lanesLock.lock();
        try {
            if (!armed || due != armedFor) {
                return;
            }
            armed = false;
            table.releaseDue(nowMillis());
            signal();
        } finally {
            lanesLock.unlock();
        }
    }

    private void revisit(long lane, long lastOffset, int afterMillis) {
        change(() -> table.revisit(lane, lastOffset, nowMillis() + afterMillis));
    }

    private void change(Runnable change) {
        lanesLock.lock();
        try {
            change.run();
            signal();
        } finally {
            lanesLock.unlock();
        }
    }

    /** That many messages, at most, became known. */
    private void arrived(long messages) {
        arrived += messages;
        if (!gathering.isEmpty()) {
            gathering.forEach(
                    (poll, wakeAt) -> {
                        if (arrived >= wakeAt) {
                            poll.wake();
                        }
                    });
        }
    }

    private void signal() {
        while (table.readyCount() > woken && !parked.isEmpty()) {
            if (parked.removeFirst().wake(this)) {
                woken++;
                owner.wakes.increment();
            }
        }
        if (!parked.isEmpty() && table.hasDue()) {
            arm(table.nextDue());
        }
    }

    private void arm(int due) {
        if (!armed || due - armedFor < 0) {
            armed = true;
            armedFor = due;
            owner.schedule(() -> tick(due), Math.max(1, due - nowMillis()));
        }
    }

    private int nowMillis() {
        return (int) TimeUnit.NANOSECONDS.toMillis(owner.clock.nanos());
    }
}
