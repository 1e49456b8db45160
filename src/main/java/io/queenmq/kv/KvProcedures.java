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
import org.jspecify.annotations.Nullable;

/** Reads and writes keys in calls of their own; the rows of the answer go to {@link KvBatch}. */
public final class KvProcedures {
    private static final String RUN =
            "select item, verdict, key, value, version, expires_at, updated_at from"
                    + " queen_store.run_kv(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";

    private final Database database;

    KvProcedures(Database database) {
        this.database = database;
    }

    /**
     * Carries the calls out, all or none.
     *
     * @param patience how long it waits for a key that somebody holds, each of three times
     */
    void apply(KvBatch batch, Duration patience) {
        Database.Work<@Nullable Void> work =
                session -> {
                    batch.begin();
                    Connection connection = session.connection();
                    try (PreparedStatement statement = connection.prepareStatement(RUN)) {
                        statement.setObject(1, batch.tenant());
                        int at = bind(statement, 2, batch.columns());
                        at = bind(statement, at, batch.pageColumns());
                        at = bind(statement, at, List.of(batch.required()));
                        statement.setLong(at, batch.readBytesMax());
                        statement.setLong(at + 1, patience.toMillis());
                        try (ResultSet rows = statement.executeQuery()) {
                            read(rows, batch);
                        }
                    }
                    return null;
                };
        if (batch.writes()) {
            database.call("run_kv", work);
        } else {
            database.repeatable("run_kv", work);
        }
    }

    private static void read(ResultSet rows, KvBatch batch) throws SQLException {
        while (rows.next()) {
            if (rows.getInt(1) == 0) {
                batch.setUndone();
            } else {
                batch.answered(row(rows.getInt(1), rows.getString(2), rows, 3));
            }
        }
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
