package io.queenmq.timer;

import io.queenmq.runtime.Clock;
import io.queenmq.runtime.Ration;
import io.queenmq.timer.TimerProcedures.Claim;
import io.queenmq.timer.TimerProcedures.Probe;
import java.time.Duration;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * Looks for timers that are due. While an old snapshot is open anywhere the server keeps what the
 * index says of timers that are gone, and a look from the very beginning visits all of that. Such
 * looks, which find what was committed late or given back, so take a twentieth of the time at most;
 * the others begin where the last one found the first timer, and sleep is short behind them. For
 * the sweeper's thread.
 */
final class TimerLooks {
    /** What is committed so soon after it was scheduled every look finds. */
    private static final Duration LATE = Duration.ofSeconds(5);

    private final TimersConfig config;
    private final TimerProcedures procedures;
    private final FireRates rates;
    private final Clock clock;
    private final Ration whole;

    /** Where looks begin that are not whole; null = nobody has looked yet. */
    private @Nullable Instant from;

    /** Whether this pass sees everything. */
    private boolean isWhole;

    private long spentNanos;

    TimerLooks(TimersConfig config, TimerProcedures procedures, FireRates rates, Clock clock) {
        this.config = config;
        this.procedures = procedures;
        this.rates = rates;
        this.clock = clock;
        this.whole = new Ration(clock);
    }

    /** A pass begins: claims, and a probe behind them. */
    void begin() {
        isWhole = whole.isDue();
        spentNanos = 0;
    }

    /** Claims what is due, some of it. Of a whole pass only the first claim is. */
    Claim claim() {
        boolean first = spentNanos == 0;
        long start = clock.nanos();
        try {
            return procedures.claim(
                    config.claimBatch(),
                    config.fireBytesMax(),
                    config.lease().toMillis(),
                    isWhole && first ? null : from,
                    rates);
        } finally {
            if (first) {
                spent(start);
            }
        }
    }

    /** When the next timer is due. */
    Probe probe() {
        long start = clock.nanos();
        try {
            Probe probe =
                    procedures.probe(
                            config.dueMax(),
                            isWhole ? null : from,
                            isWhole ? null : config.deafSleepMax());
            Instant late = probe.readAt().minus(LATE);
            Instant next = probe.next();
            from = next == null || next.isAfter(late) ? late : next;
            return probe;
        } finally {
            spent(start);
        }
    }

    private void spent(long startNanos) {
        spentNanos += Math.max(1, clock.nanos() - startNanos);
        if (isWhole) {
            whole.took(spentNanos);
        }
    }

    /** How long the sweeper may sleep behind this pass, at most so long. */
    Duration sleep(Duration longest) {
        if (isWhole) {
            return longest;
        }
        Duration blind = shorter(whole.untilDue(), config.deafSleepMax());
        return shorter(blind, longest);
    }

    private static Duration shorter(Duration one, Duration other) {
        return one.compareTo(other) < 0 ? one : other;
    }
}
