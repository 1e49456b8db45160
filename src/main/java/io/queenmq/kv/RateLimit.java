package io.queenmq.kv;

import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** Lets each tenant make so many calls a second on this broker, one token a call. Any thread. */
final class RateLimit {
    /** Whose calls are counted together; no tenant = everybody's. */
    private record Account(@Nullable UUID tenant, boolean writes) {}

    /** Tokens that an account had left when it was last asked. */
    private record Level(double tokens, long atNanos, boolean taken) {}

    private static final Account EVERYBODY = new Account(null, false);

    private final KvRates rates;
    private final Clock clock;
    private final Counter refused;
    private final ConcurrentHashMap<Account, Level> levels = new ConcurrentHashMap<>();

    RateLimit(KvRates rates, Metrics metrics, Clock clock) {
        this.rates = rates;
        this.clock = clock;
        this.refused =
                metrics.counter(
                        Bulkhead.REJECTED, Bulkhead.REJECTED_WHAT, "reason", "rate_limited");
    }

    /**
     * Takes a token.
     *
     * @throws QueenException rate limited
     */
    void take(UUID tenant, boolean writes) {
        long rate = writes ? rates.writes() : rates.reads();
        long burst = writes ? rates.writeBurst() : rates.readBurst();
        if (!take(new Account(tenant, writes), rate, burst)
                || !take(EVERYBODY, rates.cell(), rates.cell())) {
            refused.increment();
            throw new QueenException(
                    Failure.RATE_LIMITED,
                    "more calls on keys than the %d a second that are allowed"
                            .formatted(rate == 0 ? rates.cell() : rate));
        }
    }

    private boolean take(Account account, long rate, long burst) {
        if (rate == 0) {
            return true;
        }
        // A tenant is never forgotten for another one, whose first burst would be free again.
        if (!levels.containsKey(account) && levels.size() > 2 * rates.tenantsMax()) {
            return false;
        }
        double most = (double) burst;
        long now = clock.nanos();
        Level level =
                levels.compute(
                        account,
                        (a, last) -> {
                            double tokens =
                                    last == null
                                            ? most
                                            : Math.min(
                                                    most, last.tokens() + earned(last, now, rate));
                            boolean enough = tokens >= 1;
                            return new Level(enough ? tokens - 1 : tokens, now, enough);
                        });
        return level.taken();
    }

    private static double earned(Level last, long now, long rate) {
        return Math.max(0, now - last.atNanos()) * (double) rate / TimeUnit.SECONDS.toNanos(1);
    }
}
