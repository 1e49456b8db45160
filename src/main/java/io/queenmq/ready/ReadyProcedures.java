package io.queenmq.ready;

import io.queenmq.db.Database;
import java.sql.Array;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Reads from the tables which lanes may have work. */
final class ReadyProcedures implements LaneSource {
    private final Database database;

    ReadyProcedures(Database database) {
        this.database = database;
    }

    @Override
    public List<Found> lanesWithWork(int queueId, int groupId, @Nullable Found after, int limit) {
        return database.call(
                "lanes_with_work",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select partition_id, last_offset, last_write_at,"
                                                    + " lease_expires_at"
                                                    + " from queen_store.lanes_with_work"
                                                    + "(?, ?, null, ?, ?, ?)")) {
                        statement.setInt(1, queueId);
                        statement.setInt(2, groupId);
                        statement.setObject(
                                3,
                                after == null
                                        ? null
                                        : after.lastWriteAt().atOffset(ZoneOffset.UTC));
                        statement.setObject(4, after == null ? null : after.number());
                        statement.setInt(5, limit);
                        List<Found> found = new ArrayList<>();
                        try (ResultSet rows = statement.executeQuery()) {
                            while (rows.next()) {
                                found.add(
                                        new Found(
                                                rows.getLong(1),
                                                rows.getLong(2),
                                                rows.getObject(3, OffsetDateTime.class).toInstant(),
                                                instant(rows, 4)));
                            }
                        }
                        return found;
                    }
                });
    }

    /**
     * What is known of lanes that somebody named by number; those of deleted queues are missing.
     */
    List<LaneWrites.Lane> lanes(Collection<Long> numbers) {
        return database.call(
                "lanes_by_number",
                session -> {
                    Array array = session.connection().createArrayOf("int8", numbers.toArray());
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            LANES
                                                    + " where p.id = any (?)"
                                                    + " and q.deleted_at is null")) {
                        statement.setArray(1, array);
                        return read(statement);
                    }
                });
    }

    /** Lanes of some queues written at or after an instant. */
    List<LaneWrites.Lane> lanesWrittenSince(Collection<Integer> queueIds, Instant since) {
        return database.call(
                "lanes_written_since",
                session -> {
                    Array array = session.connection().createArrayOf("int4", queueIds.toArray());
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            LANES
                                                    + " where q.id = any (?)"
                                                    + " and p.last_write_at >= ?"
                                                    + " and q.deleted_at is null")) {
                        statement.setArray(1, array);
                        statement.setObject(2, since.atOffset(ZoneOffset.UTC));
                        return read(statement);
                    }
                });
    }

    /** The live lane of that name. */
    LaneNames.@Nullable Named findLane(LaneNames.Name name) {
        return database.call(
                "find_lanes",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select queue_id, partition_id"
                                                    + " from queen_store.find_lanes"
                                                    + "(array[?], array[?], array[?])")) {
                        statement.setObject(1, name.tenant());
                        statement.setString(2, name.queue());
                        statement.setString(3, name.partition());
                        try (ResultSet row = statement.executeQuery()) {
                            return row.next()
                                    ? new LaneNames.Named(name, row.getInt(1), row.getLong(2))
                                    : null;
                        }
                    }
                });
    }

    /**
     * From when on a later look must search again to miss nothing that is under way now: two
     * seconds ago (a lane's time of last write is exact to one), or the start of the oldest writer.
     */
    Instant horizon() {
        return database.call(
                "oldest_writer",
                session -> {
                    try (PreparedStatement statement =
                                    session.connection()
                                            .prepareStatement(
                                                    "select least(clock_timestamp()"
                                                            + " - interval '2 seconds',"
                                                            + " queen_store.oldest_writer())");
                            ResultSet row = statement.executeQuery()) {
                        row.next();
                        return row.getObject(1, OffsetDateTime.class).toInstant();
                    }
                });
    }

    private static final String LANES =
            "select q.tenant_id, q.id, q.name, p.id, p.name, p.last_offset"
                    + " from queen_store.partitions p"
                    + " join queen_store.queues q on q.id = p.queue_id";

    private static List<LaneWrites.Lane> read(PreparedStatement statement) throws SQLException {
        List<LaneWrites.Lane> lanes = new ArrayList<>();
        try (ResultSet rows = statement.executeQuery()) {
            while (rows.next()) {
                lanes.add(
                        new LaneWrites.Lane(
                                rows.getObject(1, UUID.class),
                                rows.getInt(2),
                                rows.getString(3),
                                rows.getLong(4),
                                rows.getString(5),
                                rows.getLong(6)));
            }
        }
        return lanes;
    }

    private static @Nullable Instant instant(ResultSet rows, int column) throws SQLException {
        OffsetDateTime value = rows.getObject(column, OffsetDateTime.class);
        return value == null ? null : value.toInstant();
    }
}
