package io.queenmq.testkit;

import io.queenmq.db.Database;
import io.queenmq.db.DatabaseConfig;
import io.queenmq.metrics.Metrics;
import io.queenmq.runtime.Clock;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * A database of a test class of its own, cloned from a migrated template in some 40 ms. Tests open
 * as many connections as their interleaving needs.
 */
public final class TestDatabase implements AutoCloseable {
    private final TestServer server;
    private final String name;

    private TestDatabase(TestServer server, String name) {
        this.server = server;
        this.name = name;
    }

    /** With the schema and all functions. */
    public static TestDatabase migrated() {
        TestServer server = TestServer.shared();
        return new TestDatabase(server, server.createDatabase(true));
    }

    /** Empty, for tests of the migration itself. */
    public static TestDatabase empty() {
        TestServer server = TestServer.shared();
        return new TestDatabase(server, server.createDatabase(false));
    }

    public String host() {
        return "127.0.0.1";
    }

    public int port() {
        return server.port();
    }

    public String name() {
        return name;
    }

    public String user() {
        return "queen";
    }

    public String url() {
        return server.url(name);
    }

    /** For the parts that run on it; a small pool, since many tests share the server. */
    public DatabaseConfig config() {
        return DatabaseConfig.of(host(), port(), name, user(), "").withPoolSize(8);
    }

    /** A pool on it; the caller closes it. */
    public Database pool() {
        return new Database(config(), new Metrics(), Clock.SYSTEM);
    }

    /** A connection in autocommit mode; the caller closes it. */
    public Connection connect() throws SQLException {
        return DriverManager.getConnection(url());
    }

    /** Runs one statement and returns all rows, each as an array of column values. */
    public static List<@Nullable Object[]> rows(
            Connection connection, String sql, @Nullable Object... args) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < args.length; i++) {
                statement.setObject(i + 1, args[i]);
            }
            List<@Nullable Object[]> rows = new ArrayList<>();
            if (statement.execute()) {
                try (ResultSet result = statement.getResultSet()) {
                    int columns = result.getMetaData().getColumnCount();
                    while (result.next()) {
                        @Nullable Object[] row = new @Nullable Object[columns];
                        for (int i = 0; i < columns; i++) {
                            row[i] = result.getObject(i + 1);
                        }
                        rows.add(row);
                    }
                }
            }
            return rows;
        }
    }

    @Override
    public void close() {
        server.dropDatabase(name);
    }
}
