package io.queenmq.ack;

import io.queenmq.count.Counts;
import io.queenmq.db.Database;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;

/** Calls the two ways to acknowledge, and the extension of leases. */
public final class AckProcedures {
    /** What became of a whole batch. */
    enum BatchVerdict {
        RELEASED,
        NOOP,
        BUSY,
        LOST
    }

    record BatchOutcome(BatchVerdict verdict, long lastOffset, @Nullable Long conflated) {}

    /** What became of one message. */
    enum MessageVerdict {
        DONE,
        NOOP,
        STALE,
        UNRESOLVABLE,
        /** Only of a transaction: the id is there, behind the leased batch. */
        BEYOND_BATCH,
        CONSUMER_NOT_FOUND,
        INVALID_LEASE,
        NOT_OWNED,
        NO_LEASED_BATCH,
        BUSY
    }

    record MessageOutcome(
            MessageVerdict verdict,
            boolean leaseReleased,
            boolean deadLettered,
            int groupId,
            int queueId,
            long committed,
            long lastOffset,
            @Nullable Long conflated,
            Change change) {}

    /** What an acknowledgement has changed of its group; the first of a unit says it for all. */
    record Change(int groupId, long passed, long ended, long filed) {
        void tell(Counts counts) {
            counts.moved(groupId, passed, 0, ended, filed);
        }
    }

    private static final String AT_ONCE = "queen_store.ack_messages(?, ?, ?, ?, ?, ?, ?, ?, false)";

    /** The setting holds for this statement only, and is made before the function waits. */
    private static final String PATIENTLY =
            "(select pg_catalog.set_config('lock_timeout', '250ms', true) as is_set offset 0) l"
                    + " cross join lateral queen_store.ack_messages"
                    + "(?, ?, ?, ?, ?, ?, ?, ?, l.is_set is not null)";

    private final Database database;
    private final Counts counts;

    AckProcedures(Database database, Counts counts) {
        this.database = database;
        this.counts = counts;
    }

    /** What the items of a unit were answered, for those who look back at the queue. */
    void answered(int queueId, AckUnit unit, List<AckResult> results) {
        long completed = 0;
        long failed = 0;
        long conflated = 0;
        for (int i = 0; i < results.size(); i++) {
            AckResult result = results.get(i);
            if (result.noop()) {
                continue;
            }
            if (result.success() && unit.statuses.get(i) == AckStatus.COMPLETED) {
                completed++;
            } else {
                failed++;
            }
            Long unread = result.conflated();
            conflated += unread == null ? 0 : unread;
        }
        counts.activities().acknowledged(queueId, completed, failed, conflated);
    }

    /** Whole batches by lease; one outcome per unit. */
    List<BatchOutcome> ackBatches(List<AckUnit> units) {
        BatchArguments arguments = BatchArguments.of(units);
        return database.call(
                "ack_batches",
                session -> {
                    Connection connection = session.connection();
                    try (PreparedStatement statement =
                            connection.prepareStatement(
                                    "select ordinal, verdict, last_offset, conflated, passed,"
                                            + " ended from queen_store.ack_batches(?, ?, ?, ?)")) {
                        bind(statement, 1, arguments);
                        @Nullable BatchOutcome[] outcomes = new BatchOutcome[units.size()];
                        try (ResultSet rows = statement.executeQuery()) {
                            while (rows.next()) {
                                int unit = rows.getInt(1) - 1;
                                counts.moved(
                                        arguments.groups()[unit],
                                        rows.getLong(5),
                                        0,
                                        rows.getLong(6),
                                        0);
                                outcomes[unit] =
                                        new BatchOutcome(
                                                BatchVerdict.valueOf(upper(rows, 2)),
                                                rows.getLong(3),
                                                number(rows, 4));
                            }
                        }
                        return complete(outcomes);
                    }
                });
    }

    /**
     * Single messages by key; one outcome per item, the items of the first unit first.
     *
     * @param patient waits for cursors that others hold, 250 ms each; else they are busy
     */
    List<MessageOutcome> ackMessages(List<AckUnit> units, boolean patient) {
        AckArguments arguments = AckArguments.of(units);
        int items = arguments.keys().length;
        return database.call(
                "ack_messages",
                session -> {
                    Connection connection = session.connection();
                    try (PreparedStatement statement =
                            connection.prepareStatement(
                                    "select item, verdict, lease_released, dead_lettered, group_id,"
                                            + " queue_id, committed, last_offset, conflated,"
                                            + " passed, ended, filed from "
                                            + (patient ? PATIENTLY : AT_ONCE))) {
                        statement.setArray(
                                1, connection.createArrayOf("uuid", arguments.tenants()));
                        statement.setArray(2, array(connection, "int8", arguments.lanes()));
                        statement.setArray(3, connection.createArrayOf("text", arguments.groups()));
                        statement.setArray(4, connection.createArrayOf("uuid", arguments.leases()));
                        statement.setArray(5, array(connection, "int4", arguments.unitOf()));
                        statement.setArray(6, connection.createArrayOf("bytea", arguments.keys()));
                        statement.setArray(
                                7, connection.createArrayOf("int2", arguments.statuses()));
                        statement.setArray(8, connection.createArrayOf("text", arguments.errors()));
                        @Nullable MessageOutcome[] outcomes = new MessageOutcome[items];
                        try (ResultSet rows = statement.executeQuery()) {
                            while (rows.next()) {
                                Change change =
                                        new Change(
                                                rows.getInt(5),
                                                rows.getLong(10),
                                                rows.getLong(11),
                                                rows.getLong(12));
                                change.tell(counts);
                                outcomes[rows.getInt(1) - 1] =
                                        new MessageOutcome(
                                                MessageVerdict.valueOf(upper(rows, 2)),
                                                rows.getBoolean(3),
                                                rows.getBoolean(4),
                                                rows.getInt(5),
                                                rows.getInt(6),
                                                rows.getLong(7),
                                                rows.getLong(8),
                                                number(rows, 9),
                                                change);
                            }
                        }
                        return complete(outcomes);
                    }
                });
    }

    /** Sets whole batches, wherever they stand in a call. */
    public static void bind(PreparedStatement statement, int from, BatchArguments batches)
            throws SQLException {
        Connection connection = statement.getConnection();
        statement.setArray(from, array(connection, "int8", batches.lanes()));
        statement.setArray(from + 1, array(connection, "int4", batches.groups()));
        statement.setArray(from + 2, connection.createArrayOf("uuid", batches.leases()));
        statement.setArray(from + 3, array(connection, "int8", batches.ends()));
    }

    /** The expiry of every lane's lease that lives on. */
    List<Instant> extend(UUID tenant, UUID leaseId, int seconds) {
        return database.call(
                "extend_lease",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select lease_expires_at"
                                                    + " from queen_store.extend_lease(?, ?, ?)")) {
                        statement.setObject(1, tenant);
                        statement.setObject(2, leaseId);
                        statement.setInt(3, seconds);
                        List<Instant> expiries = new ArrayList<>();
                        try (ResultSet rows = statement.executeQuery()) {
                            while (rows.next()) {
                                expiries.add(rows.getObject(1, OffsetDateTime.class).toInstant());
                            }
                        }
                        return expiries;
                    }
                });
    }

    private static Array array(Connection connection, String type, Object elements)
            throws SQLException {
        return connection.unwrap(PGConnection.class).createArrayOf(type, elements);
    }

    private static @Nullable Long number(ResultSet rows, int column) throws SQLException {
        long value = rows.getLong(column);
        return rows.wasNull() ? null : value;
    }

    private static String upper(ResultSet rows, int column) throws SQLException {
        return rows.getString(column).toUpperCase(Locale.ROOT);
    }

    private static <T> List<T> complete(@Nullable T[] outcomes) {
        List<T> all = new ArrayList<>(outcomes.length);
        for (T outcome : outcomes) {
            if (outcome == null) {
                throw new IllegalStateException("an ack was left without a verdict");
            }
            all.add(outcome);
        }
        return all;
    }
}
