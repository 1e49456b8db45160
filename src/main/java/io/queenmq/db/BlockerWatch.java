package io.queenmq.db;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/**
 * Looks, while a migration runs, who makes it wait: after its lock timeout nobody could tell any
 * more. Uses the connection given to it until it is closed.
 */
final class BlockerWatch implements AutoCloseable {
    private static final Logger LOG = System.getLogger(BlockerWatch.class.getName());
    private static final long LOOK_EVERY_MS = 200;

    private static final String BLOCKERS =
            """
            select string_agg(distinct format('pid=%s user=%s application=%s state=%s since=%s',
                                              b.pid, b.usename, b.application_name, b.state,
                                              b.xact_start), '; ')
            from pg_stat_activity w
            cross join lateral unnest(pg_blocking_pids(w.pid)) blocker
            join pg_stat_activity b on b.pid = blocker
            where starts_with(w.application_name, ?)
            """;

    private final Connection connection;
    private final String applicationPrefix;
    private final CountDownLatch stop = new CountDownLatch(1);
    private final Thread thread;
    private volatile String last = "unknown";

    BlockerWatch(Connection connection, String applicationPrefix) {
        this.connection = connection;
        this.applicationPrefix = applicationPrefix;
        this.thread = Thread.ofVirtual().name("queen-blocker-watch").start(this::run);
    }

    /** The sessions seen last in the way of the migration. */
    String last() {
        return last;
    }

    private void run() {
        try {
            while (!stop.await(LOOK_EVERY_MS, TimeUnit.MILLISECONDS)) {
                look();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (SQLException e) {
            LOG.log(Level.WARNING, "cannot see who blocks the migration", e);
        }
    }

    private void look() throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(BLOCKERS)) {
            statement.setString(1, applicationPrefix);
            try (ResultSet result = statement.executeQuery()) {
                result.next();
                String blockers = result.getString(1);
                if (blockers != null) {
                    last = blockers;
                }
            }
        }
    }

    @Override
    public void close() {
        stop.countDown();
        try {
            thread.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
