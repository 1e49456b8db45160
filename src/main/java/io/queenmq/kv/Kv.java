package io.queenmq.kv;

import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Timer;
import io.queenmq.db.ColdReads;
import io.queenmq.db.Database;
import io.queenmq.gate.Switch;
import io.queenmq.gate.Switches;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Caller;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** The use cases of keys. Any thread; a caller blocks while its call runs. */
public final class Kv {
    private static final List<String> OPS =
            List.of("get", "getMany", "getPrefix", "put", "delete", "incr", "check");

    /** What is counted of one kind of operation. */
    private record Meters(Counter applied, Counter rejected, Counter error, Timer time) {}

    private final KvConfig config;
    private final KvRules rules;
    private final KvProcedures procedures;
    private final KvReads reads;
    private final Bulkhead bulkhead;
    private final Switches switches;
    private final Counter disabled;
    private final Clock clock;
    private final Map<String, Meters> meters = new HashMap<>();

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
        this.switches = switches;
        this.disabled =
                metrics.counter(Bulkhead.REJECTED, Bulkhead.REJECTED_WHAT, "reason", "disabled");
        this.clock = clock;
        for (String op : OPS) {
            meters.put(
                    op,
                    new Meters(
                            counter(metrics, op, "applied"),
                            counter(metrics, op, "rejected"),
                            counter(metrics, op, "error"),
                            metrics.timer(
                                    "queen_kv_op_seconds",
                                    "Time of the call that an operation on keys was part of.",
                                    "op",
                                    op)));
        }
    }

    private static Counter counter(Metrics metrics, String op, String result) {
        return metrics.counter(
                "queen_kv_ops_total", "Operations on keys.", "op", op, "result", result);
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
     * @throws QueenException disabled, bad request, payload too large; overloaded, busy, deadline,
     *     database away, stopping: certainly nothing took effect; outcome unknown
     */
    public KvAnswer apply(Caller caller, List<KvOp> ops) {
        rules.check(ops);
        refuseIfOff();
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
        bulkhead.enter(call.writes());
        long start = clock.nanos();
        try {
            boolean applied = procedures.apply(caller.tenant(), call);
            KvAnswer answer = applied ? new KvAnswer.Done(call.results()) : call.lost();
            count(ops, answer, clock.nanos() - start);
            return answer;
        } catch (RuntimeException e) {
            ops.forEach(op -> meters(op).error().increment());
            throw e;
        } finally {
            bulkhead.leave();
        }
    }

    /**
     * Operations to be carried out by the call of a transaction.
     *
     * @throws QueenException disabled, bad request, payload too large
     */
    public KvCall enlist(List<KvOp> ops) {
        if (!ops.isEmpty()) {
            refuseIfOff();
        }
        rules.checkTransaction(ops);
        return new KvCall(ops, config.readBytesMax());
    }

    private void count(List<KvOp> ops, KvAnswer answer, long nanos) {
        for (int i = 0; i < ops.size(); i++) {
            Meters of = meters(ops.get(i));
            of.time().record(nanos, TimeUnit.NANOSECONDS);
            boolean applied =
                    answer instanceof KvAnswer.Done(List<KvResult> results)
                            && !(results.get(i) instanceof KvResult.Written written
                                    && !written.applied());
            (applied ? of.applied() : of.rejected()).increment();
        }
    }

    private Meters meters(KvOp op) {
        Meters of = meters.get(name(op));
        if (of == null) {
            throw new IllegalStateException("no meters for " + op);
        }
        return of;
    }

    /** As clients know it; a put of an absent key counts among puts. */
    private static String name(KvOp op) {
        return switch (op) {
            case KvOp.Get get -> "get";
            case KvOp.GetMany many -> "getMany";
            case KvOp.GetPrefix page -> "getPrefix";
            case KvOp.Put put -> "put";
            case KvOp.Delete delete -> "delete";
            case KvOp.Incr incr -> "incr";
            case KvOp.Check check -> "check";
        };
    }
}
