package io.queenmq.db;

import io.queenmq.runtime.Clock;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Whether the database takes writes, asked on a connection of its own so that a full pool is no
 * sickness. Callers within a second share one answer, if it is a bad one within a quarter. Safe for
 * any thread; one caller asks, the others wait for it.
 */
public final class Health implements AutoCloseable {
    private static final Logger LOG = System.getLogger(Health.class.getName());
    private static final long SHARE_NANOS = TimeUnit.SECONDS.toNanos(1);

    /** A broker that is well again should not be left out for longer; each opens a connection. */
    private static final long SHARE_SICK_NANOS = TimeUnit.MILLISECONDS.toNanos(250);

    private static final Duration PATIENCE = Duration.ofSeconds(2);

    /** A server that was demoted still answers queries: only this proves the way of a write. */
    private static final String TAKES_WRITES =
            "select not pg_is_in_recovery() and not current_setting('transaction_read_only')::boolean";

    private final Connector connector;
    private final Clock clock;

    /** One question at a time; guards all below. It is held across the question on purpose. */
    private final ReentrantLock asking = new ReentrantLock();

    private @Nullable Connection connection;
    private boolean asked;
    private long askedNanos;
    private volatile boolean healthy;

    public Health(DatabaseConfig config, Clock clock) {
        this.connector = new Connector(config.withStatementTimeout(PATIENCE), clock);
        this.clock = clock;
    }

    /** At most a second old. */
    public boolean databaseTakesWrites() {
        asking.lock();
        try {
            if (!asked || clock.nanos() - askedNanos > (healthy ? SHARE_NANOS : SHARE_SICK_NANOS)) {
                healthy = ask();
                asked = true;
                askedNanos = clock.nanos();
            }
            return healthy;
        } finally {
            asking.unlock();
        }
    }

    private boolean ask() {
        try {
            Connection open = connection;
            if (open == null) {
                open = connector.getConnection();
                connection = open;
            }
            try (Statement statement = open.createStatement();
                    ResultSet result = statement.executeQuery(TAKES_WRITES)) {
                result.next();
                if (result.getBoolean(1)) {
                    return true;
                }
            }
            LOG.log(Level.WARNING, "database takes no writes");
        } catch (SQLException e) {
            // The connector says once that it cannot open a connection.
            LOG.log(Level.DEBUG, "the question whether the database takes writes failed", e);
        }
        disconnect();
        return false;
    }

    private void disconnect() {
        Connection open = connection;
        connection = null;
        if (open != null) {
            try {
                open.close();
            } catch (SQLException e) {
                LOG.log(Level.DEBUG, "closing a broken connection failed", e);
            }
        }
    }

    @Override
    public void close() {
        asking.lock();
        try {
            disconnect();
        } finally {
            asking.unlock();
        }
    }
}
