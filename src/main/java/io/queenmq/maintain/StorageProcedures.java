package io.queenmq.maintain;

import io.queenmq.db.Database;
import io.queenmq.db.Rows;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Steps that keep the storage small, by the clock of the database. */
final class StorageProcedures {
    /**
     * A step of expiry.
     *
     * @param lastQueueId the next step begins behind this queue; null = the round is complete
     * @param segments that messages went from, like the bytes an estimate where they are very many
     * @param bytes before compression
     * @param queueIds whose lanes these were
     */
    record Expired(
            int lanes,
            long retention,
            long completed,
            long evicted,
            @Nullable Integer lastQueueId,
            long segments,
            long bytes,
            List<Integer> queueIds) {}

    /** A step behind a deleted queue; 0 = no more can be done there now. */
    record Cleaned(int queueId, long removed) {}

    /** A group that may have cursors of generations before this one. */
    record Stale(int groupId, int generation) {}

    /**
     * A step behind a group.
     *
     * @param lastName the next step begins behind this lane; null = there are no more
     * @param clean nothing was left, from the first step on
     */
    record Swept(@Nullable String lastName, long removed, boolean clean) {}

    /** The lane that a walk by time of last write came to. */
    record Idle(Instant lastWriteAt, long id) {
        static final Idle FIRST = new Idle(Instant.EPOCH, 0);
    }

    /**
     * A step over idle lanes.
     *
     * @param last null = there are no more
     * @param queueIds the queues that lost lanes
     */
    record Removed(int lanes, @Nullable Idle last, List<Integer> queueIds) {}

    private final Database database;

    StorageProcedures(Database database) {
        this.database = database;
    }

    /** Values of a call, and what becomes of its one row. */
    private interface Row<T extends @Nullable Object> {
        T read(ResultSet row) throws SQLException;
    }

    private <T extends @Nullable Object> T call(
            String name, String sql, Row<T> row, @Nullable Object... arguments) {
        return database.call(
                name,
                session -> {
                    try (PreparedStatement statement = session.connection().prepareStatement(sql)) {
                        for (int i = 0; i < arguments.length; i++) {
                            statement.setObject(i + 1, arguments[i]);
                        }
                        try (ResultSet rows = statement.executeQuery()) {
                            return row.read(rows);
                        }
                    }
                });
    }

    private boolean asked(String name, String sql, @Nullable Object... arguments) {
        return call(name, sql, rows -> rows.next() && rows.getBoolean(1), arguments);
    }

    private int counted(String name, String sql, @Nullable Object... arguments) {
        return call(name, sql, rows -> rows.next() ? rows.getInt(1) : 0, arguments);
    }

    boolean hasExpired() {
        return asked("has_expired", "select queen_store.has_expired(clock_timestamp())");
    }

    Expired expire(int afterQueueId, int lanesMax) {
        return call(
                "expire",
                "select lanes, retention, completed_retention, max_wait_time_eviction,"
                        + " last_queue_id, segments, bytes, queue_ids"
                        + " from queen_store.expire(clock_timestamp(), ?, ?)",
                rows -> {
                    rows.next();
                    return new Expired(
                            rows.getInt(1),
                            rows.getLong(2),
                            rows.getLong(3),
                            rows.getLong(4),
                            rows.getObject(5, Integer.class),
                            rows.getLong(6),
                            rows.getLong(7),
                            integers(rows, 8));
                },
                afterQueueId,
                lanesMax);
    }

    private static List<Integer> integers(ResultSet row, int column) throws SQLException {
        return List.of((Integer[]) row.getArray(column).getArray());
    }

    boolean hasRemains() {
        return asked("has_remains", "select queen_store.has_remains()");
    }

    /** Null = there is no deleted queue behind that number. */
    @Nullable Cleaned cleanDeletedQueue(int afterQueueId, int lanesMax) {
        return call(
                "clean_deleted_queue",
                "select queue_id, removed from queen_store.clean_deleted_queue(?, ?)",
                rows -> rows.next() ? new Cleaned(rows.getInt(1), rows.getLong(2)) : null,
                afterQueueId,
                lanesMax);
    }

    @Nullable Stale staleGroup(int afterGroupId) {
        return call(
                "stale_group",
                "select group_id, generation from queen_store.stale_group(?)",
                rows -> rows.next() ? new Stale(rows.getInt(1), rows.getInt(2)) : null,
                afterGroupId);
    }

    Swept sweepCursors(Stale group, String afterName, boolean clean, int lanesMax) {
        return call(
                "sweep_cursors",
                "select last_name, removed, clean from queen_store.sweep_cursors(?, ?, ?, ?, ?)",
                rows -> {
                    rows.next();
                    return new Swept(rows.getString(1), rows.getLong(2), rows.getBoolean(3));
                },
                group.groupId(),
                group.generation(),
                afterName,
                clean,
                lanesMax);
    }

    boolean hasIdleLanes(Duration age) {
        return asked(
                "has_idle_lanes",
                "select queen_store.has_idle_lanes(clock_timestamp() - make_interval(secs => ?))",
                age.toSeconds());
    }

    Removed removeIdleLanes(Duration age, Idle after, int lanesMax) {
        return call(
                "remove_idle_lanes",
                "select removed, last_write_at, last_id, queue_ids"
                        + " from queen_store.remove_idle_lanes("
                        + "clock_timestamp(), clock_timestamp() - make_interval(secs => ?),"
                        + " ?, ?, ?)",
                rows -> {
                    rows.next();
                    OffsetDateTime last = rows.getObject(2, OffsetDateTime.class);
                    return new Removed(
                            rows.getInt(1),
                            last == null ? null : new Idle(last.toInstant(), rows.getLong(3)),
                            integers(rows, 4));
                },
                age.toSeconds(),
                after.lastWriteAt().atOffset(ZoneOffset.UTC),
                after.id(),
                lanesMax);
    }

    boolean hasLeftovers(Duration historyAge) {
        return asked(
                "has_leftovers",
                "select queen_store.has_leftovers(clock_timestamp() - make_interval(secs => ?))",
                historyAge.toSeconds());
    }

    boolean hasOldBuckets(Duration historyAge) {
        return asked(
                "has_old_buckets",
                "select queen_store.has_old_buckets(clock_timestamp() - make_interval(secs => ?))",
                historyAge.toSeconds());
    }

    int sweepBuckets(Duration historyAge, int rowsMax) {
        return counted(
                "sweep_buckets",
                "select queen_store.sweep_buckets("
                        + "clock_timestamp() - make_interval(secs => ?), ?)",
                historyAge.toSeconds(),
                rowsMax);
    }

    int sweepLeases(int rowsMax) {
        return counted("sweep_leases", "select queen_store.sweep_leases(?)", rowsMax);
    }

    int sweepBundles(int rowsMax) {
        return counted("sweep_bundles", "select queen_store.sweep_bundles(?)", rowsMax);
    }

    /**
     * Keys that wait to be removed, and for how long the first one has.
     *
     * @param nextFrom where another look may begin that need not see everything; null = only at the
     *     beginning
     */
    record KvBacklog(int expired, double lagSeconds, @Nullable OffsetDateTime nextFrom) {
        static final KvBacklog NONE = new KvBacklog(0, 0, null);
    }

    /** Looks from there on; null = from the beginning. */
    KvBacklog kvBacklog(int most, @Nullable OffsetDateTime from) {
        return database.repeatable(
                "kv_backlog",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select expired, lag_seconds, next_from from"
                                                    + " queen_store.kv_backlog(clock_timestamp(),"
                                                    + " ?, ?)")) {
                        statement.setInt(1, most);
                        statement.setObject(2, from);
                        return Rows.only(
                                statement,
                                row ->
                                        new KvBacklog(
                                                row.getInt(1),
                                                row.getDouble(2),
                                                row.getObject(3, OffsetDateTime.class)));
                    }
                });
    }

    int pruneKv(int rowsMax, @Nullable OffsetDateTime from) {
        return counted(
                "prune_kv",
                "select queen_store.prune_kv(clock_timestamp(), ?, ?::timestamptz)",
                rowsMax,
                from);
    }

    boolean hasOldTraces(Duration age) {
        return asked(
                "has_old_traces",
                "select queen_store.has_old_traces(clock_timestamp() - make_interval(secs => ?))",
                age.toSeconds());
    }

    int removeOldTraces(Duration age, int notesMax) {
        return counted(
                "remove_old_traces",
                "select queen_store.remove_old_traces("
                        + "clock_timestamp() - make_interval(secs => ?), ?)",
                age.toSeconds(),
                notesMax);
    }

    int sweepHistory(Duration age, int rowsMax) {
        return counted(
                "sweep_history",
                "select queen_store.sweep_history("
                        + "clock_timestamp() - make_interval(secs => ?), ?)",
                age.toSeconds(),
                rowsMax);
    }
}
