package io.queenmq.timer;

import io.queenmq.cipher.PayloadCipher;
import io.queenmq.count.Counts;
import io.queenmq.db.ColdReads;
import io.queenmq.db.Database;
import io.queenmq.db.LostAnswer;
import io.queenmq.gate.Quotas;
import io.queenmq.gate.Switch;
import io.queenmq.gate.Switches;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Caller;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.model.Slice;
import io.queenmq.model.UuidMint;
import io.queenmq.queue.QueueCatalog;
import io.queenmq.ready.ReadyLanes;
import io.queenmq.runtime.Clock;
import io.queenmq.runtime.Loop;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The use cases of timers, called from the thread of the request, which waits for the database; and
 * the sweepers, which fire them on threads of their own.
 */
public final class Timers implements AutoCloseable {
    private static final Duration STOP_PATIENCE = Duration.ofSeconds(5);
    private static final Duration SWEEPER_PAUSE = Duration.ofMillis(100);

    private final TimersConfig config;
    private final Database database;
    private final TimerProcedures procedures;
    private final TimerCalls calls;
    private final TimerReads reads;
    private final QueueCatalog catalog;
    private final PayloadCipher cipher;
    private final TimerAlarm alarm;
    private final List<Sweeper> sweepers = new ArrayList<>();
    private final Switches switches;
    private final Quotas quotas;
    private final UuidMint mint;
    private final TimerMeters meters;
    private final Metrics metrics;
    private final Clock clock;
    private final List<Loop> loops = new ArrayList<>();

    /**
     * @param coldReads for what has no bound
     * @param catalog says which queues encrypt
     * @param ready told of lanes that got messages
     * @param counts told of the messages
     * @param alarm told of what is scheduled, and tells the sweeper
     * @param hears whether others who schedule can be heard
     * @param switches with which operators stop new timers, or the delivery of those that are due
     * @param quotas say how many a tenant may have, and how far ahead
     */
    public Timers(
            TimersConfig config,
            Database database,
            ColdReads coldReads,
            QueueCatalog catalog,
            ReadyLanes ready,
            Counts counts,
            PayloadCipher cipher,
            TimerAlarm alarm,
            BooleanSupplier hears,
            Switches switches,
            Quotas quotas,
            UuidMint mint,
            Metrics metrics,
            Clock clock) {
        this.config = config;
        this.database = database;
        this.procedures = new TimerProcedures(database);
        this.calls = new TimerCalls(procedures, metrics, clock);
        this.reads = new TimerReads(coldReads);
        this.catalog = catalog;
        this.cipher = cipher;
        this.alarm = alarm;
        this.switches = switches;
        this.quotas = quotas;
        this.mint = mint;
        this.meters = new TimerMeters(metrics, clock, config.dueMax(), config.fires());
        this.metrics = metrics;
        this.clock = clock;
        FireRates rates = new FireRates(config.fireRate(), clock);
        for (int i = 0; i < config.parallelism(); i++) {
            sweepers.add(
                    new Sweeper(
                            config,
                            database,
                            procedures,
                            rates,
                            alarm,
                            hears,
                            () -> switches.isOn(Switch.TIMERS_FIRE),
                            ready,
                            counts,
                            cipher,
                            meters,
                            clock));
        }
    }

    /** Begins to fire, unless the settings leave that to other brokers. */
    public void start() {
        if (!config.fires()) {
            return;
        }
        for (Sweeper sweeper : sweepers) {
            String name = loops.isEmpty() ? "sweeper" : "sweeper-" + (loops.size() + 1);
            Duration sleep =
                    config.idleSleepMax().compareTo(config.deafSleepMax()) > 0
                            ? config.idleSleepMax()
                            : config.deafSleepMax();
            loops.add(
                    Loop.startStanding(name, SWEEPER_PAUSE, sleep, sweeper::sweep, metrics, clock));
        }
    }

    public TimersConfig config() {
        return config;
    }

    /**
     * Carries out all operations or none.
     *
     * @return one result per operation, in their order
     * @throws QueenException {@code TIMERS_DISABLED}, {@code FEATURE_GATED}, {@code RATE_LIMITED},
     *     {@code TIMER_HORIZON_EXCEEDED}, {@code TIMERS_QUOTA_EXCEEDED}; {@code QUEUE_ENCRYPTED}:
     *     the queue encrypts and there is no key; {@code BAD_REQUEST}: it encrypts, and the payload
     *     is an envelope; or a timer twice
     */
    public List<TimerResult> change(Caller caller, List<TimerOp> ops) {
        if (ops.isEmpty()) {
            return List.of();
        }
        TimerChanges changes = prepare(caller, ops);
        List<TimerResult> results;
        try {
            results = calls.carryOut(changes);
        } catch (QueenException e) {
            if (LostAnswer.decide(database, e)) {
                mayHaveChanged();
            } else if (e.failure() != Failure.DEADLINE) {
                giveBack(changes, List.of());
            }
            throw e;
        }
        changed(changes, results);
        return results;
    }

    /**
     * Operations to be carried out by the call of a transaction.
     *
     * @throws QueenException as {@link #change}; a timer that occurs twice is refused by the call
     */
    public TransactionTimers enlist(Caller caller, List<TimerOp> ops) {
        try {
            return new TransactionTimers(this, prepare(caller, ops));
        } catch (QueenException e) {
            refused(e.failure());
            throw e;
        }
    }

    /** Timers have been changed, by a call of their own or by that of a transaction. */
    void changed(TimerChanges changes, List<TimerResult> results) {
        giveBack(changes, results);
        meters.changed(results);
        tell(results);
    }

    /** Timers that were to be changed by the call of a transaction have not been. */
    void unchanged(TimerChanges changes) {
        giveBack(changes, List.of());
    }

    /** The sweeper finds out for itself. */
    void mayHaveChanged() {
        alarm.look();
    }

    /** A request to change timers has been refused. */
    public void refused(Failure failure) {
        meters.rejected(failure);
    }

    private TimerChanges prepare(Caller caller, List<TimerOp> ops) {
        TimerChanges changes = TimerChanges.of(caller.tenant(), caller.subject(), ops);
        Map<String, Boolean> encrypts = new HashMap<>();
        if (schedules(ops) > 0) {
            requireOpen(caller.tenant());
        }
        Duration horizon = horizon(caller.tenant());
        Instant latest = clock.now().plus(horizon);
        for (int i = 0; i < ops.size(); i++) {
            switch (ops.get(i)) {
                case TimerOp.Cancel _ -> changes.cancel(i);
                case TimerOp.Schedule op -> {
                    requireWithinHorizon(op, horizon, latest);
                    boolean seal =
                            encrypts.computeIfAbsent(
                                    op.queue(), queue -> encrypts(caller.tenant(), queue));
                    if (seal && op.encrypted()) {
                        throw new QueenException(
                                Failure.BAD_REQUEST,
                                "timers_encrypted_conflict",
                                "queue %s encrypts what it stores: send the payload in the clear"
                                        .formatted(op.queue()));
                    }
                    Slice payload = seal ? cipher.seal(op.payload()) : op.payload();
                    changes.schedule(i, op, mint.mint(), payload, seal || op.encrypted());
                }
            }
        }
        // Last: a call that is refused for something else has taken nothing.
        quotas.takeTimers(caller.tenant(), schedules(ops));
        return changes;
    }

    /** Whether new timers are taken of anybody, then of this tenant, and now. */
    private void requireOpen(UUID tenant) {
        if (!switches.isOn(Switch.TIMERS_SCHEDULE)) {
            throw new QueenException(
                    Failure.TIMERS_DISABLED,
                    "new timers are switched off and nothing of the call was done; cancellations"
                            + " without them are not");
        }
        quotas.requireGrant(tenant);
        quotas.takeTurn(tenant, true);
    }

    /** What of the quota the call had taken and turned out not to need. */
    private void giveBack(TimerChanges changes, List<TimerResult> results) {
        quotas.giveBackTimers(changes.tenant(), schedules(changes.ops()) - growth(results));
    }

    private static long schedules(List<TimerOp> ops) {
        return ops.stream().filter(TimerOp.Schedule.class::isInstance).count();
    }

    /** How many more timers there are for it. */
    private static long growth(List<TimerResult> results) {
        long growth = 0;
        for (TimerResult result : results) {
            switch (result) {
                case TimerResult.Scheduled scheduled -> growth += scheduled.replaced() ? 0 : 1;
                case TimerResult.Cancelled _ -> growth--;
                case TimerResult.Absent _, TimerResult.TooLate _ -> {
                    // As many as before.
                }
            }
        }
        return growth;
    }

    private Duration horizon(UUID tenant) {
        Long seconds = quotas.of(tenant).maxTimerHorizonSeconds();
        return seconds == null || seconds >= config.horizon().toSeconds()
                ? config.horizon()
                : Duration.ofSeconds(seconds);
    }

    private boolean encrypts(UUID tenant, String queue) {
        return catalog.queue(tenant, queue)
                .map(known -> known.options().encryptionEnabled())
                .orElse(false);
    }

    private static void requireWithinHorizon(
            TimerOp.Schedule op, Duration horizon, Instant latest) {
        boolean within =
                switch (op.when()) {
                    case TimerOp.When.After(Duration delay) -> delay.compareTo(horizon) <= 0;
                    case TimerOp.When.At(Instant instant) -> !instant.isAfter(latest);
                };
        if (!within) {
            throw new QueenException(
                    Failure.TIMER_HORIZON_EXCEEDED,
                    "timers_horizon",
                    "timer %s: a message can be scheduled up to %d s ahead"
                            .formatted(op.timerKey(), horizon.toSeconds()));
        }
    }

    /** The earliest is enough: who looks then finds the others. */
    private void tell(List<TimerResult> results) {
        results.stream()
                .filter(TimerResult.Scheduled.class::isInstance)
                .map(result -> ((TimerResult.Scheduled) result).deliverAt())
                .min(Instant::compareTo)
                .ifPresent(alarm::scheduled);
    }

    /** A timer that is still to be fired. */
    public Optional<PendingTimer> find(UUID tenant, String queue, String timerKey) {
        return procedures.find(tenant, queue, timerKey);
    }

    /**
     * Timers of a queue in order of the bytes of their keys.
     *
     * @param after only those behind this key; null = all
     */
    public List<PendingTimer> list(UUID tenant, String queue, @Nullable String after, int limit) {
        return procedures.list(tenant, queue, after, limit);
    }

    /**
     * How many timers of a queue have keys that begin like this.
     *
     * @throws QueenException also {@code OVERLOADED}: too many are being counted
     */
    public long count(UUID tenant, String queue, String prefix) {
        return reads.count(tenant, queue, prefix);
    }

    /** Lets what is claimed be fired. */
    @Override
    public void close() {
        loops.forEach(Loop::wake);
        try {
            for (int i = 0; i < loops.size(); i++) {
                sweepers.get(i).stop(STOP_PATIENCE);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        loops.forEach(Loop::close);
    }
}
