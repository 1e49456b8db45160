package io.queenmq.group;

import io.queenmq.db.Database;
import io.queenmq.db.Rows;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Makes groups in the database, moves them, and forgets them. */
final class GroupProcedures {
    /** A queue whose group was deleted, and how many lanes it has. */
    record DeletedFrom(int queueId, long lanes) {}

    /** A group whose subscription changed. */
    record Subscribed(int queueId, int groupId) {}

    private final Database database;

    GroupProcedures(Database database) {
        this.database = database;
    }

    /**
     * @param rule null = only the group's row, without a rule
     */
    Registration register(
            UUID tenant,
            String queue,
            String group,
            @Nullable StartRule rule,
            boolean conflation,
            boolean createQueue) {
        return database.call(
                "register_group",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select verdict, queue_id, group_id, generation,"
                                                    + " start_rule is not null, conflation,"
                                                    + " min_pop_wait_ms"
                                                    + " from queen_store.register_group"
                                                    + "(?, ?, ?, ?, ?, ?, ?)")) {
                        Instant at = rule == null ? null : rule.at();
                        statement.setObject(1, tenant);
                        statement.setString(2, queue);
                        statement.setString(3, group);
                        statement.setString(4, rule == null ? null : rule.sql());
                        statement.setObject(5, at == null ? null : at.atOffset(ZoneOffset.UTC));
                        statement.setBoolean(6, createQueue);
                        statement.setBoolean(7, conflation);
                        try (ResultSet row = statement.executeQuery()) {
                            row.next();
                            String verdict = row.getString(1);
                            return switch (verdict) {
                                case "ready" ->
                                        new Registration.Known(
                                                row.getInt(2),
                                                row.getInt(3),
                                                row.getInt(4),
                                                row.getBoolean(5),
                                                row.getBoolean(6),
                                                row.getInt(7));
                                case "busy" -> new Registration.Busy();
                                case "unknown_queue" -> new Registration.UnknownQueue();
                                default -> throw new IllegalStateException(verdict);
                            };
                        }
                    }
                });
    }

    Sought seekQueue(UUID tenant, String queue, String group, SeekTarget target) {
        return database.call(
                "seek_queue",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select verdict, queue_id, lane_count, effective_at,"
                                                    + " held_by_pid, held_by_application"
                                                    + " from queen_store.seek_queue"
                                                    + "(?, ?, ?, ?, ?)")) {
                        statement.setObject(1, tenant);
                        statement.setString(2, queue);
                        statement.setString(3, group);
                        statement.setString(4, name(target));
                        statement.setObject(5, instant(target));
                        try (ResultSet row = statement.executeQuery()) {
                            row.next();
                            String verdict = row.getString(1);
                            return switch (verdict) {
                                case "moved" ->
                                        new Sought.Queue(
                                                row.getInt(2),
                                                row.getLong(3),
                                                instant(row, 4),
                                                holder(row));
                                case "not_found" -> new Sought.UnknownQueue();
                                default -> throw new IllegalStateException(verdict);
                            };
                        }
                    }
                });
    }

    private static Sought.@Nullable Holder holder(ResultSet row) throws SQLException {
        int pid = row.getInt(5);
        boolean hasPid = !row.wasNull();
        String application = row.getString(6);
        return hasPid || application != null ? new Sought.Holder(pid, application) : null;
    }

    Sought seekLane(UUID tenant, String queue, String partition, String group, SeekTarget target) {
        return database.call(
                "seek_lane",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select verdict, queue_id, group_id, partition_id,"
                                                    + " committed, last_offset"
                                                    + " from queen_store.seek_lane"
                                                    + "(?, ?, ?, ?, ?, ?, ?)")) {
                        statement.setObject(1, tenant);
                        statement.setString(2, queue);
                        statement.setString(3, partition);
                        statement.setString(4, group);
                        statement.setString(5, name(target));
                        statement.setObject(6, instant(target));
                        statement.setObject(
                                7,
                                target instanceof SeekTarget.Offset(long next) ? next : null,
                                Types.BIGINT);
                        try (ResultSet row = statement.executeQuery()) {
                            row.next();
                            String verdict = row.getString(1);
                            return switch (verdict) {
                                case "moved" ->
                                        new Sought.Lane(
                                                row.getInt(2),
                                                row.getInt(3),
                                                row.getLong(4),
                                                row.getLong(5),
                                                row.getLong(6));
                                case "unknown_queue" -> new Sought.UnknownQueue();
                                case "unknown_partition" -> new Sought.UnknownLane();
                                default -> throw new IllegalStateException(verdict);
                            };
                        }
                    }
                });
    }

    /** The group in each queue that it is registered with. */
    List<Subscribed> updateSubscription(UUID tenant, String group, Instant from) {
        return database.call(
                "update_subscription",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select queue_id, group_id"
                                                    + " from queen_store.update_subscription"
                                                    + "(?, ?, ?)")) {
                        statement.setObject(1, tenant);
                        statement.setString(2, group);
                        statement.setObject(3, from.atOffset(ZoneOffset.UTC));
                        return Rows.list(
                                statement, row -> new Subscribed(row.getInt(1), row.getInt(2)));
                    }
                });
    }

    /**
     * @param queue null = all of them
     */
    List<DeletedFrom> delete(UUID tenant, @Nullable String queue, String group, boolean forget) {
        return database.call(
                "delete_group",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select queue_id, lane_count"
                                                    + " from queen_store.delete_group"
                                                    + "(?, ?, ?, ?)")) {
                        statement.setObject(1, tenant);
                        statement.setString(2, queue);
                        statement.setString(3, group);
                        statement.setBoolean(4, forget);
                        return Rows.list(
                                statement, row -> new DeletedFrom(row.getInt(1), row.getLong(2)));
                    }
                });
    }

    private static String name(SeekTarget target) {
        return switch (target) {
            case SeekTarget.Beginning() -> "beginning";
            case SeekTarget.End() -> "end";
            case SeekTarget.At _ -> "instant";
            case SeekTarget.Offset _ -> "offset";
        };
    }

    private static @Nullable OffsetDateTime instant(SeekTarget target) {
        return target instanceof SeekTarget.At(Instant at) ? at.atOffset(ZoneOffset.UTC) : null;
    }

    private static @Nullable Instant instant(ResultSet row, int column) throws SQLException {
        OffsetDateTime value = row.getObject(column, OffsetDateTime.class);
        return value == null ? null : value.toInstant();
    }
}
