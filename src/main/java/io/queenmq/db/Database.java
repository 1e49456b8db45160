package io.queenmq.db;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.Timer;
import io.queenmq.db.Refusals.Verdict;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.EnumMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The pool of connections that the procedures of the data plane run on, and the one place where
 * errors of the database become refusals. Safe for any thread; a caller blocks while its statement
 * runs.
 */
public final class Database implements AutoCloseable {
    private static final int ATTEMPTS_MAX = 4;
    private static final long RECHECK_INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final int END_BACKEND_STEP_MS = 1_000;

    private final DatabaseConfig config;
    private final Connector connector;
    private final HikariDataSource pool;
    private final Clock clock;
    private final Metrics metrics;
    private final Map<Verdict, Counter> retries = new EnumMap<>(Verdict.class);
    private final Counter reconnected;
    private final Counter lost;
    private final Counter rechecks;
    private final AtomicLong recheckedNanos;
    private final ConcurrentHashMap<String, Timer> timers = new ConcurrentHashMap<>();

    /** One borrowed connection, in autocommit mode. */
    public record Session(Connection connection, Backend backend) implements AutoCloseable {
        /** Gives the connection back, or closes it if it was opened for one owner alone. */
        @Override
        public void close() throws SQLException {
            connection.close();
        }
    }

    /** What to do with a connection; statements are prepared on the server from their first use. */
    @FunctionalInterface
    public interface Work<T extends @Nullable Object> {
        T run(Session session) throws SQLException;
    }

    /** The same, with the time that is left for it. */
    @FunctionalInterface
    public interface BoundedWork<T extends @Nullable Object> {
        T run(Session session, Duration left) throws SQLException;
    }

    /** Opens no connection yet: the pool fills itself in the background. */
    public Database(DatabaseConfig config, Metrics metrics, Clock clock) {
        this.config = config;
        this.connector = new Connector(config, clock);
        this.clock = clock;
        this.metrics = metrics;
        this.recheckedNanos = new AtomicLong(clock.nanos() - RECHECK_INTERVAL_NANOS);
        for (Verdict verdict : Verdict.values()) {
            if (verdict.passes()) {
                retries.put(verdict, retries(verdict.name().toLowerCase(Locale.ROOT)));
            }
        }
        this.reconnected = retries("connection");
        this.lost =
                metrics.counter(
                        "queen_db_connections_lost_total",
                        "Connections that broke while a statement was under way.");
        this.rechecks =
                metrics.counter(
                        "queen_db_pool_rechecks_total",
                        "Times every pooled connection was replaced after a failover or shutdown.");
        this.pool = pool(config, connector);
        metrics.gauge(
                "queen_db_pool_size", "Pooled connections this broker may open.", config::poolSize);
        metrics.gauge(
                "queen_db_pool_active",
                "Pooled connections in use.",
                () -> pool.getHikariPoolMXBean().getActiveConnections());
        metrics.gauge(
                "queen_db_pool_idle",
                "Pooled connections open and not in use.",
                () -> pool.getHikariPoolMXBean().getIdleConnections());
        metrics.gauge(
                "queen_db_pool_waiting",
                "Threads that wait for a pooled connection.",
                () -> pool.getHikariPoolMXBean().getThreadsAwaitingConnection());
    }

    private static HikariDataSource pool(DatabaseConfig config, Connector connector) {
        HikariConfig hikari = new HikariConfig();
        hikari.setPoolName("queen");
        hikari.setDataSource(connector);
        hikari.setMaximumPoolSize(config.poolSize());
        hikari.setConnectionTimeout(config.borrowTimeout().toMillis());
        hikari.setValidationTimeout(
                Math.min(TimeUnit.SECONDS.toMillis(3), config.borrowTimeout().toMillis()));
        // Boot waits for the database itself; from then on its absence is never fatal.
        hikari.setInitializationFailTimeout(-1);
        return new HikariDataSource(hikari);
    }

    /**
     * Runs one autocommit call. Serialization failures, deadlocks and lock timeouts are retried, at
     * most three times.
     *
     * @param statement name for logs and metrics: the procedure's
     * @throws QueenException with the failure that SQL raised; {@code DATABASE_AWAY} when certainly
     *     nothing was stored; {@code OVERLOADED} when every connection stayed in use; {@code
     *     OUTCOME_UNKNOWN} with a {@link ConnectionLost} as cause when the connection broke under
     *     way; {@code DEADLINE}, {@code BUSY} (a lock not had in time), {@code STOPPING} (the
     *     thread was interrupted), {@code INTERNAL}
     */
    public <T extends @Nullable Object> T call(String statement, Work<T> work) {
        return timed(statement, () -> once(work));
    }

    /**
     * The same for a caller who does not wait for ever: at the deadline nothing is begun or tried
     * again.
     *
     * @param work bounds its statement by the time that is left
     * @throws QueenException as the other; {@code DEADLINE} when certainly nothing was stored
     */
    public <T extends @Nullable Object> T call(
            String statement, long deadlineNanos, BoundedWork<T> work) {
        return timed(
                statement,
                () -> {
                    left(statement, deadlineNanos);
                    return once(session -> work.run(session, left(statement, deadlineNanos)));
                });
    }

    /**
     * The same for work of which it makes no difference whether it ran once or twice, such as a
     * look-up: when the connection breaks it is run again, at most three times.
     *
     * @throws QueenException as {@link #call(String, Work)}, but {@code DATABASE_AWAY} where that
     *     throws {@code OUTCOME_UNKNOWN}
     */
    public <T extends @Nullable Object> T repeatable(String statement, Work<T> work) {
        return timed(
                statement,
                () -> {
                    for (int attempt = 1; ; attempt++) {
                        try {
                            return once(work);
                        } catch (QueenException e) {
                            if (!(e.getCause() instanceof ConnectionLost lost)) {
                                throw e;
                            }
                            if (attempt == ATTEMPTS_MAX) {
                                throw Refusals.away(lost.error());
                            }
                            retrying(reconnected, attempt);
                        }
                    }
                });
    }

    private Duration left(String statement, long deadlineNanos) {
        long nanos = deadlineNanos - clock.nanos();
        if (nanos <= 0) {
            throw new QueenException(
                    Failure.DEADLINE, "the time of the request ran out before " + statement);
        }
        return Duration.ofNanos(nanos);
    }

    private <T extends @Nullable Object> T timed(String statement, Attempted<T> attempted) {
        Timer timer = timers.computeIfAbsent(statement, this::timer);
        long start = clock.nanos();
        try {
            for (int attempt = 1; ; attempt++) {
                try {
                    return attempted.run();
                } catch (StatementFailed failed) {
                    SQLException error = failed.error;
                    if (!failed.verdict.passes() || attempt == ATTEMPTS_MAX) {
                        throw Refusals.refusal(statement, error);
                    }
                    retrying(Objects.requireNonNull(retries.get(failed.verdict)), attempt);
                }
            }
        } finally {
            timer.record(clock.nanos() - start, TimeUnit.NANOSECONDS);
        }
    }

    private <T extends @Nullable Object> T once(Work<T> work) throws StatementFailed {
        Connection connection = borrow();
        try {
            Backend backend = Connector.backendOf(connection);
            try {
                return work.run(new Session(connection, backend));
            } catch (SQLException e) {
                Verdict verdict = Refusals.verdict(e);
                if (verdict == Verdict.LOST || verdict == Verdict.RECHECK_POOL) {
                    pool.evictConnection(connection);
                    recheckPool();
                }
                if (verdict == Verdict.LOST) {
                    lost.increment();
                    throw Refusals.lost(backend, e);
                }
                throw new StatementFailed(verdict, e);
            }
        } catch (SQLException e) {
            // From asking who is behind the connection, before anything was sent.
            throw Refusals.away(e);
        } finally {
            giveBack(connection);
        }
    }

    /** What the call did stands, whatever becomes of its connection. */
    private void giveBack(Connection connection) {
        try {
            connection.close();
        } catch (SQLException e) {
            pool.evictConnection(connection);
        }
    }

    private Connection borrow() {
        Connector.Outage outage = connector.outage();
        if (outage != null
                && clock.nanos() - outage.sinceNanos() > config.borrowTimeout().toNanos()
                && pool.getHikariPoolMXBean().getTotalConnections() == 0) {
            // A short outage is waited out; in a long one every caller would wait for nothing.
            throw Refusals.away(outage.error());
        }
        try {
            return pool.getConnection();
        } catch (SQLException e) {
            if (pool.isClosed() || Thread.currentThread().isInterrupted()) {
                throw new QueenException(Failure.STOPPING, "the broker is stopping", e);
            }
            outage = connector.outage();
            throw outage == null ? Refusals.allInUse(e) : Refusals.away(outage.error());
        }
    }

    /**
     * Opens a connection outside the pool for one owner, such as a listener; the owner closes it.
     * Its statements run without a time limit and its reads wait without one.
     *
     * @throws QueenException {@code DATABASE_AWAY}
     */
    public Session openDedicated() {
        try {
            Connection connection = connector.open(Duration.ZERO);
            return new Session(connection, Connector.backendOf(connection));
        } catch (SQLException e) {
            throw Refusals.away(e);
        }
    }

    /**
     * Why the owner of a {@linkplain #openDedicated dedicated} connection gives it up.
     *
     * @param what the connection, for the log
     * @return {@code DATABASE_AWAY}; or {@code INTERNAL}, if the server serves it and refuses a
     *     statement: opening another does not help
     */
    public static QueenException ended(String what, SQLException error) {
        return Refusals.ended(what, error);
    }

    /** Whether only a pooler can be why the owner of a dedicated connection gives it up. */
    public static boolean isShared(SQLException error) {
        return Pooling.isShared(error);
    }

    /**
     * Ends a server process whose connection broke, so that what it was doing is decided: after
     * {@code true} its transaction has committed or is undone, and holds no lock.
     *
     * @return false when it was still there after {@code patience}
     * @throws QueenException {@code DATABASE_AWAY} and the like: nothing is known
     */
    public boolean endBackend(Backend backend, Duration patience) {
        long deadline = clock.nanos() + patience.toNanos();
        while (true) {
            long leftMs = TimeUnit.NANOSECONDS.toMillis(deadline - clock.nanos());
            int stepMs = Math.clamp(leftMs, 1, END_BACKEND_STEP_MS);
            if (!call("end_backend", session -> terminate(session, backend, stepMs))) {
                return true;
            }
            if (leftMs <= stepMs) {
                return false;
            }
        }
    }

    /** Whether the backend was there; the server waits up to {@code waitMs} for its end. */
    private static boolean terminate(Session session, Backend backend, int waitMs)
            throws SQLException {
        try (PreparedStatement statement =
                session.connection()
                        .prepareStatement(
                                "select pg_catalog.pg_terminate_backend(pid, ?) from"
                                        + " pg_catalog.pg_stat_activity where pid = ? and"
                                        + " application_name = ?")) {
            statement.setLong(1, waitMs);
            statement.setInt(2, backend.pid());
            statement.setString(3, backend.applicationName());
            try (ResultSet result = statement.executeQuery()) {
                return result.next() && !result.getBoolean(1);
            }
        }
    }

    Connector connector() {
        return connector;
    }

    @Override
    public void close() {
        pool.close();
    }

    /**
     * Replaces every connection, those in use when they come back: after a failover the others are
     * as stale as the one that showed it. At most once a second, or the callers that fail together
     * would throw away each other's fresh connections.
     */
    private void recheckPool() {
        long last = recheckedNanos.get();
        long now = clock.nanos();
        if (now - last >= RECHECK_INTERVAL_NANOS && recheckedNanos.compareAndSet(last, now)) {
            rechecks.increment();
            pool.getHikariPoolMXBean().softEvictConnections();
        }
    }

    private void retrying(Counter counter, int attempt) {
        counter.increment();
        LockSupport.parkNanos(
                TimeUnit.MILLISECONDS.toNanos(
                        ThreadLocalRandom.current().nextLong(2, 12L << attempt)));
        if (Thread.currentThread().isInterrupted()) {
            throw new QueenException(Failure.STOPPING, "the broker is stopping");
        }
    }

    private Counter retries(String reason) {
        return metrics.counter(
                "queen_db_retries_total",
                "Calls run again, for which reason: serialization, deadlock, lock_timeout, or a"
                        + " connection that broke under a look-up.",
                "reason",
                reason);
    }

    private Timer timer(String statement) {
        return metrics.timer(
                "queen_db_call_seconds",
                "Time of a database call, waiting for a connection included.",
                "statement",
                statement);
    }

    /** One attempt of a call. */
    @FunctionalInterface
    private interface Attempted<T extends @Nullable Object> {
        T run() throws StatementFailed;
    }

    /** A statement that was certainly undone. */
    private static final class StatementFailed extends Exception {
        private static final long serialVersionUID = 1L;

        private final Verdict verdict;
        private final SQLException error;

        StatementFailed(Verdict verdict, SQLException error) {
            super(null, error, false, false);
            this.verdict = verdict;
            this.error = error;
        }
    }
}
