package io.queenmq.gate;

import io.queenmq.db.Database;
import io.queenmq.gate.QuotaProcedures.Granted;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import io.queenmq.runtime.Loop;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * What tenants may keep of keys and timers and how often they may call, as this broker knows it:
 * quotas and measurements are read now and then, and what calls of this broker may have added since
 * is counted in memory. So a quota holds a little late, and no call writes a counter. Any thread.
 */
public final class Quotas implements AutoCloseable {
    private static final System.Logger LOG = System.getLogger(Quotas.class.getName());

    /** Measuring one tenant takes at most a hundredth of the time of this broker. */
    private static final int REST_FACTOR = 100;

    /** Between two readings that refusals have brought about. */
    private static final Duration LOOK_SOON_PAUSE = Duration.ofSeconds(1);

    /** Longest time that one reading spends on measurements. */
    private static final Duration MEASURING_MAX = Duration.ofSeconds(1);

    /**
     * What administrators see of all this.
     *
     * @param tenants that have a quota
     * @param ageMs since quotas were last read; -1 = they never were
     * @param hot tenants that have nearly used one up
     */
    public record State(int tenants, long ageMs, int hot) {}

    private final QuotaConfig config;
    private final QuotaProcedures procedures;
    private final RateLimit rateLimit;
    private final Clock clock;
    private final Loop loop;

    private final AtomicLong readings = new AtomicLong();
    private final AtomicLong lookedSoonNanos;

    /** Guards the replacement of accounts. */
    private final ReentrantLock lock = new ReentrantLock();

    /** Number of the reading that the accounts are of: one that began before it is no news. */
    private long current;

    private volatile Map<UUID, Account> accounts = Map.of();
    private volatile @Nullable Long readNanos;

    /** Reads them once, if the database answers. */
    public Quotas(
            QuotaConfig config, KvRates rates, Database database, Metrics metrics, Clock clock) {
        this.config = config;
        this.rateLimit = new RateLimit(rates, clock);
        this.procedures = new QuotaProcedures(database);
        this.clock = clock;
        this.lookedSoonNanos = new AtomicLong(clock.nanos() - LOOK_SOON_PAUSE.toNanos());
        metrics.gauge(
                "queen_gate_quota_tenants", "Tenants that have a quota.", () -> accounts.size());
        metrics.gauge(
                "queen_gate_quota_hot",
                "Of these, how many have nearly used one up.",
                () -> state().hot());
        try {
            read();
        } catch (QueenException e) {
            LOG.log(System.Logger.Level.WARNING, "quotas could not be read yet", e);
        }
        this.loop = Loop.start("quotas", config.refresh(), this::refresh, metrics, clock);
    }

    /**
     * Refuses a tenant that may not use keys and timers at all.
     *
     * @throws QueenException feature gated; database away: nobody knows yet
     */
    public void requireGrant(UUID tenant) {
        boolean known = readNanos != null;
        Account account = accounts.get(tenant);
        if (!known && account == null && config.requireGrant()) {
            // A refusal for good would end clients that have a grant.
            throw new QueenException(
                    Failure.DATABASE_AWAY, "what tenants may do could not be read yet");
        }
        if (account == null ? config.requireGrant() : !account.quota().enabled()) {
            throw account == null
                    ? new QueenException(
                            Failure.FEATURE_GATED,
                            "not_granted",
                            "keys and timers are not part of what this tenant may use")
                    : new QueenException(
                            Failure.FEATURE_GATED,
                            "grant_disabled",
                            "keys and timers are disabled for this tenant");
        }
    }

    /**
     * Counts one call more of the tenant.
     *
     * @param writes whether anything in it writes or schedules
     * @throws QueenException rate limited
     */
    public void takeTurn(UUID tenant, boolean writes) {
        rateLimit.take(tenant, writes, of(tenant));
    }

    /** What a tenant may do beyond what it may keep. */
    public Quota of(UUID tenant) {
        Account account = accounts.get(tenant);
        return account == null ? Quota.UNBOUNDED : account.quota();
    }

    /**
     * Counts keys and bytes of values that a call may add; what it turns out not to have added is
     * given back.
     *
     * @throws QueenException kv quota exceeded: nothing was counted
     */
    public void takeKeys(UUID tenant, long rows, long bytes) {
        take(tenant, account -> account.addKeys(rows, bytes));
    }

    /** That much less was added; or that much was removed. */
    public void giveBackKeys(UUID tenant, long rows, long bytes) {
        takeKeys(tenant, -rows, -bytes);
    }

    /**
     * Counts messages that a call may schedule.
     *
     * @throws QueenException timers quota exceeded: nothing was counted
     */
    public void takeTimers(UUID tenant, long timers) {
        take(tenant, account -> account.addTimers(timers));
    }

    /** So many fewer were scheduled; or so many were cancelled. */
    public void giveBackTimers(UUID tenant, long timers) {
        takeTimers(tenant, -timers);
    }

    private void take(UUID tenant, Consumer<Account> take) {
        Account account = accounts.get(tenant);
        if (account == null) {
            return;
        }
        try {
            take.accept(account);
        } catch (QueenException e) {
            if (account.isGuessed()) {
                lookSoon();
            }
            throw e;
        }
    }

    /** Somebody is refused who may have less than is supposed: that is not left so for long. */
    private void lookSoon() {
        long now = clock.nanos();
        long last = lookedSoonNanos.get();
        if (now - last >= LOOK_SOON_PAUSE.toNanos() && lookedSoonNanos.compareAndSet(last, now)) {
            loop.wake();
        }
    }

    public State state() {
        Long read = readNanos;
        return new State(
                accounts.size(),
                read == null ? -1 : TimeUnit.NANOSECONDS.toMillis(clock.nanos() - read),
                (int) accounts.values().stream().filter(a -> a.isHot(config.hotPercent())).count());
    }

    /**
     * Sets some of a tenant's quota, and the rest stays. It holds on this broker at once, on others
     * after their next reading.
     *
     * @param columns of {@code kv_quotas}: what is set
     * @return all of it
     * @throws QueenException the database did not take it
     */
    public Quota set(UUID tenant, Set<String> columns, Quota quota) {
        procedures.set(tenant, columns, quota);
        read();
        return of(tenant);
    }

    private void refresh() {
        read();
        QueenException failed = null;
        long start = clock.nanos();
        for (Map.Entry<UUID, Account> each : accounts.entrySet()) {
            long now = clock.nanos();
            if (now - start >= MEASURING_MAX.toNanos()) {
                break;
            }
            Account account = each.getValue();
            if (account.wantsMeasuring(config.hotPercent(), now)) {
                try {
                    measure(each.getKey(), account);
                } catch (QueenException e) {
                    failed = failed == null ? e : failed;
                }
            }
        }
        if (failed != null) {
            throw failed;
        }
    }

    /** One that cannot be measured rests likewise, and longest where the attempt took longest. */
    private void measure(UUID tenant, Account account) {
        long start = clock.nanos();
        try {
            account.measured(procedures.measure(tenant), config.releasePercent());
        } finally {
            long end = clock.nanos();
            account.restUntil(end + REST_FACTOR * (end - start));
        }
    }

    private void read() {
        long reading = readings.incrementAndGet();
        List<Granted> rows = procedures.read();
        lock.lock();
        try {
            if (reading > current) {
                current = reading;
                accounts = accounts(rows);
                readNanos = clock.nanos();
            }
        } finally {
            lock.unlock();
        }
    }

    private Map<UUID, Account> accounts(List<Granted> rows) {
        Map<UUID, Account> next = new HashMap<>();
        for (Granted row : rows) {
            Account account = accounts.get(row.tenant());
            if (account == null) {
                account = new Account(clock.nanos());
            }
            account.allow(row.quota());
            account.measured(row.usage(), config.releasePercent());
            next.put(row.tenant(), account);
        }
        return Map.copyOf(next);
    }

    @Override
    public void close() {
        loop.close();
    }
}
