package io.queenmq.group;

import io.queenmq.db.Database;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.time.Instant;
import java.time.ZoneOffset;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Makes groups in the database. */
final class GroupProcedures {
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
                                            "select verdict, queue_id, group_id,"
                                                    + " start_rule is not null, conflation"
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
                                                row.getBoolean(4),
                                                row.getBoolean(5));
                                case "busy" -> new Registration.Busy();
                                case "unknown_queue" -> new Registration.UnknownQueue();
                                default -> throw new IllegalStateException(verdict);
                            };
                        }
                    }
                });
    }
}
