package io.queenmq.queue;

import io.queenmq.db.Database;
import io.queenmq.db.Rows;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Optional;
import java.util.UUID;

/** Queues and their options. */
final class QueueProcedures {
    private static final String COLUMNS =
            "namespace, task, lease_seconds, retry_limit, retry_delay_ms, dead_letter_queue,"
                    + " dlq_after_max_retries, delayed_processing_seconds, window_buffer_seconds,"
                    + " min_pop_wait_ms, retention_enabled, retention_seconds,"
                    + " completed_retention_seconds, max_wait_seconds, encryption_enabled,"
                    + " dedup_window_seconds, priority, max_size, ttl_seconds, retention_sink_hold,"
                    + " retention_sink_hold_max_seconds";
    private static final String CONFIGURE =
            "select queue_id, created, "
                    + COLUMNS
                    + " from queen_store.configure_queue(?, ?, ?, ?::jsonb)";
    private static final String FIND =
            "select queue_id, created, " + COLUMNS + " from queen_store.find_queue(?, ?)";
    private static final String DELETE =
            "with l as materialized (select * from queen_store.left_behind(?, ?))"
                    + " select queen_store.delete_queue(?, ?), l.disk_bytes, l.timers,"
                    + " l.timers_capped from l";

    private final Database database;

    QueueProcedures(Database database) {
        this.database = database;
    }

    Queue configure(UUID tenant, String queue, boolean merge, String options) {
        return database.call(
                "configure_queue",
                session -> {
                    try (PreparedStatement statement =
                            session.connection().prepareStatement(CONFIGURE)) {
                        statement.setObject(1, tenant);
                        statement.setString(2, queue);
                        statement.setBoolean(3, merge);
                        statement.setString(4, options);
                        return queue(statement, tenant, queue).orElseThrow();
                    }
                });
    }

    Optional<Queue> find(UUID tenant, String queue) {
        return database.repeatable(
                "find_queue",
                session -> {
                    try (PreparedStatement statement =
                            session.connection().prepareStatement(FIND)) {
                        statement.setObject(1, tenant);
                        statement.setString(2, queue);
                        return queue(statement, tenant, queue);
                    }
                });
    }

    Queues.Deleted delete(UUID tenant, String queue) {
        return database.call(
                "delete_queue",
                session -> {
                    try (PreparedStatement statement =
                            session.connection().prepareStatement(DELETE)) {
                        statement.setObject(1, tenant);
                        statement.setString(2, queue);
                        statement.setObject(3, tenant);
                        statement.setString(4, queue);
                        return Rows.only(
                                statement,
                                row ->
                                        new Queues.Deleted(
                                                row.getBoolean(1),
                                                row.getLong(2),
                                                row.getLong(3),
                                                row.getBoolean(4)));
                    }
                });
    }

    private static Optional<Queue> queue(PreparedStatement statement, UUID tenant, String name)
            throws SQLException {
        try (ResultSet row = statement.executeQuery()) {
            return row.next()
                    ? Optional.of(new Queue(row.getInt("queue_id"), tenant, name, options(row)))
                    : Optional.empty();
        }
    }

    private static QueueOptions options(ResultSet row) throws SQLException {
        return new QueueOptions(
                row.getString("namespace"),
                row.getString("task"),
                row.getInt("lease_seconds"),
                row.getInt("retry_limit"),
                row.getInt("retry_delay_ms"),
                row.getBoolean("dead_letter_queue"),
                row.getBoolean("dlq_after_max_retries"),
                row.getInt("delayed_processing_seconds"),
                row.getInt("window_buffer_seconds"),
                row.getInt("min_pop_wait_ms"),
                row.getBoolean("retention_enabled"),
                row.getInt("retention_seconds"),
                row.getInt("completed_retention_seconds"),
                row.getInt("max_wait_seconds"),
                row.getBoolean("encryption_enabled"),
                row.getInt("dedup_window_seconds"),
                row.getInt("priority"),
                row.getInt("max_size"),
                row.getInt("ttl_seconds"),
                row.getString("retention_sink_hold"),
                row.getInt("retention_sink_hold_max_seconds"));
    }
}
