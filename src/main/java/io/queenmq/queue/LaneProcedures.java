package io.queenmq.queue;

import io.queenmq.db.Database;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/** Finding and making lanes. */
final class LaneProcedures {
    private static final String ENSURE =
            "select ordinal, queue_id, partition_id, last_offset, created"
                    + " from queen_store.ensure_lanes(?, ?, ?)";
    private static final String FIND =
            "select ordinal, queue_id, partition_id, last_offset, false"
                    + " from queen_store.find_lanes(?, ?, ?)";

    private final Database database;

    LaneProcedures(Database database) {
        this.database = database;
    }

    /** Per name the lane, made if missing; null where another transaction is making it. */
    List<@Nullable Lane> ensure(List<LaneName> names) {
        return database.repeatable(
                "ensure_lanes", session -> lanes(session.connection(), ENSURE, names));
    }

    /** Per name the lane; null where there is none. */
    List<@Nullable Lane> find(List<LaneName> names) {
        return database.repeatable(
                "find_lanes", session -> lanes(session.connection(), FIND, names));
    }

    private static List<@Nullable Lane> lanes(
            Connection connection, String sql, List<LaneName> names) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            statement.setArray(1, array(connection, "uuid", names, LaneName::tenant));
            statement.setArray(2, array(connection, "text", names, LaneName::queue));
            statement.setArray(3, array(connection, "text", names, LaneName::partition));
            try (ResultSet result = statement.executeQuery()) {
                List<@Nullable Lane> lanes = new ArrayList<>(names.size());
                for (int i = 0; i < names.size(); i++) {
                    lanes.add(null);
                }
                while (result.next()) {
                    int at = result.getInt(1) - 1;
                    long number = result.getLong(3);
                    if (!result.wasNull()) {
                        lanes.set(
                                at,
                                new Lane(
                                        names.get(at),
                                        result.getInt(2),
                                        number,
                                        result.getLong(4),
                                        result.getBoolean(5)));
                    }
                }
                return lanes;
            }
        }
    }

    private static Array array(
            Connection connection,
            String type,
            List<LaneName> names,
            Function<LaneName, Object> part)
            throws SQLException {
        return connection.createArrayOf(type, names.stream().map(part).toArray());
    }
}
