package io.queenmq.loadtest;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.LinkedHashMap;
import java.util.Map;

/** What the database server counts and how it is set up. */
final class Server implements AutoCloseable {
    /** Totals since the server's statistics began. */
    record Counts(long commits, long walBytes) {
        Counts minus(Counts earlier) {
            return new Counts(commits - earlier.commits, walBytes - earlier.walBytes);
        }
    }

    private static final String SETTINGS =
            """
            select name, current_setting(name)
            from pg_settings
            where name in (
                'server_version', 'fsync', 'synchronous_commit', 'full_page_writes',
                'wal_sync_method', 'shared_buffers', 'max_wal_size', 'checkpoint_timeout',
                'wal_compression', 'jit', 'autovacuum', 'default_toast_compression',
                'max_connections', 'commit_delay', 'io_method')
            order by name
            """;

    private final Connection connection;

    Server(String jdbcUrl) {
        try {
            this.connection = DriverManager.getConnection(jdbcUrl);
        } catch (SQLException e) {
            throw new IllegalStateException("cannot connect to " + jdbcUrl, e);
        }
    }

    /** Commits are those of the database, ours (one per question) included. */
    Counts counts() {
        return query(
                """
                select xact_commit, pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint
                from pg_stat_database
                where datname = current_database()
                """,
                rows -> {
                    rows.next();
                    return new Counts(rows.getLong(1), rows.getLong(2));
                });
    }

    Map<String, String> settings() {
        return query(
                SETTINGS,
                rows -> {
                    Map<String, String> settings = new LinkedHashMap<>();
                    while (rows.next()) {
                        settings.put(rows.getString(1), rows.getString(2));
                    }
                    return settings;
                });
    }

    /** So that no run pays for the pages that an earlier one has dirtied. */
    void checkpoint() {
        try (Statement statement = connection.createStatement()) {
            statement.execute("checkpoint");
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private interface Reader<T> {
        T read(ResultSet rows) throws SQLException;
    }

    private <T> T query(String sql, Reader<T> reader) {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            return reader.read(rows);
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
