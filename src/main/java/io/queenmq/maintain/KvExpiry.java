package io.queenmq.maintain;

import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import io.queenmq.metrics.PhaseMeters;
import io.queenmq.runtime.Clock;
import java.time.Duration;

/** Removes keys that have expired: nobody sees them any more, they only take room. */
final class KvExpiry implements Job {
    private static final Duration PERIOD = Duration.ofSeconds(5);
    private static final int ROWS_MAX = 1_000;

    /** Counting goes no further. */
    private static final int BACKLOG_MAX = 8 * ROWS_MAX;

    private final StorageProcedures procedures;
    private final Clock clock;
    private final PhaseMeters meters;
    private final Counter removed;
    private volatile StorageProcedures.KvBacklog backlog = StorageProcedures.KvBacklog.NONE;

    KvExpiry(StorageProcedures procedures, Metrics metrics, Clock clock) {
        this.procedures = procedures;
        this.clock = clock;
        this.meters = PhaseMeters.of(metrics, "kv_expire");
        this.removed =
                metrics.counter("queen_kv_expired_total", "Keys removed after they had expired.");
        metrics.gauge(
                "queen_kv_expired_not_pruned",
                "Keys that have expired and are still there, as last seen here; at most 8,000.",
                () -> backlog.expired());
        metrics.gauge(
                "queen_kv_expired_not_pruned_capped",
                "1 = there are more of them.",
                () -> backlog.expired() < BACKLOG_MAX ? 0 : 1);
        metrics.gauge(
                "queen_kv_expiry_lag_seconds",
                "Time since the first of them expired.",
                () -> backlog.lagSeconds());
    }

    @Override
    public String name() {
        return "kv_expiry";
    }

    @Override
    public Duration period() {
        return PERIOD;
    }

    @Override
    public boolean hasWork() {
        backlog = procedures.kvBacklog(BACKLOG_MAX);
        if (backlog.expired() == 0) {
            meters.skipped().increment();
        }
        return backlog.expired() > 0;
    }

    @Override
    public boolean step() {
        long start = clock.nanos();
        int rows = procedures.pruneKv(ROWS_MAX);
        meters.cycleMs().record((clock.nanos() - start) / 1e6);
        removed.increment(rows);
        meters.rows().increment(rows);
        return rows == ROWS_MAX;
    }
}
