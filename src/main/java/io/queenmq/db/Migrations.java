package io.queenmq.db;

import io.queenmq.runtime.Clock;
import io.queenmq.runtime.Version;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.FlywayException;
import org.flywaydb.core.api.configuration.FluentConfiguration;
import org.flywaydb.database.postgresql.PostgreSQLConfigurationExtension;

/**
 * Brings a database to the schema and functions this broker was built with, once however many
 * brokers boot at the same time, and never back to older ones.
 *
 * <p>Waiting for another broker holds no transaction: an index built concurrently would wait for
 * it. Every lock is asked for in slices, so that the traffic of running brokers is held up for no
 * longer than one of them.
 */
public final class Migrations {
    private static final Logger LOG = System.getLogger(Migrations.class.getName());

    /** Session-level advisory lock of whoever migrates. */
    static final long LOCK_KEY = 0x517565656eL;

    private static final int SERVER_VERSION_MIN = 150_000;

    private static final Set<String> REFUSES_FOR_GOOD =
            Set.of("28000", "28P01", "3D000", "42501", "0A000");

    private final DatabaseConfig config;
    private final Clock clock;
    private final Corpus corpus;
    private final Bounds bounds;

    /**
     * @param lockSlice longest wait of one statement for a lock
     * @param lockPatience how long such waits are repeated
     * @param connectPatience how long a server that cannot be reached is waited for
     */
    record Bounds(Duration lockSlice, Duration lockPatience, Duration connectPatience) {
        static final Bounds DEFAULT =
                new Bounds(
                        Duration.ofSeconds(2),
                        Duration.ofMinutes(3),
                        Duration.ofSeconds(Integer.MAX_VALUE));
    }

    /** What there was to do. */
    public enum Outcome {
        UP_TO_DATE,
        MIGRATED,
        /** A newer broker was here; this one may still serve. */
        AHEAD
    }

    public Migrations(DatabaseConfig config, Clock clock) {
        this(config, clock, Corpus.bundled(), Bounds.DEFAULT);
    }

    Migrations(DatabaseConfig config, Clock clock, Corpus corpus, Bounds bounds) {
        // A migration may run as long as it takes; only its waits for locks are bounded.
        this.config = config.withStatementTimeout(Duration.ZERO);
        this.clock = clock;
        this.corpus = corpus;
        this.bounds = bounds;
    }

    /**
     * Called once at boot. Waits for a server that cannot be reached yet. Where nothing may be
     * changed it only looks.
     *
     * @throws DatabaseRefused with a sentence for the operator
     */
    public Outcome apply() {
        Connector connector =
                new Connector(
                        config,
                        clock,
                        "-c client_min_messages=warning -c lock_timeout="
                                + bounds.lockSlice().toMillis());
        try (Connection guard = connect(connector)) {
            checkServer(guard);
            tellTrust();
            Optional<Outcome> nothingToDo = compare(guard);
            if (nothingToDo.isPresent()) {
                return nothingToDo.get();
            }
            if (!config.migrates()) {
                throw behind(guard);
            }
            awaitLock(guard);
            // Another broker may have done it meanwhile.
            nothingToDo = compare(guard);
            if (nothingToDo.isPresent()) {
                return nothingToDo.get();
            }
            migrate(connector, guard);
            corpus.note(guard, Version.current());
            return Outcome.MIGRATED;
        } catch (SQLException e) {
            throw new DatabaseRefused("cannot migrate " + config + ": " + e.getMessage(), e);
        }
    }

    /** At each start: whoever encrypts may believe that it is enough. */
    private void tellTrust() {
        Tls tls = config.tls();
        if (tls.mode().verifies()) {
            LOG.log(
                    Level.INFO,
                    "connections to the database are encrypted, and the server is verified"
                            + " ssl_mode={0} ssl_trust={1} ssl_verified=true",
                    tls.mode().word(),
                    tls.authorities().isPresent() ? "supplied-ca" : "webpki-roots");
        } else if (tls.mode() != Tls.Mode.DISABLE) {
            LOG.log(
                    Level.WARNING,
                    "connections to the database are encrypted, but whoever answers there is"
                            + " believed ssl_mode={0} ssl_trust=accept-any ssl_verified=false",
                    tls.mode().word());
        } else {
            LOG.log(
                    Level.INFO,
                    "connections to the database are not encrypted ssl_mode={0}"
                            + " ssl_trust=plaintext ssl_verified=false",
                    tls.mode().word());
        }
    }

    private Connection connect(Connector connector) {
        long start = clock.nanos();
        for (int attempt = 0; ; attempt++) {
            try {
                return connector.getConnection();
            } catch (SQLException e) {
                String state = Refusals.stateOf(e);
                if (REFUSES_FOR_GOOD.contains(state)
                        || TlsFailure.find(config, e).isPresent()
                        || clock.nanos() - start > bounds.connectPatience().toNanos()) {
                    throw new DatabaseRefused(
                            "cannot use " + config + ": " + TlsFailure.sentence(config, e), e);
                }
                if (attempt % 10 == 0) {
                    LOG.log(
                            Level.WARNING,
                            "waiting for the database address={0} error={1}",
                            config,
                            TlsFailure.sentence(config, e));
                }
                pause(Math.min(200L << Math.min(attempt, 4), 2_000));
            }
        }
    }

    private void checkServer(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet result =
                        statement.executeQuery(
                                "select current_setting('server_version_num')::int,"
                                        + " current_setting('server_version'),"
                                        + " current_setting('server_encoding'),"
                                        + " current_setting('max_connections')::int -"
                                        + " current_setting('superuser_reserved_connections')::int")) {
            result.next();
            if (result.getInt(1) < SERVER_VERSION_MIN) {
                throw new DatabaseRefused(
                        "%s is PostgreSQL %s: Queen needs 15 or later"
                                .formatted(config, result.getString(2)));
            }
            if (!"UTF8".equals(result.getString(3))) {
                throw new DatabaseRefused(
                        "%s has the encoding %s: Queen needs UTF8"
                                .formatted(config, result.getString(3)));
            }
            int needed = config.poolSize() + DatabaseConfig.BESIDE_THE_POOL;
            if (needed > result.getInt(4)) {
                LOG.log(
                        Level.WARNING,
                        "server allows fewer connections than this broker may open"
                                + " allowed={0} needed={1} setting=DB_POOL_SIZE",
                        result.getInt(4),
                        needed);
            }
        }
    }

    /** Empty = the database is behind and must be migrated. */
    private Optional<Outcome> compare(Connection connection) throws SQLException {
        Optional<Corpus.Applied> applied = Corpus.applied(connection);
        if (applied.isEmpty() || applied.get().number() < corpus.number()) {
            return Optional.empty();
        }
        if (applied.get().number() == corpus.number()) {
            return Optional.of(Outcome.UP_TO_DATE);
        }
        if (corpus.number() < applied.get().compatibleFrom()) {
            throw new DatabaseRefused(
                    ("%s holds corpus %d, which brokers from corpus %d on can use; this broker has"
                                    + " corpus %d: start a newer one")
                            .formatted(
                                    config,
                                    applied.get().number(),
                                    applied.get().compatibleFrom(),
                                    corpus.number()));
        }
        LOG.log(
                Level.INFO,
                "database is ahead, serving from it as it is corpus={0} own={1}",
                applied.get().number(),
                corpus.number());
        return Optional.of(Outcome.AHEAD);
    }

    private DatabaseRefused behind(Connection connection) throws SQLException {
        return new DatabaseRefused(
                ("%s holds %s, this broker needs corpus %d, and QUEEN_APPLY_SCHEMA is false: let a"
                                + " broker start once with the right to change the schema")
                        .formatted(
                                config,
                                Corpus.applied(connection)
                                        .map(applied -> "corpus " + applied.number())
                                        .orElse("no schema of Queen"),
                                corpus.number()));
    }

    /** By trying again and again: a blocked statement would hold a snapshot all the while. */
    private void awaitLock(Connection connection) throws SQLException {
        for (int attempt = 1; ; attempt++) {
            try (Statement statement = connection.createStatement();
                    ResultSet result =
                            statement.executeQuery(
                                    "select pg_try_advisory_lock(" + LOCK_KEY + ")")) {
                result.next();
                if (result.getBoolean(1)) {
                    return;
                }
            }
            if (attempt % 50 == 0) {
                LOG.log(Level.INFO, "another broker is migrating, waiting address={0}", config);
            }
            pause(200);
        }
    }

    private void migrate(Connector connector, Connection guard) throws SQLException {
        try (Statement statement = guard.createStatement()) {
            statement.execute("create schema if not exists queen_store");
        }
        Flyway flyway = flyway(connector);
        long start = clock.nanos();
        try (BlockerWatch blockers = new BlockerWatch(guard, connector.applicationPrefix())) {
            while (true) {
                try {
                    flyway.migrate();
                    return;
                } catch (FlywayException e) {
                    boolean late = clock.nanos() - start > bounds.lockPatience().toNanos();
                    if (!waitedForALock(e) || late) {
                        throw new DatabaseRefused(
                                "cannot migrate %s: %s%s"
                                        .formatted(
                                                config,
                                                e.getMessage(),
                                                late
                                                        ? " (blocked by " + blockers.last() + ")"
                                                        : ""),
                                e);
                    }
                    LOG.log(
                            Level.WARNING,
                            "migration waits for a lock, trying again blockers={0}",
                            blockers.last());
                    pause(500);
                }
            }
        }
    }

    private Flyway flyway(Connector connector) {
        FluentConfiguration flyway =
                Flyway.configure(Migrations.class.getClassLoader())
                        .dataSource(connector)
                        .locations(corpus.locations().toArray(String[]::new))
                        .defaultSchema("queen_store")
                        .schemas("queen_store")
                        .createSchemas(false)
                        .table("schema_history")
                        // A file that a later broker dropped, or has already applied, is no error.
                        .ignoreMigrationPatterns("*:future", "repeatable:missing");
        // Its own lock would sit in an open transaction beside every migration.
        flyway.getConfigurationExtension(PostgreSQLConfigurationExtension.class)
                .setTransactionalLock(false);
        return flyway.load();
    }

    private static boolean waitedForALock(Throwable error) {
        for (Throwable cause = error; cause != null; cause = cause.getCause()) {
            if (cause instanceof SQLException sql) {
                String state = Refusals.stateOf(sql);
                return state.equals("55P03") || state.equals("40P01");
            }
        }
        return false;
    }

    /** With jitter, so that brokers that boot together do not stay in step. */
    private static void pause(long milliseconds) {
        LockSupport.parkNanos(
                TimeUnit.MILLISECONDS.toNanos(
                        milliseconds / 2 + ThreadLocalRandom.current().nextLong(milliseconds)));
        if (Thread.currentThread().isInterrupted()) {
            throw new DatabaseRefused("interrupted while starting");
        }
    }
}
