package io.queenmq.timer;

import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import io.queenmq.metrics.PhaseMeters;
import io.queenmq.model.Failure;
import io.queenmq.runtime.Clock;
import io.queenmq.timer.TimerProcedures.Probe;
import java.time.Duration;
import java.time.Instant;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What the timer room counts. */
final class TimerMeters {
    /** Why a fire came to nothing. */
    enum FailureClass {
        /** The database, or somebody in it, was in the way: the timer is tried again as it is. */
        TRANSIENT,
        /** The reason lies in the timer. */
        PERMANENT,
        /** The reason lies in the settings of this broker. */
        CONFIG
    }

    /** Why a request was refused. */
    enum Rejection {
        SHAPE,
        PAYLOAD_TOO_LARGE,
        QUOTA,
        HORIZON,
        GATED,
        RATE_LIMITED,
        UNAVAILABLE,
        DISABLED
    }

    private static final List<String> RESULTS =
            List.of("scheduled", "rescheduled", "cancelled", "absent", "too_late");

    final Counter fired;
    final Counter duplicate;
    final Counter stale;
    final Counter busy;
    final Counter deadLetters;
    final Counter held;
    final FireLags lags;
    final PhaseMeters phase;
    private final Map<String, Counter> changed = new HashMap<>();
    private final Map<Rejection, Counter> rejected = new EnumMap<>(Rejection.class);
    private final Map<FailureClass, Counter> failures = new EnumMap<>(FailureClass.class);
    private final Clock clock;
    private volatile @Nullable Look look;
    private volatile long sleepMs;

    /** What was found, and when by the clock of this process. */
    private record Look(Probe probe, long nanos) {}

    /**
     * @param sweeps whether this broker looks for timers that are due
     */
    TimerMeters(Metrics metrics, Clock clock, int dueMax, boolean sweeps) {
        this.clock = clock;
        for (String each : RESULTS) {
            changed.put(
                    each,
                    metrics.counter(
                            "queen_timers_changed_total",
                            "Operations on timers, by what became of them.",
                            "result",
                            each));
        }
        String fires = "queen_timers_fired_total";
        String ofFires =
                "Timers that are gone: stored as messages, or dropped as duplicates; or lost to"
                        + " another broker.";
        fired = metrics.counter(fires, ofFires, "result", "fired");
        duplicate = metrics.counter(fires, ofFires, "result", "duplicate");
        stale = metrics.counter(fires, ofFires, "result", "stale");
        busy =
                metrics.counter(
                        "queen_timers_busy_total",
                        "Lanes held by others as their timers were to be fired.");
        deadLetters = metrics.counter("queen_timers_dlq_total", "Timers that became dead letters.");
        for (FailureClass each : FailureClass.values()) {
            failures.put(
                    each,
                    metrics.counter(
                            "queen_timers_fire_failures_total",
                            "Fires that came to nothing.",
                            "class",
                            each.name().toLowerCase(Locale.ROOT)));
        }
        for (Rejection each : Rejection.values()) {
            rejected.put(
                    each,
                    metrics.counter(
                            "queen_timers_schedule_rejected_total",
                            "Requests to change timers that were refused.",
                            "reason",
                            each.name().toLowerCase(Locale.ROOT)));
        }
        lags = new FireLags(metrics, clock);
        phase = PhaseMeters.of(metrics, clock::nanos, "fire");
        held =
                metrics.counter(
                        "queen_sweeper_skip_locked_total",
                        "Looks that found timers due, and none to have: held by somebody, or of"
                                + " tenants that have had their share.");
        if (!sweeps) {
            // It never looks, and nothing found must not read as nothing due.
            return;
        }
        metrics.gauge("queen_timers_due", "Timers that were due at the last look.", this::due);
        metrics.gauge(
                "queen_timers_due_capped",
                "1 while there are more of them than are counted.",
                () -> due() >= dueMax ? 1 : 0);
        metrics.gauge(
                "queen_timers_oldest_late_seconds",
                "How late the oldest timer is that the last look has found.",
                this::oldestLateSeconds);
        metrics.gauge(
                "queen_sweeper_sleep_milliseconds",
                "Longest time from the last look to the next.",
                () -> sleepMs);
    }

    void changed(List<TimerResult> results) {
        for (TimerResult result : results) {
            String name =
                    switch (result) {
                        case TimerResult.Scheduled scheduled ->
                                scheduled.replaced() ? "rescheduled" : "scheduled";
                        case TimerResult.Cancelled _ -> "cancelled";
                        case TimerResult.Absent _ -> "absent";
                        case TimerResult.TooLate _ -> "too_late";
                    };
            count(changed, name, 1);
        }
    }

    void failed(FailureClass reason, int timers) {
        count(failures, reason, timers);
    }

    void rejected(Failure failure) {
        Rejection reason =
                switch (failure) {
                    case BAD_REQUEST,
                            UNAUTHENTICATED,
                            FORBIDDEN,
                            NOT_FOUND,
                            DUPLICATE,
                            ACK_REJECTED,
                            KV_PRECONDITION,
                            QUEUE_ENCRYPTED,
                            BODY_TOO_LARGE ->
                            Rejection.SHAPE;
                    case PAYLOAD_TOO_LARGE -> Rejection.PAYLOAD_TOO_LARGE;
                    case TIMER_HORIZON_EXCEEDED -> Rejection.HORIZON;
                    case FEATURE_GATED -> Rejection.GATED;
                    case RATE_LIMITED -> Rejection.RATE_LIMITED;
                    case TIMERS_QUOTA_EXCEEDED, KV_QUOTA_EXCEEDED -> Rejection.QUOTA;
                    case TIMERS_DISABLED, KV_DISABLED -> Rejection.DISABLED;
                    case OVERLOADED,
                            BUSY,
                            DATABASE_AWAY,
                            OUTCOME_UNKNOWN,
                            DEADLINE,
                            STOPPING,
                            INTERNAL ->
                            Rejection.UNAVAILABLE;
                };
        count(rejected, reason, 1);
    }

    private static <K> void count(Map<K, Counter> counters, K reason, int timers) {
        Counter counter = counters.get(reason);
        if (counter != null) {
            counter.increment(timers);
        }
    }

    void looked(Probe probe, long nanos) {
        look = new Look(probe, nanos);
    }

    void sleeps(Duration longest) {
        sleepMs = longest.toMillis();
    }

    private int due() {
        Look latest = look;
        return latest == null ? 0 : latest.probe().due();
    }

    /** Grows by itself while nobody looks, for then most likely nobody delivers either. */
    private double oldestLateSeconds() {
        Look latest = look;
        if (latest == null || latest.probe().next() == null) {
            return 0;
        }
        Instant now = latest.probe().readAt().plusNanos(clock.nanos() - latest.nanos());
        return Math.max(0, Duration.between(latest.probe().next(), now).toMillis() / 1e3);
    }
}
