package io.queenmq.kv;

import io.queenmq.db.Database;
import io.queenmq.kv.KvCall.Column;
import io.queenmq.model.Slice;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Reads and writes keys in calls of their own; the rows of the answer go to {@link KvCall}. */
public final class KvProcedures {
    private static final String RUN =
            "select item, verdict, key, value, version, expires_at, updated_at from"
                    + " queen_store.run_kv(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

    private final Database database;

    KvProcedures(Database database) {
        this.database = database;
    }

    /**
     * Carries the call out.
     *
     * @param patience how long it waits for a key that somebody holds, each of three times
     * @return false = nothing took effect: an operation that had to be applied is not
     */
    boolean apply(UUID tenant, KvCall call, Duration patience) {
        Database.Work<Boolean> work =
                session -> {
                    call.begin();
                    Connection connection = session.connection();
                    try (PreparedStatement statement = connection.prepareStatement(RUN)) {
                        statement.setObject(1, tenant);
                        int at = bind(statement, 2, call.columns());
                        at = bind(statement, at, call.pageColumns());
                        at = bind(statement, at, List.of(call.required()));
                        statement.setLong(at, call.readBytesMax());
                        statement.setLong(at + 1, patience.toMillis());
                        try (ResultSet rows = statement.executeQuery()) {
                            return read(rows, call);
                        }
                    }
                };
        return call.writes() ? database.call("run_kv", work) : database.repeatable("run_kv", work);
    }

    private static boolean read(ResultSet rows, KvCall call) throws SQLException {
        boolean applied = true;
        while (rows.next()) {
            if (rows.getInt(1) == 0) {
                applied = false;
            } else {
                call.answered(row(rows.getInt(1), rows.getString(2), rows, 3));
            }
        }
        return applied;
    }

    /**
     * Sets the arrays of a call, wherever they stand in it.
     *
     * @return the place behind them
     */
    public static int bind(PreparedStatement statement, int from, List<Column> columns)
            throws SQLException {
        int at = from;
        for (Column column : columns) {
            statement.setArray(
                    at++,
                    statement.getConnection().createArrayOf(column.type(), column.elements()));
        }
        return at;
    }

    /**
     * A row of an answer.
     *
     * @param from place of its key; value, version and two times stand behind it
     */
    public static KvCall.Row row(int item, String verdict, ResultSet rows, int from)
            throws SQLException {
        byte[] value = rows.getBytes(from + 1);
        return new KvCall.Row(
                item,
                verdict,
                rows.getString(from),
                value == null ? null : Slice.of(value),
                rows.getLong(from + 2),
                instant(rows.getTimestamp(from + 3)),
                instant(rows.getTimestamp(from + 4)));
    }

    private static @Nullable Instant instant(@Nullable Timestamp time) {
        return time == null ? null : time.toInstant();
    }
}
