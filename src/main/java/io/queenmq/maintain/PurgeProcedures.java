package io.queenmq.maintain;

import io.queenmq.db.Database;
import io.queenmq.db.Rows;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The steps of erasing a tenant, each a transaction of its own. */
final class PurgeProcedures {
    /** What is next to be removed of a tenant. */
    enum Left {
        /** First, for one that fires makes its queue again. */
        TIMERS,
        /** That are to be deleted. */
        QUEUES,
        /** Of deleted queues. */
        LANES,
        /** Of lanes that are gone. */
        SEGMENTS,
        /** Keys, traces, history, quotas. */
        OTHERS,
        NOTHING
    }

    /**
     * A purge that is under way.
     *
     * @param deletedQueueId a deleted queue of the tenant; null = there is none
     * @param walkedEpoch where the walk through the epochs is; null = it has not begun
     * @param walkedLane in that epoch
     */
    record Next(
            UUID tenant,
            Left left,
            @Nullable Integer deletedQueueId,
            @Nullable Integer walkedEpoch,
            long walkedLane) {}

    /**
     * A step through the epochs.
     *
     * @param epoch where it came to; null = it was the last
     * @param waits an epoch has to be dropped first
     */
    record Walked(@Nullable Integer epoch, long lane, int removed, boolean waits) {}

    /**
     * Queues that are deleted now.
     *
     * @param rows other rows that were removed
     */
    record Deleted(List<Integer> queueIds, int rows) {}

    private final Database database;

    PurgeProcedures(Database database) {
        this.database = database;
    }

    private interface Binding {
        void to(PreparedStatement statement) throws SQLException;
    }

    private <T> List<T> call(String name, String sql, Binding binding, Rows.Reader<T> reader) {
        return database.call(
                name,
                session -> {
                    try (PreparedStatement statement = session.connection().prepareStatement(sql)) {
                        binding.to(statement);
                        return Rows.list(statement, reader);
                    }
                });
    }

    private int rows(String name, String sql, UUID tenant, int rowsMax) {
        return call(
                        name,
                        sql,
                        statement -> {
                            statement.setObject(1, tenant);
                            statement.setInt(2, rowsMax);
                        },
                        row -> row.getInt(1))
                .getFirst();
    }

    /**
     * @param allowDefault whether the tenant may be that of those without one
     */
    PurgeState order(UUID tenant, boolean allowDefault) {
        return call(
                        "order_purge",
                        "select left_over, queues, timers, segments, others, ordered_at, done_at"
                                + " from queen_store.order_purge(?, ?)",
                        statement -> {
                            statement.setObject(1, tenant);
                            statement.setBoolean(2, allowDefault);
                        },
                        row ->
                                new PurgeState(
                                        row.getString(1),
                                        row.getLong(2),
                                        row.getLong(3),
                                        row.getLong(4),
                                        row.getLong(5),
                                        row.getObject(6, OffsetDateTime.class).toInstant(),
                                        instant(row)))
                .getFirst();
    }

    private static Optional<Instant> instant(ResultSet row) throws SQLException {
        return Optional.ofNullable(row.getObject(7, OffsetDateTime.class))
                .map(OffsetDateTime::toInstant);
    }

    boolean hasPurges() {
        return call(
                        "has_purges",
                        "select queen_store.has_purges()",
                        statement -> {},
                        row -> row.getBoolean(1))
                .getFirst();
    }

    /**
     * A purge that is under way; empty = there is none.
     *
     * @param after of a tenant behind this one; null = the first
     */
    Optional<Next> next(@Nullable UUID after) {
        return call(
                        "next_purge",
                        "select tenant_id, upper(left_over), deleted_queue_id, walked_epoch,"
                                + " walked_partition_id from queen_store.next_purge(?)",
                        statement -> statement.setObject(1, after),
                        row ->
                                new Next(
                                        row.getObject(1, UUID.class),
                                        Left.valueOf(row.getString(2)),
                                        row.getObject(3, Integer.class),
                                        row.getObject(4, Integer.class),
                                        row.getLong(5)))
                .stream()
                .findFirst();
    }

    int removeTimers(UUID tenant, int rowsMax) {
        return rows("purge_timers", "select queen_store.purge_timers(?, ?)", tenant, rowsMax);
    }

    int removeOthers(UUID tenant, int rowsMax) {
        return rows("purge_others", "select queen_store.purge_others(?, ?)", tenant, rowsMax);
    }

    Deleted deleteQueues(UUID tenant, int rowsMax) {
        return call(
                        "purge_queues",
                        "select queue_ids, removed from queen_store.purge_queues(?, ?)",
                        statement -> {
                            statement.setObject(1, tenant);
                            statement.setInt(2, rowsMax);
                        },
                        row ->
                                new Deleted(
                                        List.of((Integer[]) row.getArray(1).getArray()),
                                        row.getInt(2)))
                .getFirst();
    }

    Walked removeSegments(Next from, int lanesMax, int rowsMax) {
        return call(
                        "purge_segments",
                        "select epoch, partition_id, removed, waits"
                                + " from queen_store.purge_segments(?, ?, ?, ?)",
                        statement -> {
                            statement.setObject(1, from.walkedEpoch());
                            statement.setLong(2, from.walkedLane());
                            statement.setInt(3, lanesMax);
                            statement.setInt(4, rowsMax);
                        },
                        row ->
                                new Walked(
                                        row.getObject(1, Integer.class),
                                        row.getLong(2),
                                        row.getInt(3),
                                        row.getBoolean(4)))
                .getFirst();
    }

    /**
     * Says what a step has removed.
     *
     * @param walked null = it was none through the epochs
     * @return whether nothing is left
     */
    boolean note(UUID tenant, long queues, long timers, long others, @Nullable Walked walked) {
        return call(
                        "note_purge",
                        "select queen_store.note_purge(?, ?, ?, ?, ?, ?, ?, ?)",
                        statement -> {
                            statement.setObject(1, tenant);
                            statement.setLong(2, queues);
                            statement.setLong(3, timers);
                            statement.setLong(4, walked == null ? 0 : walked.removed());
                            statement.setLong(5, others);
                            statement.setObject(6, walked == null ? null : walked.epoch() == null);
                            statement.setObject(7, walked == null ? null : walked.epoch());
                            statement.setObject(8, walked == null ? null : walked.lane());
                        },
                        row -> row.getBoolean(1))
                .getFirst();
    }
}
