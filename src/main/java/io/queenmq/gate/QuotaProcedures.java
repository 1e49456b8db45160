package io.queenmq.gate;

import io.queenmq.db.Database;
import io.queenmq.db.Rows;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The rows of quotas, and measurements of single tenants. */
final class QuotaProcedures {
    private static final String READ =
            "select tenant_id, enabled, max_rows, max_bytes, max_timers,"
                    + " max_timer_horizon_seconds, max_reads_per_second, max_writes_per_second,"
                    + " kv_rows, kv_bytes, timer_rows, measured_at from queen_store.read_quotas()";
    private static final String SET = "select queen_store.set_kv_quota(?, ?, ?, ?, ?, ?, ?, ?, ?)";
    private static final String MEASURE =
            "select kv_rows, kv_bytes, timer_rows, measured_at"
                    + " from queen_store.measure_tenant(?)";

    /** A tenant's quota, and what it has of it. */
    record Granted(UUID tenant, Quota quota, Usage usage) {}

    private final Database database;

    QuotaProcedures(Database database) {
        this.database = database;
    }

    List<Granted> read() {
        return database.repeatable(
                "read_quotas",
                session -> {
                    try (PreparedStatement statement =
                            session.connection().prepareStatement(READ)) {
                        return Rows.list(statement, QuotaProcedures::granted);
                    }
                });
    }

    private static Granted granted(ResultSet row) throws SQLException {
        return new Granted(
                row.getObject(1, UUID.class),
                new Quota(
                        row.getBoolean(2),
                        number(row, 3),
                        number(row, 4),
                        number(row, 5),
                        number(row, 6),
                        number(row, 7),
                        number(row, 8)),
                new Usage(row.getLong(9), row.getLong(10), row.getLong(11), instant(row, 12)));
    }

    private static @Nullable Long number(ResultSet row, int column) throws SQLException {
        long value = row.getLong(column);
        return row.wasNull() ? null : value;
    }

    private static @Nullable Instant instant(ResultSet row, int column) throws SQLException {
        OffsetDateTime time = row.getObject(column, OffsetDateTime.class);
        return time == null ? null : time.toInstant();
    }

    /**
     * Sets some of a quota; what is not named stays as it is.
     *
     * @param columns which
     */
    void set(UUID tenant, Set<String> columns, Quota quota) {
        database.repeatable(
                "set_kv_quota",
                session -> {
                    try (PreparedStatement statement = session.connection().prepareStatement(SET)) {
                        statement.setObject(1, tenant);
                        statement.setArray(
                                2, session.connection().createArrayOf("text", columns.toArray()));
                        statement.setBoolean(3, quota.enabled());
                        statement.setObject(4, quota.maxRows(), Types.BIGINT);
                        statement.setObject(5, quota.maxBytes(), Types.BIGINT);
                        statement.setObject(6, quota.maxTimers(), Types.BIGINT);
                        statement.setObject(7, quota.maxTimerHorizonSeconds(), Types.BIGINT);
                        statement.setObject(8, quota.maxReadsPerSecond(), Types.INTEGER);
                        statement.setObject(9, quota.maxWritesPerSecond(), Types.INTEGER);
                        return statement.execute();
                    }
                });
    }

    Usage measure(UUID tenant) {
        return database.repeatable(
                "measure_tenant",
                session -> {
                    try (PreparedStatement statement =
                            session.connection().prepareStatement(MEASURE)) {
                        statement.setObject(1, tenant);
                        return Rows.only(
                                statement,
                                row ->
                                        new Usage(
                                                row.getLong(1),
                                                row.getLong(2),
                                                row.getLong(3),
                                                instant(row, 4)));
                    }
                });
    }
}
