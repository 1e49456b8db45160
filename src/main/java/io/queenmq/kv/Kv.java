package io.queenmq.kv;

import io.micrometer.core.instrument.Counter;
import io.queenmq.db.ColdReads;
import io.queenmq.db.Database;
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
    private final KvProcedures procedures;
    private final KvReads reads;
    private final Bulkhead bulkhead;
    private final RateLimit rateLimit;
    private final Switches switches;
    private final Counter disabled;
    private final Clock clock;
    private final KvMeters meters;

    public Kv(
            KvConfig config,
            Database database,
            ColdReads coldReads,
            Switches switches,
            Metrics metrics,
            Clock clock) {
        this.config = config;
        this.rules = new KvRules(config);
        this.procedures = new KvProcedures(database);
        this.reads = new KvReads(coldReads, config);
        this.bulkhead = new Bulkhead(config, metrics);
        this.rateLimit = new RateLimit(config.rates(), metrics, clock);
        this.switches = switches;
        this.disabled =
                metrics.counter(Bulkhead.REJECTED, Bulkhead.REJECTED_WHAT, "reason", "disabled");
        this.clock = clock;
        this.meters = new KvMeters(metrics);
    }

    /**
     * What of a body is kept.
     *
     * @param ops most operations of a call
     * @param prefixLimit longest page of a prefix
     */
    public record Limits(int ops, int prefixLimit) {}

    /** What of a body is kept. */
    public Limits limits() {
        return new Limits(config.opsMax(), config.prefixLimitMax());
    }

    /** What administrators look at. */
    public KvReads reads() {
        return reads;
    }

    /**
     * Carries operations out, in one commit.
     *
     * @throws QueenException disabled, rate limited, bad request, payload too large; overloaded,
     *     busy, deadline, database away, stopping: certainly nothing took effect; outcome unknown
     */
    public KvAnswer apply(Caller caller, List<KvOp> ops) {
        refuseIfOff();
        rules.check(ops);
        if (ops.isEmpty()) {
            return new KvAnswer.Done(List.of());
        }
        return call(caller, ops);
    }

    /**
     * Refuses whatever is asked while an operator wants it so.
     *
     * @throws QueenException disabled
     */
    void refuseIfOff() {
        if (!switches.isOn(Switch.KV)) {
            disabled.increment();
            throw new QueenException(
                    Failure.KV_DISABLED, "keys are switched off; nothing of the call was done");
        }
    }

    /** The same for operations of this room's own making, none of them required. */
    List<KvResult> run(Caller caller, List<KvOp> ops) {
        return switch (call(caller, ops)) {
            case KvAnswer.Done(List<KvResult> results) -> results;
            case KvAnswer.PreconditionLost lost ->
                    throw new IllegalStateException("lost what was not required: " + lost);
        };
    }

    private KvAnswer call(Caller caller, List<KvOp> ops) {
        KvCall call = new KvCall(ops, config.readBytesMax());
        rateLimit.take(caller.tenant(), call.writes());
        bulkhead.enter(call.writes());
        long start = clock.nanos();
        try {
            boolean applied = procedures.apply(caller.tenant(), call);
            meters.took(ops, Duration.ofNanos(clock.nanos() - start));
            return applied ? new KvAnswer.Done(done(call)) : undone(call);
        } catch (RuntimeException e) {
            meters.failed(ops);
            throw e;
        } finally {
            bulkhead.leave();
        }
    }

    /**
     * Operations to be carried out by the call of a transaction.
     *
     * @throws QueenException disabled, rate limited, bad request, payload too large
     */
    public KvCall enlist(Caller caller, List<KvOp> ops) {
        KvCall call = new KvCall(ops, config.readBytesMax());
        if (!call.isEmpty()) {
            refuseIfOff();
            rules.checkTransaction(ops);
            rateLimit.take(caller.tenant(), call.writes());
        }
        return call;
    }

    /** What a call was answered that took effect, of its own or with a transaction. */
    public List<KvResult> done(KvCall call) {
        List<KvResult> results = call.results();
        meters.done(call.ops(), results);
        return results;
    }

    /** What stood in the way of a call that was taken back. */
    public KvAnswer.PreconditionLost undone(KvCall call) {
        meters.undone(call.ops());
        return call.lost();
    }
}
