package io.queenmq.kv;

import io.micrometer.core.instrument.Counter;
import io.queenmq.db.ColdReads;
import io.queenmq.db.Database;
import io.queenmq.gate.Quotas;
import io.queenmq.gate.Switch;
import io.queenmq.gate.Switches;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Caller;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.List;

/** The use cases of keys. Any thread; a caller blocks while its call runs. */
public final class Kv {
    private final KvConfig config;
    private final KvRules rules;
    private final KvReads reads;
    private final Bulkhead bulkhead;
    private final Switches switches;
    private final Quotas quotas;
    private final Counter disabled;
    private final Counter overQuota;
    private final Counter rateLimited;
    private final Clock clock;
    private final KvMeters meters;

    public Kv(
            KvConfig config,
            Database database,
            ColdReads coldReads,
            Switches switches,
            Quotas quotas,
            Metrics metrics,
            Clock clock) {
        this.config = config;
        this.rules = new KvRules(config);
        this.reads = new KvReads(coldReads, config);
        this.bulkhead = new Bulkhead(config, new KvProcedures(database), metrics, clock);
        this.switches = switches;
        this.quotas = quotas;
        this.disabled =
                metrics.counter(Bulkhead.REJECTED, Bulkhead.REJECTED_WHAT, "reason", "disabled");
        this.overQuota =
                metrics.counter(Bulkhead.REJECTED, Bulkhead.REJECTED_WHAT, "reason", "quota");
        this.rateLimited =
                metrics.counter(
                        Bulkhead.REJECTED, Bulkhead.REJECTED_WHAT, "reason", "rate_limited");
        this.clock = clock;
        this.meters = new KvMeters(metrics);
    }

    /**
     * What of a body is kept.
     *
     * @param ops most operations of a call
     * @param keys most keys of a call
     * @param prefixLimit longest page of a prefix
     */
    public record Limits(int ops, int keys, int prefixLimit) {}

    /** What of a body is kept. */
    public Limits limits() {
        return new Limits(config.opsMax(), config.keysMax(), config.prefixLimitMax());
    }

    /** What administrators look at. */
    public KvReads reads() {
        return reads;
    }

    /**
     * Carries operations out, in one commit.
     *
     * @throws QueenException disabled, feature gated, rate limited, quota exceeded, bad request,
     *     payload too large; overloaded, busy, deadline, database away, stopping: certainly nothing
     *     took effect; outcome unknown
     */
    public KvAnswer apply(Caller caller, List<KvOp> ops) {
        admit(caller);
        rules.check(ops);
        if (ops.isEmpty()) {
            return new KvAnswer.Done(List.of());
        }
        takeTurn(caller, writes(ops));
        return call(caller, ops);
    }

    private static boolean writes(List<KvOp> ops) {
        return ops.stream().anyMatch(KvOp.Write.class::isInstance);
    }

    /**
     * Refuses whatever is asked while an operator wants it so, of all tenants or of this one.
     *
     * @throws QueenException disabled, feature gated
     */
    void admit(Caller caller) {
        if (!switches.isOn(Switch.KV)) {
            disabled.increment();
            throw new QueenException(
                    Failure.KV_DISABLED, "keys are switched off; nothing of the call was done");
        }
        counting(overQuota, () -> quotas.requireGrant(caller.tenant()));
    }

    private static void counting(Counter refusals, Runnable check) {
        try {
            check.run();
        } catch (QueenException e) {
            refusals.increment();
            throw e;
        }
    }

    /**
     * One call more of the tenant.
     *
     * @throws QueenException rate limited
     */
    void takeTurn(Caller caller, boolean writes) {
        counting(rateLimited, () -> quotas.takeTurn(caller.tenant(), writes));
    }

    /** A call, and what it may add to what the tenant keeps. */
    private KvCall taken(Caller caller, List<KvOp> ops) {
        KvCall call = new KvCall(caller.tenant(), ops, config.readBytesMax());
        KvGrowth most = KvGrowth.most(ops);
        counting(overQuota, () -> quotas.takeKeys(caller.tenant(), most.rows(), most.bytes()));
        return call;
    }

    private void giveBack(KvCall call, KvGrowth growth) {
        quotas.giveBackKeys(call.tenant(), growth.rows(), growth.bytes());
    }

    /** Whether nothing of it can have taken effect. */
    private static boolean isDefinite(RuntimeException e) {
        return e instanceof QueenException refusal
                && refusal.failure() != Failure.OUTCOME_UNKNOWN
                && refusal.failure() != Failure.DEADLINE;
    }

    /** The same for operations of this room's own making, none of them required; takes no turn. */
    List<KvResult> run(Caller caller, List<KvOp> ops) {
        return switch (call(caller, ops)) {
            case KvAnswer.Done(List<KvResult> results) -> results;
            case KvAnswer.PreconditionLost lost ->
                    throw new IllegalStateException("lost what was not required: " + lost);
        };
    }

    private KvAnswer call(Caller caller, List<KvOp> ops) {
        KvCall call = taken(caller, ops);
        try {
            return carryOut(call);
        } catch (RuntimeException e) {
            if (isDefinite(e)) {
                giveBack(call, KvGrowth.most(ops));
            }
            throw e;
        }
    }

    private KvAnswer carryOut(KvCall call) {
        long start = clock.nanos();
        try {
            bulkhead.carryOut(call);
            meters.took(call.ops(), Duration.ofNanos(clock.nanos() - start));
            if (!call.isUndone()) {
                return new KvAnswer.Done(done(call));
            }
            withdraw(call);
            return undone(call);
        } catch (RuntimeException e) {
            meters.failed(call.ops());
            throw e;
        }
    }

    /**
     * Operations to be carried out by the call of a transaction.
     *
     * @throws QueenException disabled, feature gated, rate limited, quota exceeded, bad request,
     *     payload too large
     */
    public KvCall enlist(Caller caller, List<KvOp> ops) {
        if (ops.isEmpty()) {
            return new KvCall(caller.tenant(), ops, config.readBytesMax());
        }
        admit(caller);
        rules.checkTransaction(ops);
        takeTurn(caller, writes(ops));
        return taken(caller, ops);
    }

    /** What a call was answered that took effect, of its own or with a transaction. */
    public List<KvResult> done(KvCall call) {
        List<KvResult> results = call.results();
        giveBack(call, KvGrowth.most(call.ops()).minus(KvGrowth.done(call.ops(), results)));
        meters.done(call.ops(), results);
        return results;
    }

    /** Nothing of a call took effect, for a reason that lies elsewhere in its transaction. */
    public void withdraw(KvCall call) {
        giveBack(call, KvGrowth.most(call.ops()));
    }

    /** What stood in the way of a call that was taken back, and has yet to be withdrawn. */
    public KvAnswer.PreconditionLost undone(KvCall call) {
        meters.undone(call.ops());
        return call.lost();
    }
}
