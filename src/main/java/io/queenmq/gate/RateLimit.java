package io.queenmq.gate;

import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/** Lets each tenant make so many calls a second on this broker, one token a call. Any thread. */
final class RateLimit {
    /** Whose calls are counted together; no tenant = everybody's. */
    private record Account(@Nullable UUID tenant, boolean writes) {}

    /** Tokens that an account had left when it was last asked, and what it earns. */
    private record Level(double tokens, long atNanos, boolean taken, long rate, long burst) {
        double tokensAt(long nanos) {
            double earned =
                    Math.max(0, nanos - atNanos) * (double) rate / TimeUnit.SECONDS.toNanos(1);
            return Math.min((double) burst, tokens + earned);
        }
    }

    private static final Account EVERYBODY = new Account(null, false);
    private static final long SWEEP_NANOS = TimeUnit.SECONDS.toNanos(1);

    private final KvRates rates;
    private final Clock clock;
    private final ConcurrentHashMap<Account, Level> levels = new ConcurrentHashMap<>();
    private final AtomicLong sweptNanos;

    RateLimit(KvRates rates, Clock clock) {
        this.rates = rates;
        this.clock = clock;
        this.sweptNanos = new AtomicLong(clock.nanos() - SWEEP_NANOS);
    }

    /**
     * Takes a token.
     *
     * @param quota may say how many the tenant has, instead of the settings
     * @throws QueenException rate limited
     */
    void take(UUID tenant, boolean writes, Quota quota) {
        Long own = writes ? quota.maxWritesPerSecond() : quota.maxReadsPerSecond();
        long rate = own != null ? own : writes ? rates.writes() : rates.reads();
        long burst = own != null ? 2 * own : writes ? rates.writeBurst() : rates.readBurst();
        Account account = new Account(tenant, writes);
        if (!take(account, rate, burst)) {
            throw refusal(
                    "calls on keys and timers of this tenant, up to %d a second are let in", rate);
        }
        if (!take(EVERYBODY, rates.cell(), rates.cell())) {
            giveBack(account);
            throw refusal(
                    "calls on keys and timers of all tenants, up to %d a second are let in",
                    rates.cell());
        }
    }

    private static QueenException refusal(String what, long rate) {
        return new QueenException(Failure.RATE_LIMITED, "too many " + what.formatted(rate));
    }

    private boolean take(Account account, long rate, long burst) {
        if (rate == 0) {
            return true;
        }
        long now = clock.nanos();
        if (!hasPlace(account, now)) {
            return false;
        }
        Level level =
                levels.compute(
                        account,
                        (a, last) -> {
                            // Callers may come here in another order than they looked at the clock.
                            long at =
                                    last == null || now - last.atNanos() > 0 ? now : last.atNanos();
                            double tokens =
                                    last == null
                                            ? (double) burst
                                            : Math.min((double) burst, last.tokensAt(at));
                            boolean enough = tokens >= 1;
                            return new Level(enough ? tokens - 1 : tokens, at, enough, rate, burst);
                        });
        return level.taken();
    }

    private void giveBack(Account account) {
        levels.computeIfPresent(
                account,
                (a, last) ->
                        new Level(
                                last.tokens() + 1,
                                last.atNanos(),
                                last.taken(),
                                last.rate(),
                                last.burst()));
    }

    /**
     * Whether an account is known or can be: one that has all its tokens again says no more than
     * none would, others are never forgotten, or their first burst would be free again.
     */
    private boolean hasPlace(Account account, long now) {
        int most = 2 * rates.tenantsMax();
        if (levels.containsKey(account) || levels.size() <= most) {
            return true;
        }
        long swept = sweptNanos.get();
        if (now - swept >= SWEEP_NANOS && sweptNanos.compareAndSet(swept, now)) {
            levels.values().removeIf(level -> level.tokensAt(now) >= level.burst());
        }
        return levels.size() <= most;
    }
}
