package io.queenmq.kv;

import io.micrometer.core.instrument.Counter;
import io.queenmq.combine.GroupCommit;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * How many calls may be in the database at once, so that keys never take the connections of
 * messages; callers that come together share them. Beside these a few may wait for keys that
 * somebody holds. Whoever finds no room waits for it a moment. After a run of refusals writes do
 * not wait any more, until somebody had room again: what a retry cannot do without goes on. Any
 * thread.
 */
final class Bulkhead {
    static final String REJECTED = "queen_kv_read_rejected_total";
    static final String REJECTED_WHAT =
            "Calls on keys that were refused before the database was asked.";

    /** One such call for so many others. */
    private static final int WAITING_SHARE = 4;

    /** Most requests of a call. */
    private static final int MEMBERS_MAX = 64;

    private static final Duration PATIENCE = Duration.ofSeconds(1);

    /** Only calls of one tenant go together, and a read is not in doubt for want of a write. */
    private record Company(UUID tenant, boolean writes) {}

    private final GroupCommit<KvCall> calls;
    private final int shedAfter;
    private final AtomicInteger refusedInARow = new AtomicInteger();
    private final Counter refused;

    Bulkhead(KvConfig config, KvProcedures procedures, Metrics metrics, Clock clock) {
        this.calls =
                new GroupCommit<>(
                        new GroupCommit.Config(
                                "kv",
                                config.inflightMax(),
                                MEMBERS_MAX,
                                // As one takes, and no more values are read than one may read.
                                new GroupCommit.Share(
                                        config.opsMax(),
                                        config.opsMax(),
                                        (long) config.opsMax() * config.valueBytesMax()),
                                Math.max(1, config.inflightMax() / WAITING_SHARE)),
                        new Calls(procedures),
                        metrics,
                        clock);
        this.shedAfter = config.shedAfter();
        this.refused = metrics.counter(REJECTED, REJECTED_WHAT, "reason", "pool");
        String pool = "queen_kv_pool";
        String what = "Calls on keys that may be in the database at once, and their state.";
        metrics.gauge(pool, what, config::inflightMax, "state", "size");
        metrics.gauge(
                pool, what, () -> config.inflightMax() - calls.underWay(), "state", "available");
        metrics.gauge(pool, what, calls::waiting, "state", "waiting");
    }

    /** What a call waits for keys that somebody holds. */
    private record Calls(KvProcedures procedures) implements GroupCommit.Calls<KvCall> {
        private static final Duration SHARED = Duration.ofMillis(10);
        private static final Duration BRIEF = Duration.ofMillis(50);
        private static final Duration LONG = Duration.ofSeconds(1);

        @Override
        public boolean together(List<KvCall> calls) {
            procedures.apply(new KvBatch(calls), SHARED);
            return !calls.getFirst().isUndone();
        }

        @Override
        public void alone(KvCall call) {
            procedures.apply(new KvBatch(List.of(call)), BRIEF);
        }

        @Override
        public void patiently(KvCall call) {
            procedures.apply(new KvBatch(List.of(call)), LONG);
        }
    }

    /**
     * Carries a call out, whether or not it is undone.
     *
     * @throws QueenException overloaded, busy, deadline, database away, stopping: certainly nothing
     *     took effect; outcome unknown
     */
    void carryOut(KvCall call) {
        boolean shed = call.writes() && refusedInARow.get() >= shedAfter;
        if (calls.carryOut(call, terms(call), shed ? Duration.ZERO : PATIENCE)) {
            refusedInARow.set(0);
            return;
        }
        refused.increment();
        if (shed) {
            throw new QueenException(
                    Failure.OVERLOADED,
                    "kv_standalone_paused",
                    "writes wait until calls on keys find room again; transactions go on");
        }
        refusedInARow.incrementAndGet();
        throw new QueenException(
                Failure.OVERLOADED, "kv_pool_exhausted", "every connection for keys is in use");
    }

    private static GroupCommit.Terms terms(KvCall call) {
        @Nullable Company company =
                call.readsMany() ? null : new Company(call.tenant(), call.writes());
        Set<Object> touches = call.touches();
        return new GroupCommit.Terms(
                company,
                touches,
                new GroupCommit.Share(touches.size(), call.items(), call.bytes()));
    }
}
