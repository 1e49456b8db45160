package io.queenmq.maintain;

import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import io.queenmq.metrics.PhaseMeters;
import io.queenmq.runtime.Clock;
import io.queenmq.runtime.Ration;
import java.time.Duration;
import java.time.OffsetDateTime;
import org.jspecify.annotations.Nullable;

/** Removes keys that have expired: nobody sees them any more, they only take room. */
final class KvExpiry implements Job {
    private static final Duration PERIOD = Duration.ofSeconds(1);
    private static final int ROWS_MAX = 1_000;

    /** Counting goes no further. */
    private static final int BACKLOG_MAX = 8 * ROWS_MAX;

    private final StorageProcedures procedures;
    private final Clock clock;

    /**
     * Of looks from the very beginning: while an old snapshot is open anywhere, each of them visits
     * all keys that are gone.
     */
    private final Ration whole;

    /** Where another look begins; null = at the beginning. */
    private @Nullable OffsetDateTime from;

    private long spentNanos;

    private final PhaseMeters meters;
    private final Counter removed;
    private volatile StorageProcedures.KvBacklog backlog = StorageProcedures.KvBacklog.NONE;

    KvExpiry(StorageProcedures procedures, Metrics metrics, Clock clock) {
        this.procedures = procedures;
        this.clock = clock;
        this.whole = new Ration(clock);
        this.meters = PhaseMeters.of(metrics, clock::nanos, "kv_expire");
        this.removed =
                metrics.counter("queen_kv_expired_total", "Keys removed after they had expired.");
        metrics.gauge(
                "queen_kv_expired_not_pruned",
                "Keys that wait to be removed, as last seen here; at most 8,000.",
                () -> backlog.expired());
        metrics.gauge(
                "queen_kv_expired_not_pruned_capped",
                "1 = there are more of them.",
                () -> backlog.expired() < BACKLOG_MAX ? 0 : 1);
        metrics.gauge(
                "queen_kv_expiry_lag_seconds",
                "Time since the first of them could be.",
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
        from = whole.isDue() ? null : backlog.nextFrom();
        spentNanos = 0;
        long start = clock.nanos();
        try {
            backlog = procedures.kvBacklog(BACKLOG_MAX, from);
        } finally {
            spent(start);
        }
        if (backlog.expired() == 0) {
            meters.skipped().increment();
        }
        return backlog.expired() > 0;
    }

    @Override
    public boolean step() {
        long start = clock.nanos();
        try {
            int rows = procedures.pruneKv(ROWS_MAX, from);
            meters.cycleMs().record((clock.nanos() - start) / 1e6);
            removed.increment(rows);
            meters.rows().increment(rows);
            return rows == ROWS_MAX;
        } finally {
            spent(start);
        }
    }

    private void spent(long startNanos) {
        spentNanos += clock.nanos() - startNanos;
        if (from == null) {
            whole.took(spentNanos);
        }
    }
}
