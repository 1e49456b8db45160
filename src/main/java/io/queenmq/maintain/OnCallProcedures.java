package io.queenmq.maintain;

import io.queenmq.db.Database;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import org.jspecify.annotations.Nullable;

/** The calls behind what the person on call does by hand. */
final class OnCallProcedures {
    private final Database database;

    OnCallProcedures(Database database) {
        this.database = database;
    }

    boolean setJob(String name, @Nullable Boolean enabled, boolean run) {
        return database.repeatable(
                "set_job",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement("select queen_store.set_job(?, ?, ?)")) {
                        statement.setString(1, name);
                        statement.setObject(2, enabled, Types.BOOLEAN);
                        statement.setBoolean(3, run);
                        return answer(statement);
                    }
                });
    }

    boolean endLaneHolder(int pid) {
        return database.repeatable(
                "end_lane_holder",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement("select queen_store.end_lane_holder(?)")) {
                        statement.setInt(1, pid);
                        return answer(statement);
                    }
                });
    }

    private static boolean answer(PreparedStatement statement) throws SQLException {
        try (ResultSet rows = statement.executeQuery()) {
            return rows.next() && rows.getBoolean(1);
        }
    }
}
