package io.queenmq.loadtest;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** What the database server counts and how it is set up; plain SQL for set-up. */
final class Server implements AutoCloseable {
    /**
     * Totals since the server's statistics began.
     *
     * @param blocks buffers that were asked for, found or read
     * @param fullPages images of whole pages in the WAL
     */
    record Counts(long commits, long walBytes, long fullPages, long blocks) {
        private static final int PAGE_BYTES = 8192;

        Counts minus(Counts earlier) {
            return new Counts(
                    commits - earlier.commits,
                    walBytes - earlier.walBytes,
                    fullPages - earlier.fullPages,
                    blocks - earlier.blocks);
        }

        /** WAL without the images of whole pages, each counted at its full size. */
        long walBytesWithoutPages() {
            return Math.max(0, walBytes - fullPages * PAGE_BYTES);
        }
    }

    /**
     * A backend that goes idle keeps its counts to itself for up to ten seconds; without this wait
     * the end of a short phase would be missing.
     */
    static final long REPORTED_AFTER_SECONDS = 11;

    private static final String SETTINGS =
            """
            select name, current_setting(name)
            from pg_settings
            where name in (
                'server_version', 'fsync', 'synchronous_commit', 'full_page_writes',
                'wal_sync_method', 'shared_buffers', 'max_wal_size', 'checkpoint_timeout',
                'wal_compression', 'jit', 'autovacuum', 'default_toast_compression',
                'max_connections', 'commit_delay', 'io_method', 'track_functions')
            order by name
            """;

    private static final String COMPRESSION =
            """
            select case when attstorage = 'e' then 'none'
                        when attcompression = 'l' then 'lz4'
                        when attcompression = 'p' then 'pglz'
                        else current_setting('default_toast_compression') end
            from pg_attribute
            where attrelid = to_regclass('queen_store.segments_1') and attname = 'frames'
            """;

    private final Connection connection;

    Server(String jdbcUrl) {
        try {
            this.connection = DriverManager.getConnection(jdbcUrl);
        } catch (SQLException e) {
            throw new IllegalStateException("cannot connect to the database", e);
        }
    }

    /** Commits are those of the database, ours (one per question) included. */
    Counts counts() {
        return query(
                        """
                        select xact_commit, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint,
                               (select wal_fpi from pg_stat_wal), blks_hit + blks_read
                        from pg_stat_database
                        where datname = current_database()
                        """,
                        rows ->
                                new Counts(
                                        rows.getLong(1),
                                        rows.getLong(2),
                                        rows.getLong(3),
                                        rows.getLong(4)))
                .getFirst();
    }

    Map<String, String> settings() {
        Map<String, String> settings = new LinkedHashMap<>();
        query(SETTINGS, rows -> settings.put(rows.getString(1), rows.getString(2)));
        query(
                COMPRESSION,
                rows -> settings.put("compression of segments.frames", rows.getString(1)));
        return settings;
    }

    /** So that no run pays for the pages that an earlier one has dirtied. */
    void checkpoint() {
        execute("checkpoint");
    }

    /** Waits until backends that have gone idle have reported what they did. */
    void awaitReports() {
        long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(REPORTED_AFTER_SECONDS);
        while (System.nanoTime() < until) {
            LockSupport.parkNanos(until - System.nanoTime());
        }
    }

    /** Reads the row that a query is at. */
    interface Reader<T> {
        T read(ResultSet row) throws SQLException;
    }

    <T> List<T> query(String sql, Reader<T> reader, Object... parameters) {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < parameters.length; i++) {
                statement.setObject(i + 1, parameters[i]);
            }
            List<T> read = new ArrayList<>();
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    read.add(reader.read(rows));
                }
            }
            return read;
        } catch (SQLException e) {
            throw new IllegalStateException(sql, e);
        }
    }

    /** The first column of the first row. */
    double number(String sql, Object... parameters) {
        return query(sql, row -> row.getDouble(1), parameters).getFirst();
    }

    void execute(String sql) {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        } catch (SQLException e) {
            throw new IllegalStateException(sql, e);
        }
    }

    /** Number of rows that it changed. */
    long update(String sql, Object... parameters) {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < parameters.length; i++) {
                statement.setObject(i + 1, parameters[i]);
            }
            return statement.executeUpdate();
        } catch (SQLException e) {
            throw new IllegalStateException(sql, e);
        }
    }

    @Override
    public void close() {
        try {
            connection.close();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }
}
