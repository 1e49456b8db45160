package io.queenmq.ready;

import io.micrometer.core.instrument.Counter;
import io.queenmq.db.Database;
import io.queenmq.hint.HintOutbox;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Which lanes may have work, per (queue, group) that is popped from, and every poll that waits.
 * Everything here is a hint in excess: a claim decides. Fed by this broker's commits, acks and
 * claims, by hints of others, and by readings of the tables (see {@link Reseed}). Any thread.
 */
public final class ReadyLanes implements LaneWrites, AutoCloseable {
    private static final GroupLanes[] NO_GROUPS = {};
    private static final int VISIT_MILLIS_MIN = 20;

    final Clock clock;
    final ReadyConfig config;

    private final ConcurrentHashMap<Integer, GroupLanes[]> queues = new ConcurrentHashMap<>();
    private final PinnedPolls pinned = new PinnedPolls();
    private final DiscoveryPolls discovery = new DiscoveryPolls();
    private final AtomicInteger polls = new AtomicInteger();
    private final HintOutbox outbox;
    final Counter wakes;
    private final Counter refused;
    private final Counter unresolved;
    private final ScheduledThreadPoolExecutor timer;
    private final Reseed reseed;
    private volatile boolean stopping;

    /**
     * @param outbox where other brokers are told what happens here
     */
    public ReadyLanes(
            ReadyConfig config,
            Database database,
            HintOutbox outbox,
            Metrics metrics,
            Clock clock) {
        this(config, new ReadyProcedures(database), outbox, metrics, clock);
    }

    ReadyLanes(
            ReadyConfig config,
            LaneSource source,
            HintOutbox outbox,
            Metrics metrics,
            Clock clock) {
        this.outbox = outbox;
        this.clock = clock;
        this.config = config;
        this.wakes =
                metrics.counter(
                        "queen_ready_wakes_total", "Polls woken for a lane of their group.");
        this.refused =
                metrics.counter(
                        "queen_ready_polls_refused_total",
                        "Polls refused because too many were waiting.");
        this.unresolved =
                metrics.counter(
                        "queen_ready_hints_unresolved_total",
                        "Hints whose lanes could not be looked up: the tables are read instead.");
        metrics.gauge("queen_ready_polls", "Polls that wait for messages.", this::pollCount);
        metrics.gauge("queen_ready_lanes", "Lanes that may have work.", this::laneCount);
        this.timer =
                new ScheduledThreadPoolExecutor(
                        1, Thread.ofPlatform().name("queen-ready-timer").daemon().factory());
        this.reseed = new Reseed(this, source, metrics);
    }

    /**
     * The lanes of a group, filled from the tables at the first use of a generation: what was found
     * out in an earlier one is forgotten, and polls parked for it look again.
     */
    public GroupLanes lanes(int queueId, int groupId, int generation) {
        GroupLanes lanes;
        do {
            lanes = find(queueId, groupId);
            if (lanes == null || lanes.isOutdated(generation)) {
                lanes = create(queueId, groupId, generation);
            }
        } while (!lanes.use());
        reseed.awaitFirst(lanes);
        return lanes;
    }

    public ReadyConfig config() {
        return config;
    }

    /**
     * Registers a poll of the calling thread; {@link #close(Poll)} must follow.
     *
     * @throws QueenException overloaded, or the broker is stopping
     */
    public Poll open() {
        if (polls.incrementAndGet() > config.waitersMax()) {
            polls.decrementAndGet();
            refused.increment();
            throw new QueenException(
                    Failure.OVERLOADED,
                    "at most " + config.waitersMax() + " polls may wait at once");
        }
        return new Poll(clock);
    }

    public void close(Poll poll) {
        polls.decrementAndGet();
    }

    /** Polls that wait, or are about to. */
    public int pollCount() {
        return polls.get();
    }

    /** Lanes that may have work, over all groups in use. */
    public int laneCount() {
        int count = 0;
        for (GroupLanes lanes : all()) {
            count += lanes.size();
        }
        return count;
    }

    /** Answers all polls: the broker stops. */
    public void stopPolls() {
        stopping = true;
        wakeAll();
    }

    public boolean isStopping() {
        return stopping;
    }

    @Override
    public void written(List<Lane> lanes) {
        for (Lane lane : lanes) {
            outbox.laneWritten(lane.queueId(), lane.number());
        }
        heard(lanes);
    }

    /** A lane's lease ended with the cursor at {@code committed}. */
    public void freed(int queueId, int groupId, long lane, long committed, long lastOffset) {
        GroupLanes lanes = find(queueId, groupId);
        if (lanes != null) {
            lanes.freed(lane, committed, lastOffset);
        }
        if (lastOffset > committed) {
            outbox.laneFreed(queueId, lane);
            pinned.freed(lane, groupId);
        }
    }

    /** The cursor of a group was set to {@code committed} in one lane, and its lease ended. */
    public void sought(int queueId, int groupId, long lane, long committed, long lastOffset) {
        GroupLanes lanes = find(queueId, groupId);
        if (lanes != null) {
            lanes.freed(lane);
        }
        if (lastOffset > committed) {
            outbox.laneFreed(queueId, lane);
            pinned.freed(lane, groupId);
        }
    }

    /** A queue's options, labels or groups changed, or it was deleted. */
    public void queueChanged(int queueId) {
        outbox.queueChanged(queueId);
        heardChanged(queueId);
    }

    /** What is known of the lanes of a group holds no longer: its next pop reads the tables. */
    public void forget(int queueId, int groupId) {
        GroupLanes lanes = find(queueId, groupId);
        if (lanes != null) {
            lanes.drop();
        }
    }

    /** Groups of a queue begin elsewhere: any of its lanes may have work for them again. */
    public void groupsMoved(int queueId) {
        outbox.queueChanged(queueId);
        outbox.queueWritten(queueId);
        heardChanged(queueId);
        queueWritten(queueId);
    }

    /** A move of which nobody knows whether it took effect: any lane may have work again. */
    public void anythingMoved() {
        outbox.everythingChanged();
        everythingChanged();
    }

    /** Lanes were written, here or elsewhere. */
    void heard(List<Lane> lanes) {
        for (Lane lane : lanes) {
            for (GroupLanes group : groups(lane.queueId())) {
                group.written(lane.number(), lane.lastOffset());
            }
            pinned.written(lane);
            discovery.written(lane.tenant(), lane.queueId());
        }
    }

    /** Leases of these lanes, of whatever group, ended elsewhere. */
    void heardFreed(List<Lane> lanes) {
        for (Lane lane : lanes) {
            for (GroupLanes group : groups(lane.queueId())) {
                group.freed(lane.number());
            }
            pinned.freed(lane.number(), null);
        }
    }

    void heardChanged(int queueId) {
        for (GroupLanes group : groups(queueId)) {
            group.changed();
        }
        pinned.changed(queueId);
        discovery.wakeAll();
    }

    /** Any queue may have changed, and any lane may have been written. */
    void everythingChanged() {
        reseed.requestAll();
        all().forEach(GroupLanes::changed);
        wakeAll();
    }

    /** These lanes were written or freed, but what they are could not be looked up. */
    void heardUnknown(List<Long> numbers) {
        unresolved.increment();
        reseed.requestAll();
        numbers.forEach(number -> pinned.freed(number, null));
        wakeSeekers();
    }

    /** Any lane of the queue may have been written or freed. */
    void queueWritten(int queueId) {
        reseed.request(groups(queueId));
        pinned.changed(queueId);
        wakeSeekers();
    }

    /** Polls that wait for a lane or queue to appear look again. */
    void wakeSeekers() {
        pinned.wakeNamed();
        discovery.wakeAll();
    }

    /** Whether a hint could matter to anybody here. */
    boolean listens() {
        return !queues.isEmpty() || polls.get() > 0;
    }

    /** Queues that polls are parked for. */
    Set<Integer> queuesWaitedFor() {
        Set<Integer> waitedFor = pinned.queueIds();
        queues.forEach(
                (queueId, groups) -> {
                    if (Arrays.stream(groups).anyMatch(GroupLanes::hasParked)) {
                        waitedFor.add(queueId);
                    }
                });
        return waitedFor;
    }

    public void enterPinned(int queueId, int groupId, long lane, Poll poll) {
        pinned.enter(queueId, groupId, lane, poll);
    }

    /** The poll stops waiting for the lane; a wake it did not use goes to the next. */
    public void leavePinned(int groupId, long lane, Poll poll, boolean passOn) {
        pinned.leave(groupId, lane, poll);
        if (passOn) {
            pinned.freed(lane, groupId);
        }
    }

    public void enterNamed(UUID tenant, String queue, String partition, Poll poll) {
        pinned.enter(tenant, queue, partition, poll);
    }

    public void leaveNamed(UUID tenant, String queue, String partition, Poll poll) {
        pinned.leave(tenant, queue, partition, poll);
    }

    public void enterDiscovery(UUID tenant, Poll poll) {
        discovery.enter(tenant, poll);
    }

    public void leaveDiscovery(UUID tenant, Poll poll) {
        discovery.leave(tenant, poll);
    }

    @Override
    public void close() {
        stopPolls();
        reseed.close();
        timer.shutdownNow();
    }

    /** To an instant of the database's clock, which ours may disagree with. */
    public int millisUntil(Instant instant, Duration most) {
        long millis = Duration.between(clock.now(), instant).toMillis() + 1;
        return (int) Math.clamp(millis, VISIT_MILLIS_MIN, most.toMillis());
    }

    void schedule(Runnable tick, int afterMillis) {
        if (!timer.isShutdown()) {
            var _ = timer.schedule(tick, afterMillis, TimeUnit.MILLISECONDS);
        }
    }

    List<GroupLanes> all() {
        List<GroupLanes> all = new ArrayList<>();
        queues.values().forEach(groups -> all.addAll(Arrays.asList(groups)));
        return all;
    }

    /** Forgets what has not been used for long. */
    void sweep() {
        for (Integer queueId : queues.keySet()) {
            queues.computeIfPresent(
                    queueId,
                    (key, groups) -> {
                        GroupLanes[] kept =
                                Arrays.stream(groups)
                                        .filter(group -> !group.dropIfIdle())
                                        .toArray(GroupLanes[]::new);
                        return kept.length == 0 ? null : kept;
                    });
        }
    }

    private void wakeAll() {
        all().forEach(GroupLanes::wakeParked);
        pinned.wakeAll();
        discovery.wakeAll();
    }

    private GroupLanes[] groups(int queueId) {
        return queues.getOrDefault(queueId, NO_GROUPS);
    }

    private @Nullable GroupLanes find(int queueId, int groupId) {
        for (GroupLanes lanes : groups(queueId)) {
            if (lanes.groupId() == groupId) {
                return lanes;
            }
        }
        return null;
    }

    private GroupLanes create(int queueId, int groupId, int generation) {
        GroupLanes fresh = new GroupLanes(this, queueId, groupId, generation);
        List<GroupLanes> outdated = new ArrayList<>();
        GroupLanes[] groups =
                queues.compute(
                        queueId,
                        (key, present) -> {
                            outdated.clear();
                            GroupLanes[] old = present == null ? NO_GROUPS : present;
                            for (int i = 0; i < old.length; i++) {
                                if (old[i].groupId() == groupId) {
                                    if (!old[i].isOutdated(generation)) {
                                        return old;
                                    }
                                    outdated.add(old[i]);
                                    GroupLanes[] all = old.clone();
                                    all[i] = fresh;
                                    return all;
                                }
                            }
                            GroupLanes[] all = Arrays.copyOf(old, old.length + 1);
                            all[old.length] = fresh;
                            return all;
                        });
        outdated.forEach(GroupLanes::drop);
        for (GroupLanes lanes : groups) {
            if (lanes.groupId() == groupId) {
                return lanes;
            }
        }
        throw new IllegalStateException("a group just made is missing");
    }
}
