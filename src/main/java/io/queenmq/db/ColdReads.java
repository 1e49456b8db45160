package io.queenmq.db;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.helidon.dbclient.DbClient;
import io.helidon.dbclient.DbClientException;
import io.helidon.dbclient.DbRow;
import io.helidon.dbclient.jdbc.JdbcClientBuilder;
import io.micrometer.core.instrument.Counter;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * What people and dashboards ask, on a few connections of its own: however much they ask and
 * however long it takes, messages travel on others. Statements are cancelled after 5 s; more
 * callers than connections wait a moment, then are refused. An idle broker keeps no connection for
 * it. Any thread.
 */
public final class ColdReads implements AutoCloseable {
    /** Questions answered at once. */
    static final int RUNNING_MAX = 4;

    /** Callers that may wait for their turn. */
    static final int WAITING_MAX = 16;

    private static final Duration PATIENCE = Duration.ofMillis(250);
    private static final Duration STATEMENT_TIMEOUT = Duration.ofSeconds(5);
    private static final Duration IDLE = Duration.ofMinutes(1);

    private final HikariDataSource pool;
    private final DbClient client;
    private final Semaphore room = new Semaphore(RUNNING_MAX + WAITING_MAX);
    private final Semaphore turns = new Semaphore(RUNNING_MAX, true);
    private final Counter refused;

    /** Opens no connection yet. */
    public ColdReads(DatabaseConfig config, Metrics metrics, Clock clock) {
        HikariConfig hikari = new HikariConfig();
        hikari.setPoolName("queen-cold");
        hikari.setDataSource(new Connector(config.withStatementTimeout(STATEMENT_TIMEOUT), clock));
        hikari.setMaximumPoolSize(RUNNING_MAX);
        hikari.setMinimumIdle(0);
        hikari.setIdleTimeout(IDLE.toMillis());
        hikari.setConnectionTimeout(config.borrowTimeout().toMillis());
        hikari.setValidationTimeout(
                Math.min(TimeUnit.SECONDS.toMillis(3), config.borrowTimeout().toMillis()));
        hikari.setInitializationFailTimeout(-1);
        this.pool = new HikariDataSource(hikari);
        this.client = JdbcClientBuilder.create().connectionPool(this::connection).build();
        this.refused =
                metrics.counter(
                        "queen_db_cold_reads_refused_total",
                        "Questions of administrators refused because too many were being asked.");
        metrics.gauge(
                "queen_db_cold_reads_active",
                "Questions of administrators being answered.",
                () -> RUNNING_MAX - turns.availablePermits());
    }

    /**
     * A question that is asked again and again.
     *
     * @param name for logs: the function's
     * @param sql one query; its parameters are question marks
     * @param row reads one row of the answer
     */
    public <T> ColdQuery<T> query(String name, String sql, Function<DbRow, T> row) {
        return new ColdQuery<>(this, name, sql, row);
    }

    /**
     * Asks the database, in turn.
     *
     * @throws QueenException {@code OVERLOADED}, {@code DATABASE_AWAY}, {@code DEADLINE}, or what
     *     SQL raised
     */
    <T> List<T> read(
            String name, String sql, List<@Nullable Object> parameters, Function<DbRow, T> row) {
        if (!room.tryAcquire()) {
            throw overloaded();
        }
        try {
            if (!turns.tryAcquire(PATIENCE.toNanos(), TimeUnit.NANOSECONDS)) {
                throw overloaded();
            }
            try {
                return ask(name, sql, parameters, row);
            } finally {
                turns.release();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new QueenException(Failure.STOPPING, "the broker is stopping", e);
        } finally {
            room.release();
        }
    }

    private <T> List<T> ask(
            String name, String sql, List<@Nullable Object> parameters, Function<DbRow, T> row) {
        try {
            // To the end of the answer: only that gives the connection back.
            return client.execute().query(sql, parameters.toArray()).map(row).toList();
        } catch (DbClientException e) {
            throw refusal(name, e);
        }
    }

    private QueenException overloaded() {
        refused.increment();
        return new QueenException(
                Failure.OVERLOADED, "too many administrators' questions are being answered");
    }

    /** A read that broke off has changed nothing: nobody has to wonder about its outcome. */
    private QueenException refusal(String name, DbClientException failure) {
        for (Throwable cause = failure; cause != null; cause = cause.getCause()) {
            if (cause instanceof SQLException error) {
                return switch (Refusals.verdict(error)) {
                    case LOST -> {
                        pool.getHikariPoolMXBean().softEvictConnections();
                        yield Refusals.away(error);
                    }
                    case SERIALIZATION, DEADLOCK, LOCK_TIMEOUT, RECHECK_POOL, REFUSED ->
                            Refusals.refusal(name, error);
                };
            }
        }
        throw failure;
    }

    private Connection connection() {
        try {
            return pool.getConnection();
        } catch (SQLException e) {
            throw new DbClientException("no connection", e);
        }
    }

    @Override
    public void close() {
        pool.close();
    }
}
