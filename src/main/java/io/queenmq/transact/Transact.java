package io.queenmq.transact;

import io.micrometer.core.instrument.Counter;
import io.queenmq.ack.Ack;
import io.queenmq.ack.TransactionAcks;
import io.queenmq.combine.GroupCommit;
import io.queenmq.db.Backend;
import io.queenmq.db.ConnectionLost;
import io.queenmq.db.Database;
import io.queenmq.db.LostAnswer;
import io.queenmq.kv.Kv;
import io.queenmq.kv.KvAnswer;
import io.queenmq.kv.KvCall;
import io.queenmq.kv.KvOp;
import io.queenmq.kv.KvResult;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Caller;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.model.UuidMint;
import io.queenmq.push.Push;
import io.queenmq.push.PushItem;
import io.queenmq.push.PushResult;
import io.queenmq.push.TransactionPushes;
import io.queenmq.queue.LaneName;
import io.queenmq.runtime.Clock;
import io.queenmq.timer.Timers;
import io.queenmq.timer.TransactionTimers;
import io.queenmq.transact.TransactProcedures.Outcome;
import io.queenmq.transact.TransactRequest.Step;
import io.queenmq.transact.TransactResult.Done;
import io.queenmq.transact.TransactResult.OnKeys;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.OptionalInt;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Supplier;
import java.util.stream.IntStream;

/**
 * The use case of a transaction: each room enlists its part, one call carries all of them out, and
 * after the commit each room is told. Those that come together share their call. Called from the
 * thread of the request.
 */
public final class Transact {
    private static final System.Logger LOG = System.getLogger(Transact.class.getName());

    /** How long a call waits for what others hold, each of three times. */
    private static final Duration SHARED = Duration.ofMillis(10);

    private static final Duration BRIEF = Duration.ofMillis(50);
    private static final Duration LONG = Duration.ofSeconds(2);

    /** What rides along; it counts against the quotas of the tenant from the moment it is here. */
    private record Riders(KvCall keys, TransactionTimers timers) {}

    private final TransactConfig config;
    private final Database database;
    private final TransactProcedures procedures;
    private final Push push;
    private final Ack ack;
    private final Kv kv;
    private final Timers timers;
    private final UuidMint mint;
    private final Clock clock;
    private final GroupCommit<Enlisted> calls;
    private final Counter commits;
    private final Counter rollbacks;
    private final Counter again;
    private final Counter settled;
    private final Counter unknown;
    private final Counter refused;

    public Transact(
            TransactConfig config,
            Database database,
            Push push,
            Ack ack,
            Kv kv,
            Timers timers,
            UuidMint mint,
            Metrics metrics,
            Clock clock) {
        this.config = config;
        this.database = database;
        this.procedures = new TransactProcedures(database, push.servers());
        this.push = push;
        this.ack = ack;
        this.kv = kv;
        this.timers = timers;
        this.mint = mint;
        this.clock = clock;
        this.calls =
                new GroupCommit<>(
                        new GroupCommit.Config(
                                "transact",
                                config.inflightMax(),
                                config.sharedMax(),
                                // As one takes that pushes and acks as much as it may.
                                new GroupCommit.Share(
                                        2 * config.lanesMax(),
                                        config.stepsMax(),
                                        config.pushBytesMax()),
                                config.waitingMax()),
                        new Calls(),
                        metrics,
                        clock);
        this.commits =
                metrics.counter("queen_transact_commits_total", "Transactions that committed.");
        this.rollbacks =
                metrics.counter(
                        "queen_transact_rollbacks_total",
                        "Transactions that a duplicate, an ack or a key prevented.");
        this.again =
                metrics.counter(
                        "queen_transact_again_total",
                        "Calls undone because a lane was cold or gone, and repeated.");
        this.settled =
                metrics.counter(
                        "queen_transact_settled_total",
                        "Transactions decided after their answer was lost.");
        this.unknown =
                metrics.counter(
                        "queen_transact_outcome_unknown_total",
                        "Transactions that stayed in doubt.");
        this.refused =
                metrics.counter(
                        "queen_transact_refused_total",
                        "Transactions refused because too many were under way.");
        metrics.gauge(
                "queen_transact_inflight",
                "Calls of transactions in the database.",
                calls::underWay);
        metrics.gauge(
                "queen_transact_waiting", "Transactions that wait for a call.", calls::waiting);
    }

    /** Most pushed items and acks of one transaction. */
    public int stepsMax() {
        return config.stepsMax();
    }

    /** Names a transaction in its answer, whatever becomes of it. */
    public UUID newId() {
        return mint.mint();
    }

    /**
     * Carries out all steps in one commit, or none.
     *
     * @param id a new one
     * @throws QueenException bad request; overloaded, busy, deadline, database away, stopping:
     *     certainly nothing took effect; outcome unknown
     */
    public TransactResult transact(Caller caller, UUID id, TransactRequest request) {
        if (request.isEmpty()) {
            return new TransactResult.Committed(List.of(), List.of(), List.of());
        }
        checkBounds(request, request.pushes());
        Riders riders = enlistRiders(caller, request);
        try {
            Enlisted enlisted = enlist(caller, id, request, riders);
            carryOut(enlisted);
            TransactResult result = conclude(request, enlisted, enlisted.outcome());
            if (!(result instanceof TransactResult.Committed)) {
                withdraw(riders);
            }
            return result;
        } catch (RuntimeException e) {
            QueenException refusal = e instanceof QueenException known ? known : withoutEffect(e);
            if (refusal.failure() == Failure.OUTCOME_UNKNOWN) {
                riders.timers().inDoubt();
            } else {
                withdraw(riders);
            }
            throw refusal;
        }
    }

    /** Nothing of them took effect. */
    private void withdraw(Riders riders) {
        kv.withdraw(riders.keys());
        riders.timers().withdraw();
    }

    private Riders enlistRiders(Caller caller, TransactRequest request) {
        TransactionTimers changes = timers.enlist(caller, request.timers());
        try {
            return new Riders(kv.enlist(caller, request.keys()), changes);
        } catch (RuntimeException e) {
            changes.withdraw();
            throw e;
        }
    }

    private Enlisted enlist(Caller caller, UUID id, TransactRequest request, Riders riders) {
        TransactionAcks acks =
                ack.enlist(caller.tenant(), request.acks(), request.requiredLeases());
        within("partitions and groups to ack", config.lanesMax(), acks.cursors());
        long deadline = clock.nanos() + config.deadline().toNanos();
        List<PushItem> pushed = request.pushes();
        return new Enlisted(
                id,
                caller.tenant(),
                beforehand(() -> push.enlist(caller, pushed, deadline)),
                acks,
                riders.keys(),
                riders.timers(),
                deadline);
    }

    private void checkBounds(TransactRequest request, List<PushItem> pushed) {
        within("push items and acks", config.stepsMax(), request.steps().size());
        long bytes = 0;
        for (PushItem item : pushed) {
            bytes += item.payload().length();
        }
        within("bytes of payload", config.pushBytesMax(), bytes);
        // Before any of them is made.
        within(
                "partitions to push to",
                config.lanesMax(),
                pushed.stream()
                        .map(item -> List.of(item.queue(), item.partition()))
                        .distinct()
                        .count());
    }

    private static void within(String what, long most, long count) {
        if (count > most) {
            throw new QueenException(
                    Failure.BAD_REQUEST,
                    "a transaction takes at most %d %s, got %d".formatted(most, what, count));
        }
    }

    private void carryOut(Enlisted enlisted) {
        long patience = Math.min(config.patience().toNanos(), enlisted.deadline() - clock.nanos());
        if (!calls.carryOut(enlisted, enlisted.terms(), Duration.ofNanos(Math.max(0, patience)))) {
            refused.increment();
            throw new QueenException(
                    Failure.OVERLOADED,
                    "at most %d transactions may be in the database at once"
                            .formatted(config.inflightMax()));
        }
    }

    /** The calls that transactions have together or to themselves. */
    private final class Calls implements GroupCommit.Calls<Enlisted> {
        @Override
        public boolean together(List<Enlisted> several) {
            if (!(call(several, SHARED)
                    instanceof Outcome.Committed(List<TransactionPushes.Stored> lanes))) {
                return false;
            }
            try {
                int at = 0;
                for (Enlisted each : several) {
                    int end = at + each.pushes().lanes();
                    each.decided(new Outcome.Committed(lanes.subList(at, end)));
                    at = end;
                }
            } catch (RuntimeException e) {
                throw inDoubt(e);
            }
            return true;
        }

        @Override
        public void alone(Enlisted one) {
            one.decided(decide(one, BRIEF));
        }

        @Override
        public void patiently(Enlisted one) {
            one.decided(decide(one, LONG));
        }
    }

    /** Calls until nothing stands in the way that this broker can remove. */
    private Outcome.Decided decide(Enlisted enlisted, Duration wait) {
        while (true) {
            switch (call(List.of(enlisted), wait)) {
                case Outcome.Decided decided -> {
                    return decided;
                }
                case Outcome.ComeAgain(List<Integer> cold, List<Integer> gone) -> {
                    again.increment();
                    OptionalInt duplicate = beforehand(() -> clearTheWay(enlisted, cold, gone));
                    if (duplicate.isPresent()) {
                        return new Outcome.Duplicate(duplicate.getAsInt());
                    }
                }
            }
        }
    }

    /** The lane in which a message turned out to be already, if one did. */
    private OptionalInt clearTheWay(Enlisted enlisted, List<Integer> cold, List<Integer> gone) {
        if (clock.nanos() - enlisted.deadline() >= 0) {
            throw new QueenException(
                    Failure.BUSY, "the partitions it needs kept changing or filling");
        }
        gone.forEach(lane -> enlisted.pushes().makeAgain(lane, enlisted.deadline()));
        for (int lane : cold) {
            if (enlisted.pushes().search(lane, enlisted.deadline())) {
                return OptionalInt.of(lane);
            }
        }
        return OptionalInt.empty();
    }

    /** Where a lost answer leaves only a lane or a reading in doubt, never the transaction. */
    private static <T> T beforehand(Supplier<T> step) {
        try {
            return step.get();
        } catch (QueenException e) {
            throw e.failure() == Failure.OUTCOME_UNKNOWN
                    ? new QueenException(Failure.DATABASE_AWAY, e.detail(), e)
                    : e;
        }
    }

    private Outcome call(List<Enlisted> bundle, Duration wait) {
        long deadline = bundle.stream().mapToLong(Enlisted::deadline).min().orElseThrow();
        try {
            return procedures.transact(bundle, false, wait, deadline);
        } catch (QueenException e) {
            if (e.getCause() instanceof ConnectionLost lost) {
                return settle(bundle, lost.backend(), deadline + config.grace().toNanos());
            }
            throw e;
        } catch (RuntimeException | Error e) {
            throw inDoubt(e);
        }
    }

    /** The answer was lost with its connection: the call itself finds out what became of it. */
    private Outcome settle(List<Enlisted> bundle, Backend backend, long last) {
        AtomicReference<Outcome> found = new AtomicReference<>();
        try {
            LostAnswer.settle(
                    database,
                    backend,
                    () -> found.get() != null || clock.nanos() - last >= 0,
                    () -> found.set(procedures.transact(bundle, true, LONG, last)));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw inDoubt("the broker is stopping");
        } catch (RuntimeException e) {
            throw inDoubt(e);
        }
        Outcome outcome = found.get();
        if (outcome == null) {
            throw inDoubt("the database connection broke before it answered");
        }
        settled.increment();
        return outcome;
    }

    /** Our own bug, before anything was sent that could commit. */
    private static QueenException withoutEffect(RuntimeException bug) {
        LOG.log(System.Logger.Level.ERROR, "a transaction could not be carried out", bug);
        return new QueenException(Failure.INTERNAL, "internal error", bug);
    }

    /** Our own bug, and what had been sent by then may have committed. */
    private QueenException inDoubt(Throwable bug) {
        LOG.log(System.Logger.Level.ERROR, "a transaction could not be answered", bug);
        return inDoubt("internal error");
    }

    private QueenException inDoubt(String why) {
        unknown.increment();
        return new QueenException(
                Failure.OUTCOME_UNKNOWN, why + "; the transaction may or may not be committed");
    }

    private TransactResult conclude(
            TransactRequest request, Enlisted enlisted, Outcome.Decided outcome) {
        return switch (outcome) {
            case Outcome.Committed(List<TransactionPushes.Stored> lanes) -> {
                commits.increment();
                announce(enlisted, lanes);
                yield committed(request, enlisted);
            }
            case Outcome.Duplicate(int lane) -> {
                LaneName name = enlisted.pushes().lane(lane);
                yield rolledBack(
                        Failure.DUPLICATE,
                        "QDUP duplicate messages in queue \"%s\" partition \"%s\"; transaction rolled back"
                                .formatted(name.queue(), name.partition()));
            }
            case Outcome.PreconditionLost() -> {
                rollbacks.increment();
                KvAnswer.PreconditionLost lost = kv.undone(enlisted.keys());
                yield new TransactResult.PreconditionLost(
                        request.steps().size() + lost.index(),
                        lost.result(),
                        "QKV key \"%s\" is not as required: %s; transaction rolled back"
                                .formatted(lost.result().key(), lost.result().refusal()));
            }
            case Outcome.AckRejected() ->
                    rolledBack(Failure.ACK_REJECTED, enlisted.acks().rejection());
        };
    }

    /** What it did stands, also where a bug keeps it from being told. */
    private TransactResult committed(TransactRequest request, Enlisted enlisted) {
        try {
            return new TransactResult.Committed(
                    done(request, enlisted), onKeys(enlisted), enlisted.timers().results());
        } catch (RuntimeException e) {
            throw inDoubt(e);
        }
    }

    private TransactResult rolledBack(Failure reason, String error) {
        rollbacks.increment();
        return new TransactResult.RolledBack(reason, error);
    }

    /** Before the caller is answered: who pops after that must find what was pushed. */
    private static void announce(Enlisted enlisted, List<TransactionPushes.Stored> lanes) {
        announce(() -> enlisted.pushes().committed(lanes));
        announce(() -> enlisted.acks().committed());
        announce(() -> enlisted.timers().committed());
    }

    /** It has committed, so a bug here may not be taken for a reason to say otherwise. */
    private static void announce(Runnable part) {
        try {
            part.run();
        } catch (RuntimeException e) {
            LOG.log(System.Logger.Level.ERROR, "a transaction was not announced", e);
        }
    }

    private static List<Done> done(TransactRequest request, Enlisted enlisted) {
        List<Done> done = new ArrayList<>(request.steps().size());
        Iterator<PushResult> pushed = enlisted.pushes().results().iterator();
        int acked = 0;
        for (Step step : request.steps()) {
            done.add(
                    switch (step) {
                        case Step.Push(PushItem item) -> pushed(item, pushed.next());
                        case Step.Ack(TransactionAcks.Item item) ->
                                new Done.Acked(
                                        item.transactionId(),
                                        enlisted.acks().isDeadLettered(acked++));
                    });
        }
        return done;
    }

    private List<OnKeys> onKeys(Enlisted enlisted) {
        List<KvOp> ops = enlisted.keys().ops();
        List<KvResult> results = kv.done(enlisted.keys());
        return IntStream.range(0, ops.size())
                .mapToObj(i -> new OnKeys(ops.get(i), results.get(i)))
                .toList();
    }

    private static Done pushed(PushItem item, PushResult result) {
        return new Done.Pushed(
                item.queue(),
                result.transactionId(),
                result.messageId(),
                result instanceof PushResult.Duplicate);
    }
}
