package io.queenmq.maintain;

import io.queenmq.db.Database;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.sql.Types;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;

/** Steps that keep the counts. */
final class StatisticsProcedures {
    /** The lane that a walk came to. */
    record Place(int queueId, String name) {}

    /**
     * A page of a walk.
     *
     * @param sums by queue, then group
     * @param last null = there are no more
     */
    record Page(List<Walked.Sums> sums, @Nullable Place last) {}

    /** The segment that a walk over an epoch came to. */
    record SegmentPlace(long lane, long offset) {
        static final SegmentPlace FIRST = new SegmentPlace(0, -1);
    }

    /**
     * A page of a walk over an epoch.
     *
     * @param last null = there are no more
     */
    record EpochPage(Map<Integer, EpochWalk.Held> queues, @Nullable SegmentPlace last) {}

    private static final String PAGE =
            "select queue_id, group_id, started_at, lanes, amount, behind, leased, dead_letters,"
                    + " before_lanes, before_stored, before_passed, before_granted, before_ended,"
                    + " before_dead_letters, oldest_ids, oldest_ats, last_queue_id, last_name,"
                    + " live_hour, live_day, live_week, leases, leased_lanes, oldest_write_at,"
                    + " newest_write_at"
                    + " from queen_store.count_lanes(?, ?, ?, ?, true)";
    private static final int FOUND = 5;
    private static final int BEFORE = 6;
    private static final int LIVE = 5;

    private final Database database;

    StatisticsProcedures(Database database) {
        this.database = database;
    }

    /** Whether there is something to add, or a queue that waits for its walk. */
    boolean hasCounts() {
        return number("has_counts", "select queen_store.has_counts()::integer") != 0;
    }

    /** Whether there is anything that a walk could prove. */
    boolean hasCounted() {
        return number("has_counted", "select queen_store.has_counted()::integer") != 0;
    }

    int fold(int changesMax) {
        return number("fold_counts", "select queen_store.fold_counts(?)", changesMax);
    }

    void drop(int rowsMax) {
        number("drop_counts", "select queen_store.drop_counts(?)", rowsMax);
    }

    /** Null = none behind that one. */
    @Nullable Integer uncountedQueue(int afterQueueId) {
        int queueId =
                number(
                        "uncounted_queue",
                        "select coalesce(queen_store.uncounted_queue(?), 0)",
                        afterQueueId);
        return queueId == 0 ? null : queueId;
    }

    /** Null = all are counted. */
    @Nullable Integer uncountedEpoch() {
        int epoch = number("uncounted_epoch", "select coalesce(queen_store.uncounted_epoch(), -1)");
        return epoch < 0 ? null : epoch;
    }

    EpochPage countEpoch(int epoch, SegmentPlace after, int segmentsMax) {
        return database.call(
                "count_epoch",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select queue_id, messages, bytes, last_partition_id,"
                                                    + " last_offset"
                                                    + " from queen_store.count_epoch(?, ?, ?, ?)")) {
                        statement.setInt(1, epoch);
                        statement.setLong(2, after.lane());
                        statement.setLong(3, after.offset());
                        statement.setInt(4, segmentsMax);
                        try (ResultSet rows = statement.executeQuery()) {
                            Map<Integer, EpochWalk.Held> queues = new HashMap<>();
                            SegmentPlace last = null;
                            while (rows.next()) {
                                int queueId = rows.getInt(1);
                                if (!rows.wasNull()) {
                                    queues.put(
                                            queueId,
                                            new EpochWalk.Held(rows.getLong(2), rows.getLong(3)));
                                }
                                long lane = rows.getLong(4);
                                last =
                                        rows.wasNull()
                                                ? null
                                                : new SegmentPlace(lane, rows.getLong(5));
                            }
                            return new EpochPage(queues, last);
                        }
                    }
                });
    }

    void settleEpoch(int epoch, Map<Integer, EpochWalk.Held> queues) {
        List<Map.Entry<Integer, EpochWalk.Held>> rows = List.copyOf(queues.entrySet());
        database.call(
                "settle_epoch",
                session -> {
                    Connection connection = session.connection();
                    try (PreparedStatement statement =
                            connection.prepareStatement(
                                    "select queen_store.settle_epoch(?, ?, ?, ?)")) {
                        statement.setInt(1, epoch);
                        statement.setArray(
                                2,
                                integers(
                                        connection,
                                        rows.stream().mapToInt(Map.Entry::getKey).toArray()));
                        statement.setArray(
                                3,
                                longs(
                                        connection,
                                        rows.stream()
                                                .mapToLong(row -> row.getValue().messages())
                                                .toArray()));
                        statement.setArray(
                                4,
                                longs(
                                        connection,
                                        rows.stream()
                                                .mapToLong(row -> row.getValue().bytes())
                                                .toArray()));
                        return statement.execute();
                    }
                });
    }

    private int number(String name, String sql, int... arguments) {
        return database.call(
                name,
                session -> {
                    try (PreparedStatement statement = session.connection().prepareStatement(sql)) {
                        for (int i = 0; i < arguments.length; i++) {
                            statement.setInt(i + 1, arguments[i]);
                        }
                        try (ResultSet row = statement.executeQuery()) {
                            row.next();
                            return row.getInt(1);
                        }
                    }
                });
    }

    /**
     * The next page of a walk.
     *
     * @param queueId null = of all queues
     * @param after null = the first
     */
    Page countLanes(@Nullable Integer queueId, @Nullable Place after, int lanesMax) {
        return database.call(
                "count_lanes",
                session -> {
                    try (PreparedStatement statement =
                            session.connection().prepareStatement(PAGE)) {
                        if (queueId == null) {
                            statement.setNull(1, Types.INTEGER);
                        } else {
                            statement.setInt(1, queueId);
                        }
                        int first = queueId == null ? 0 : queueId;
                        statement.setInt(2, after == null ? first : after.queueId());
                        statement.setString(3, after == null ? "" : after.name());
                        statement.setInt(4, lanesMax);
                        try (ResultSet rows = statement.executeQuery()) {
                            List<Walked.Sums> sums = new ArrayList<>();
                            Place last = null;
                            while (rows.next()) {
                                sums.add(sums(rows));
                                String name = rows.getString(18);
                                last = name == null ? null : new Place(rows.getInt(17), name);
                            }
                            return new Page(sums, last);
                        }
                    }
                });
    }

    private static Walked.Sums sums(ResultSet row) throws SQLException {
        long[] found = new long[FOUND];
        for (int i = 0; i < FOUND; i++) {
            found[i] = row.getLong(4 + i);
        }
        long[] before = new long[BEFORE];
        for (int i = 0; i < BEFORE; i++) {
            before[i] = row.getLong(4 + FOUND + i);
        }
        return new Walked.Sums(
                row.getInt(1),
                row.getInt(2),
                row.getObject(3, OffsetDateTime.class),
                found,
                before,
                oldest(row.getArray(15), row.getArray(16)),
                writes(row));
    }

    private static Walked.@Nullable Writes writes(ResultSet row) throws SQLException {
        OffsetDateTime oldest = row.getObject(24, OffsetDateTime.class);
        OffsetDateTime newest = row.getObject(25, OffsetDateTime.class);
        if (oldest == null || newest == null) {
            return null;
        }
        long[] live = new long[LIVE];
        for (int i = 0; i < LIVE; i++) {
            live[i] = row.getLong(19 + i);
        }
        return new Walked.Writes(live, oldest, newest);
    }

    private static List<Walked.Oldest> oldest(@Nullable Array lanes, @Nullable Array times)
            throws SQLException {
        if (lanes == null || times == null) {
            return List.of();
        }
        Long[] ids = (Long[]) lanes.getArray();
        Timestamp[] ats = (Timestamp[]) times.getArray();
        List<Walked.Oldest> oldest = new ArrayList<>(ids.length);
        for (int i = 0; i < ids.length; i++) {
            oldest.add(new Walked.Oldest(ids[i], ats[i].toInstant().atOffset(ZoneOffset.UTC)));
        }
        return oldest;
    }

    /** What walks have found of the writes of lanes, and of leases. */
    void noteLiveness(List<Walked> queues) {
        record Found(int queueId, Walked.Writes writes) {}
        List<Found> found = new ArrayList<>();
        for (Walked queue : queues) {
            Walked.Writes writes = queue.writes();
            if (writes != null) {
                found.add(new Found(queue.queueId, writes));
            }
        }
        if (found.isEmpty()) {
            return;
        }
        database.call(
                "note_liveness",
                session -> {
                    Connection connection = session.connection();
                    try (PreparedStatement statement =
                            connection.prepareStatement(
                                    "select queen_store.note_liveness("
                                            + "?, ?, ?, ?, ?, ?, ?, ?)")) {
                        statement.setArray(
                                1,
                                integers(
                                        connection,
                                        found.stream().mapToInt(Found::queueId).toArray()));
                        for (int i = 0; i < LIVE; i++) {
                            int at = i;
                            statement.setArray(
                                    2 + i,
                                    longs(
                                            connection,
                                            found.stream()
                                                    .mapToLong(f -> f.writes().live()[at])
                                                    .toArray()));
                        }
                        statement.setArray(
                                2 + LIVE,
                                connection.createArrayOf(
                                        "timestamptz",
                                        found.stream().map(f -> f.writes().oldestAt()).toArray()));
                        statement.setArray(
                                3 + LIVE,
                                connection.createArrayOf(
                                        "timestamptz",
                                        found.stream().map(f -> f.writes().newestAt()).toArray()));
                        return statement.execute();
                    }
                });
    }

    /** Counts that were off. */
    int settle(List<Walked> queues) {
        List<Walked.Sums> sums = queues.stream().flatMap(walked -> walked.sums().stream()).toList();
        List<Integer> rows = new ArrayList<>();
        List<Walked.Oldest> oldest = new ArrayList<>();
        for (int i = 0; i < sums.size(); i++) {
            for (Walked.Oldest lane : sums.get(i).oldest()) {
                rows.add(i + 1);
                oldest.add(lane);
            }
        }
        return database.call(
                "settle_counts",
                session -> {
                    Connection connection = session.connection();
                    try (PreparedStatement statement =
                            connection.prepareStatement(
                                    "select queen_store.settle_counts(?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
                                            + " ?, ?, ?, ?, ?, ?, ?)")) {
                        statement.setArray(
                                1,
                                connection.createArrayOf(
                                        "timestamptz",
                                        sums.stream().map(Walked.Sums::startedAt).toArray()));
                        statement.setArray(
                                2,
                                integers(
                                        connection,
                                        sums.stream().mapToInt(Walked.Sums::queueId).toArray()));
                        statement.setArray(
                                3,
                                integers(
                                        connection,
                                        sums.stream().mapToInt(Walked.Sums::groupId).toArray()));
                        for (int i = 0; i < FOUND; i++) {
                            int at = i;
                            statement.setArray(
                                    4 + i,
                                    longs(
                                            connection,
                                            sums.stream().mapToLong(s -> s.found()[at]).toArray()));
                        }
                        for (int i = 0; i < BEFORE; i++) {
                            int at = i;
                            statement.setArray(
                                    4 + FOUND + i,
                                    longs(
                                            connection,
                                            sums.stream()
                                                    .mapToLong(s -> s.before()[at])
                                                    .toArray()));
                        }
                        statement.setArray(
                                15,
                                integers(
                                        connection,
                                        rows.stream().mapToInt(Integer::intValue).toArray()));
                        statement.setArray(
                                16,
                                longs(
                                        connection,
                                        oldest.stream().mapToLong(Walked.Oldest::lane).toArray()));
                        statement.setArray(
                                17,
                                connection.createArrayOf(
                                        "timestamptz",
                                        oldest.stream().map(Walked.Oldest::unreadAt).toArray()));
                        try (ResultSet row = statement.executeQuery()) {
                            row.next();
                            return row.getInt(1);
                        }
                    }
                });
    }

    private static Array integers(Connection connection, int[] elements) throws SQLException {
        return connection.unwrap(PGConnection.class).createArrayOf("int4", elements);
    }

    private static Array longs(Connection connection, long[] elements) throws SQLException {
        return connection.unwrap(PGConnection.class).createArrayOf("int8", elements);
    }
}
