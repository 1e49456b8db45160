package io.queenmq.count;

import io.queenmq.db.Database;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;
import org.postgresql.PGConnection;

/** Tells the database what was counted. */
final class CountProcedures {
    private final Database database;

    CountProcedures(Database database) {
        this.database = database;
    }

    void flush(List<Tally> queues, List<Tally> groups) {
        database.call(
                "flush_counts",
                session -> {
                    Connection connection = session.connection();
                    try (PreparedStatement statement =
                            connection.prepareStatement(
                                    "select queen_store.flush_counts(?, ?, ?, ?, ?, ?, ?, ?, ?)")) {
                        statement.setArray(1, ids(connection, queues));
                        statement.setArray(2, sums(connection, queues, 0));
                        statement.setArray(3, sums(connection, queues, 1));
                        statement.setArray(4, ids(connection, groups));
                        for (int i = 0; i < Tally.SUMS; i++) {
                            statement.setArray(5 + i, sums(connection, groups, i));
                        }
                        return statement.execute();
                    }
                });
    }

    private static Array ids(Connection connection, List<Tally> tallies) throws SQLException {
        return connection
                .unwrap(PGConnection.class)
                .createArrayOf("int4", tallies.stream().mapToInt(Tally::id).toArray());
    }

    private static Array sums(Connection connection, List<Tally> tallies, int sum)
            throws SQLException {
        return connection
                .unwrap(PGConnection.class)
                .createArrayOf(
                        "int8", tallies.stream().mapToLong(tally -> tally.taken(sum)).toArray());
    }
}
