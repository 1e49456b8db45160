package io.queenmq.timer;

import io.queenmq.cipher.PayloadCipher;
import io.queenmq.count.Counts;
import io.queenmq.db.Database;
import io.queenmq.db.LostAnswer;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.ready.LaneWrites;
import io.queenmq.ready.ReadyLanes;
import io.queenmq.runtime.Clock;
import io.queenmq.runtime.Loop;
import io.queenmq.runtime.Overdue;
import io.queenmq.timer.TimerMeters.FailureClass;
import io.queenmq.timer.TimerProcedures.Claim;
import io.queenmq.timer.TimerProcedures.Fired;
import io.queenmq.timer.TimerProcedures.Probe;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Fires what is due and sleeps until the next timer is. Every broker has one and none leads: a
 * timer that one has claimed the others pass over. Runs on a thread of its own.
 */
final class Sweeper {
    private static final Logger LOG = System.getLogger(Sweeper.class.getName());

    /** What is due but could not be claimed is held by somebody, for a moment most likely. */
    private static final int HELD_PAUSE_MIN_MS = 25;

    private static final int HELD_PAUSE_MAX_MS = 200;

    /** How often a lane is tried of which somebody else has locked a timer. */
    private static final int LOCKED_TRIES = 3;

    private static final int LOCKED_PAUSE_MS = 100;

    /** Less is not worth a call: a push takes as long. */
    private static final int BUSY_WAIT_MIN_MS = 5;

    private final TimersConfig config;
    private final Database database;
    private final TimerProcedures procedures;
    private final FireRates rates;
    private final TimerLooks looks;
    private final BusyLanes busyLanes;
    private final TimerAlarm alarm;
    private final BooleanSupplier hears;
    private final BooleanSupplier fires;
    private final ReadyLanes ready;
    private final Counts counts;
    private final PayloadCipher cipher;
    private final TimerMeters meters;
    private final Clock clock;
    private final CountDownLatch stopped = new CountDownLatch(1);
    private volatile boolean stopping;

    /**
     * @param hears whether others who schedule can be heard
     * @param fires whether operators let it
     * @param ready told of lanes that got messages
     * @param counts told of the messages
     */
    Sweeper(
            TimersConfig config,
            Database database,
            TimerProcedures procedures,
            FireRates rates,
            TimerAlarm alarm,
            BooleanSupplier hears,
            BooleanSupplier fires,
            ReadyLanes ready,
            Counts counts,
            PayloadCipher cipher,
            TimerMeters meters,
            Clock clock) {
        this.config = config;
        this.database = database;
        this.procedures = procedures;
        this.rates = rates;
        this.looks = new TimerLooks(config, procedures, rates, clock);
        this.busyLanes = new BusyLanes(config, clock);
        this.alarm = alarm;
        this.hears = hears;
        this.fires = fires;
        this.ready = ready;
        this.counts = counts;
        this.cipher = cipher;
        this.meters = meters;
        this.clock = clock;
    }

    /**
     * Goes on until it is told to stop or something breaks; an outage of the database it waits out.
     */
    void sweep(Loop.Signs atWork) throws InterruptedException {
        boolean held = false;
        while (!stopping) {
            try {
                long asked = alarm.looking();
                looks.begin();
                boolean on = fires.getAsBoolean();
                int claimed = on ? cycle(atWork) : 0;
                Probe probe = looks.probe();
                long nanos = clock.nanos();
                meters.looked(probe, nanos);
                atWork.run();
                // Once may be a timer whose time came between the two calls.
                boolean heldBefore = held;
                held = claimed == 0 && probe.due() > 0;
                if (!on) {
                    meters.phase.skipped().increment();
                    rest(config.deafSleepMax().toMillis());
                } else if (held && heldBefore) {
                    meters.held.increment();
                    rest(ThreadLocalRandom.current().nextInt(HELD_PAUSE_MIN_MS, HELD_PAUSE_MAX_MS));
                } else {
                    Duration longest =
                            looks.sleep(
                                    hears.getAsBoolean()
                                            ? config.idleSleepMax()
                                            : config.deafSleepMax());
                    meters.sleeps(longest);
                    alarm.await(asked, probe.readAt(), nanos, probe.next(), longest);
                }
            } catch (QueenException e) {
                if (e.failure() == Failure.STOPPING || !isTransient(e)) {
                    throw e;
                }
                LOG.log(Level.DEBUG, "timers wait for the database", e);
                if (Overdue.isOutage(e)) {
                    atWork.waitsOut();
                }
                rest(config.deafSleepMax().toMillis());
            }
        }
        stopped.countDown();
    }

    /** Lets what is claimed be fired, for at most so long: others would have to wait for it. */
    void stop(Duration patience) throws InterruptedException {
        stopping = true;
        alarm.look();
        if (!stopped.await(patience.toMillis(), TimeUnit.MILLISECONDS)) {
            LOG.log(Level.WARNING, "the sweeper is stopped in the midst of its work");
        }
    }

    private static void rest(long ms) throws InterruptedException {
        TimeUnit.MILLISECONDS.sleep(ms);
    }

    /** Nothing about the timers: the same may succeed in a while. */
    private static boolean isTransient(QueenException e) {
        return e.failure().retry() != Failure.Retry.NEVER;
    }

    /**
     * Fires what is due, a commit's worth at a time. Not for longer than half of what a claim
     * lasts: then it looks at the clock again, and others had their turn.
     *
     * @return how many were claimed or put off
     */
    private int cycle(Runnable atWork) throws InterruptedException {
        long start = clock.nanos();
        int claimed = 0;
        int seen = 0;
        boolean more = true;
        try {
            while (more
                    && seen < config.cycleMax()
                    && clock.nanos() - start < config.lease().toNanos() / 2) {
                long claimNanos = clock.nanos();
                Claim claim = looks.claim();
                atWork.run();
                claimed += claim.timers().size();
                seen += claim.seen();
                more = claim.seen() >= config.claimBatch() && !stopping;
                if (claim.claimedAt() != null) {
                    fire(claim.timers(), claim.claimedAt(), claimNanos);
                }
            }
        } finally {
            if (claimed > 0) {
                meters.phase.rows().increment(claimed);
                meters.phase.cycleMs().record((clock.nanos() - start) / 1e6);
            }
        }
        return seen;
    }

    private void fire(List<ClaimedTimer> timers, Instant claimedAt, long claimNanos)
            throws InterruptedException {
        List<List<List<ClaimedTimer>>> lanes = LaneBatch.byLane(seal(timers));
        for (int run = 0; !lanes.isEmpty(); run++) {
            List<LaneBatch> batch = new ArrayList<>(lanes.size());
            for (List<List<ClaimedTimer>> lane : lanes) {
                batch.add(LaneBatch.of(lane.get(run)));
            }
            List<Boolean> done =
                    fire(batch, claimedAt.plusNanos(clock.nanos() - claimNanos), LOCKED_TRIES);
            List<List<List<ClaimedTimer>>> rest = new ArrayList<>();
            for (int i = 0; i < lanes.size(); i++) {
                List<List<ClaimedTimer>> lane = lanes.get(i);
                if (run + 1 == lane.size()) {
                    continue;
                }
                if (done.get(i)) {
                    rest.add(lane);
                } else {
                    // Never before those that were to come first.
                    release(
                            lane.subList(run + 1, lane.size()).stream()
                                    .flatMap(List::stream)
                                    .toList(),
                            config.busyPause());
                }
            }
            lanes = rest;
        }
    }

    /**
     * What can be stored, payloads in envelopes where the queue wants that; nothing behind what
     * cannot, of the same lane.
     */
    private List<ClaimedTimer> seal(List<ClaimedTimer> timers) {
        List<ClaimedTimer> storable = new ArrayList<>(timers.size());
        List<ClaimedTimer> refused = new ArrayList<>();
        Set<LaneBatch.Name> closed = new HashSet<>();
        for (ClaimedTimer timer : timers) {
            if (closed.contains(LaneBatch.Name.of(timer))) {
                refused.add(timer);
            } else if (!timer.queueEncrypts() || timer.encrypted()) {
                storable.add(timer);
            } else if (cipher.hasKey()) {
                storable.add(timer.sealed(cipher.seal(timer.payload())));
            } else {
                refused.add(timer);
                closed.add(LaneBatch.Name.of(timer));
            }
        }
        if (!refused.isEmpty()) {
            // Another broker may have the key.
            meters.failed(FailureClass.CONFIG, refused.size());
            release(refused, config.pauseMin());
        }
        return storable;
    }

    /**
     * Whether each lane's timers are done with. Where one of them cannot be stored, or takes too
     * long, the others must not suffer: then each lane, and at last each timer, is fired for
     * itself.
     *
     * @param tries how often lanes are tried again of which somebody has locked a timer
     */
    private List<Boolean> fire(List<LaneBatch> batch, Instant at, int tries)
            throws InterruptedException {
        return fire(batch, at, tries, null);
    }

    /**
     * @param wait for lanes that somebody holds, which are given back then; null = they are fired
     *     once more, each for itself
     */
    private List<Boolean> fire(
            List<LaneBatch> batch, Instant at, int tries, @Nullable Duration wait)
            throws InterruptedException {
        List<Fired> verdicts;
        try {
            Duration pause = wait == null ? null : busyLanes.pause(batch.getFirst());
            verdicts = procedures.fire(batch, pause, wait);
        } catch (QueenException e) {
            if (LostAnswer.decide(database, e)) {
                // They may be in the log, and polls waiting for them.
                ready.anythingMoved();
            }
            return afterFailure(batch, at, tries, e);
        }
        Boolean[] done = new Boolean[batch.size()];
        List<LaneWrites.Lane> written = new ArrayList<>(batch.size());
        List<Integer> locked = new ArrayList<>(0);
        List<Integer> busy = new ArrayList<>(0);
        for (Fired fired : verdicts) {
            if (fired.verdict().equals("locked")) {
                locked.add(fired.lane());
            } else if (fired.verdict().equals("busy") && wait == null) {
                busy.add(fired.lane());
            } else {
                done[fired.lane()] = conclude(batch.get(fired.lane()), fired, at, written);
            }
        }
        if (!written.isEmpty()) {
            ready.written(written);
        }
        if (!busy.isEmpty()) {
            settle(done, busy, busy(busy.stream().map(batch::get).toList(), at, tries));
        }
        if (!locked.isEmpty()) {
            settle(done, locked, locked(locked.stream().map(batch::get).toList(), at, tries));
        }
        return List.of(done);
    }

    private static void settle(Boolean[] done, List<Integer> lanes, List<Boolean> later) {
        for (int i = 0; i < lanes.size(); i++) {
            done[lanes.get(i)] = later.get(i);
        }
    }

    /**
     * Somebody holds these lanes, for the millisecond of a push most likely: each is waited for, in
     * a commit of its own, so that nothing else is held meanwhile, and all of them together not for
     * long. The others are given back.
     */
    private List<Boolean> busy(List<LaneBatch> lanes, Instant at, int tries)
            throws InterruptedException {
        long start = clock.nanos();
        List<Boolean> done = new ArrayList<>(lanes.size());
        Map<Duration, List<ClaimedTimer>> left = new HashMap<>();
        for (LaneBatch lane : lanes) {
            long spent = clock.nanos() - start;
            Duration wait = config.busyWait().minusNanos(spent);
            if (wait.toMillis() >= BUSY_WAIT_MIN_MS && busyLanes.mayBeWaitedFor(lane)) {
                done.addAll(fire(List.of(lane), at.plusNanos(spent), tries, wait));
            } else {
                left.computeIfAbsent(busyLanes.pause(lane), _ -> new ArrayList<>())
                        .addAll(lane.timers());
                countBusy(lane);
                done.add(false);
            }
        }
        left.forEach((pause, timers) -> release(timers, pause));
        return done;
    }

    private void countBusy(LaneBatch lane) {
        meters.busy.increment();
        meters.failed(FailureClass.TRANSIENT, lane.timers().size());
    }

    /**
     * Somebody holds a timer that is claimed, as whoever came too late to cancel it does for a
     * moment. These lanes are claimed still: given back, they would wait for the end of the claim.
     */
    private List<Boolean> locked(List<LaneBatch> lanes, Instant at, int tries)
            throws InterruptedException {
        if (tries > 0) {
            rest(LOCKED_PAUSE_MS);
            return fire(lanes, at, tries - 1);
        }
        meters.busy.increment(lanes.size());
        giveBack(lanes, config.busyPause());
        return undone(lanes);
    }

    private List<Boolean> afterFailure(
            List<LaneBatch> batch, Instant at, int tries, QueenException why)
            throws InterruptedException {
        boolean tooLong = why.failure() == Failure.DEADLINE;
        if (!config.isolates() && TimerProcedures.mayLieInTimers(why)) {
            fail(batch.stream().flatMap(lane -> lane.timers().stream()).toList(), why);
            return undone(batch);
        }
        if (batch.size() > 1 && (tooLong || TimerProcedures.mayLieInTimers(why))) {
            List<Boolean> done = new ArrayList<>(batch.size());
            for (LaneBatch lane : batch) {
                done.addAll(fire(List.of(lane), at, tries));
            }
            return done;
        }
        if (!TimerProcedures.mayLieInTimers(why)) {
            // A lane that takes too long by itself must not stop the others each time.
            giveBack(batch, tooLong ? config.pauseMax() : config.pauseMin());
            return undone(batch);
        }
        LaneBatch lane = batch.getFirst();
        if (lane.timers().size() == 1) {
            fail(lane.timers(), why);
            return List.of(true);
        }
        List<ClaimedTimer> timers = lane.timers();
        for (int i = 0; i < timers.size(); i++) {
            LaneBatch one = LaneBatch.of(List.of(timers.get(i)));
            if (!fire(List.of(one), at, tries).getFirst()) {
                // Never before those that were to come first.
                release(timers.subList(i + 1, timers.size()), config.busyPause());
                return List.of(false);
            }
        }
        return List.of(true);
    }

    private void giveBack(List<LaneBatch> lanes, Duration pause) {
        List<ClaimedTimer> timers = lanes.stream().flatMap(lane -> lane.timers().stream()).toList();
        meters.failed(FailureClass.TRANSIENT, timers.size());
        release(timers, pause);
    }

    private static List<Boolean> undone(List<LaneBatch> lanes) {
        return lanes.stream().map(_ -> false).toList();
    }

    private boolean conclude(
            LaneBatch lane, Fired fired, Instant at, List<LaneWrites.Lane> written) {
        meters.duplicate.increment(fired.dropped());
        switch (fired.verdict()) {
            case "fired" -> {
                busyLanes.fired(lane);
                int messages = lane.timers().size();
                meters.fired.increment(messages);
                for (ClaimedTimer timer : lane.timers()) {
                    meters.lags.record(
                            lane.tenant(),
                            Duration.between(timer.deliverAt(), at).toMillis() / 1e3);
                }
                counts.stored(fired.queueId(), messages, lane.bytes());
                rates.delivered(lane.tenant(), messages);
                written.add(
                        new LaneWrites.Lane(
                                lane.tenant(),
                                fired.queueId(),
                                lane.queue(),
                                fired.partitionNumber(),
                                lane.partition(),
                                fired.lastOffset()));
                return true;
            }
            case "stale" -> meters.stale.increment(lane.timers().size());
            case "busy" -> {
                busyLanes.waitedInVain(lane);
                countBusy(lane);
            }
            case "duplicate", "unsealed" -> {
                // What is left can be claimed at once.
            }
            default -> throw new IllegalStateException("fire_timers said " + fired.verdict());
        }
        return false;
    }

    /** Otherwise they would have to wait for the end of their claim, as they do if this fails. */
    private void release(List<ClaimedTimer> timers, Duration pause) {
        try {
            procedures.release(timers, pause.toMillis());
        } catch (QueenException e) {
            LOG.log(Level.DEBUG, "claims end by themselves", e);
        }
    }

    private void fail(List<ClaimedTimer> timers, QueenException why) {
        meters.failed(FailureClass.PERMANENT, timers.size());
        String error =
                why.getCause() == null || why.getCause().getMessage() == null
                        ? why.detail()
                        : why.getCause().getMessage();
        try {
            meters.deadLetters.increment(
                    procedures.fail(
                            timers,
                            timers.stream().map(_ -> error).toList(),
                            config.attemptsMax(),
                            config.pauseMin().toMillis(),
                            config.pauseMax().toMillis()));
        } catch (QueenException e) {
            LOG.log(Level.DEBUG, "claims end by themselves", e);
        }
    }
}
