package io.queenmq.push;

import io.queenmq.db.Database;
import io.queenmq.dedup.KeyMemory;
import io.queenmq.model.Ids;
import java.sql.Array;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;

/** The calls that store messages, and those that look for the keys of stored ones. */
final class PushProcedures {
    private static final String APPEND =
            "select ordinal, verdict, base_offset, created_at, queue_id, duplicate_positions,"
                    + " duplicate_ids from queen_store.append(?, ?, ?, ?, ?, ?, ?, ?, ?, false)";
    private static final String APPEND_WAITING =
            "select ordinal, verdict, base_offset, created_at, queue_id, duplicate_positions,"
                    + " duplicate_ids from queen_store.append_waiting(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    private static final String READ_KEYS =
            "select base_offset, end_offset, created_at, keys,"
                    + " created_at >= clock_timestamp() - make_interval(secs => ?)"
                    + " from queen_store.read_keys(?, 0, ?, ?, ?)";
    private static final String MESSAGE_IDS =
            "select o.ordinal, m.message_id from unnest(?) with ordinality as o(\"offset\", ordinal)"
                    + " join queen_store.partitions p on p.id = ? and p.log_start <= o.offset"
                    + " cross join lateral queen_store.message_at(p.id, o.offset) m";

    /**
     * A segment's worth of a lane's keys.
     *
     * @param inWindow whether they count, by the clock of the server, which alone decides that
     */
    record KeyPage(
            long baseOffset, long endOffset, long createdMillis, byte[] keys, boolean inWindow) {}

    private final Database database;
    private final KeyMemory memory;
    private final ServerWatch servers;

    PushProcedures(Database database, KeyMemory memory, ServerWatch servers) {
        this.database = database;
        this.memory = memory;
        this.servers = servers;
    }

    /**
     * One call for lane-batches of distinct lanes.
     *
     * @param settle whether each may be stored already, its answer lost
     * @return one verdict per lane-batch, in their order
     */
    List<PushVerdict> append(List<Attempt> attempts, boolean settle) {
        return database.call(
                "append",
                session -> {
                    servers.check(session);
                    try (PreparedStatement statement =
                            session.connection().prepareStatement(APPEND)) {
                        bind(statement, attempts, settle);
                        return verdicts(statement, attempts.size());
                    }
                });
    }

    /** The same for one lane-batch, waiting for its lane for at most so long. */
    PushVerdict appendWaiting(Attempt attempt, long lockTimeoutMs) {
        return database.call(
                "append_waiting",
                session -> {
                    servers.check(session);
                    try (PreparedStatement statement =
                            session.connection().prepareStatement(APPEND_WAITING)) {
                        bind(statement, List.of(attempt), false);
                        statement.setInt(10, (int) lockTimeoutMs);
                        return verdicts(statement, 1).getFirst();
                    }
                });
    }

    /** Keys of a lane up to an offset, newest first, at most {@code limit} segments. */
    List<KeyPage> readKeys(
            long number, int windowSeconds, long toOffset, long sinceMillis, int limit) {
        return database.call(
                "read_keys",
                session -> {
                    servers.check(session);
                    try (PreparedStatement statement =
                            session.connection().prepareStatement(READ_KEYS)) {
                        statement.setInt(1, windowSeconds);
                        statement.setLong(2, number);
                        statement.setLong(3, toOffset);
                        statement.setTimestamp(4, new Timestamp(sinceMillis));
                        statement.setInt(5, limit);
                        try (ResultSet result = statement.executeQuery()) {
                            List<KeyPage> pages = new ArrayList<>();
                            while (result.next()) {
                                pages.add(
                                        new KeyPage(
                                                result.getLong(1),
                                                result.getLong(2),
                                                result.getTimestamp(3).getTime(),
                                                result.getBytes(4),
                                                result.getBoolean(5)));
                            }
                            return pages;
                        }
                    }
                });
    }

    /** Ids of stored messages; nil where one is gone. */
    UUID[] messageIds(long number, long[] offsets) {
        return database.call(
                "message_at",
                session -> {
                    try (PreparedStatement statement =
                            session.connection().prepareStatement(MESSAGE_IDS)) {
                        PGConnection arrays = session.connection().unwrap(PGConnection.class);
                        statement.setArray(1, arrays.createArrayOf("int8", offsets));
                        statement.setLong(2, number);
                        UUID[] ids = new UUID[offsets.length];
                        Arrays.fill(ids, Ids.NIL);
                        try (ResultSet result = statement.executeQuery()) {
                            while (result.next()) {
                                UUID id = result.getObject(2, UUID.class);
                                if (id != null) {
                                    ids[result.getInt(1) - 1] = id;
                                }
                            }
                        }
                        return ids;
                    }
                });
    }

    private void bind(PreparedStatement statement, List<Attempt> attempts, boolean settle)
            throws SQLException {
        AppendArguments arguments = AppendArguments.of(attempts, memory, settle);
        PGConnection arrays = statement.getConnection().unwrap(PGConnection.class);
        statement.setArray(1, arrays.createArrayOf("int8", arguments.lanes()));
        statement.setArray(2, arrays.createArrayOf("int8", arguments.flushIds()));
        statement.setArray(3, arrays.createArrayOf("int8", arguments.vouchedFrom()));
        statement.setArray(4, arrays.createArrayOf("int8", arguments.vouchedTo()));
        statement.setArray(5, arrays.createArrayOf("int8", arguments.settleAbove()));
        statement.setArray(6, arrays.createArrayOf("int4", arguments.segmentLanes()));
        statement.setArray(7, arrays.createArrayOf("int4", arguments.segmentCounts()));
        statement.setArray(8, arrays.createArrayOf("bytea", arguments.keys()));
        statement.setArray(9, arrays.createArrayOf("bytea", arguments.frames()));
    }

    private static List<PushVerdict> verdicts(PreparedStatement statement, int lanes)
            throws SQLException {
        @Nullable PushVerdict[] verdicts = new @Nullable PushVerdict[lanes];
        try (ResultSet row = statement.executeQuery()) {
            while (row.next()) {
                verdicts[row.getInt(1) - 1] = verdict(row);
            }
        }
        List<PushVerdict> all = new ArrayList<>(lanes);
        for (PushVerdict verdict : verdicts) {
            if (verdict == null) {
                throw new IllegalStateException("append left a lane without a verdict");
            }
            all.add(verdict);
        }
        return all;
    }

    private static PushVerdict verdict(ResultSet row) throws SQLException {
        String verdict = row.getString(2);
        return switch (verdict) {
            case "queued" ->
                    new PushVerdict.Queued(
                            row.getLong(3), row.getTimestamp(4).getTime(), row.getInt(5));
            case "duplicate" ->
                    new PushVerdict.Duplicates(ints(row.getArray(6)), uuids(row.getArray(7)));
            case "cold" -> new PushVerdict.Cold();
            case "busy" -> new PushVerdict.Busy();
            case "unknown_partition" -> new PushVerdict.UnknownPartition();
            default -> throw new IllegalStateException("append said " + verdict);
        };
    }

    private static int[] ints(Array array) throws SQLException {
        Integer[] boxed = (Integer[]) array.getArray();
        int[] values = new int[boxed.length];
        for (int i = 0; i < values.length; i++) {
            values[i] = boxed[i];
        }
        return values;
    }

    private static UUID[] uuids(Array array) throws SQLException {
        return (UUID[]) array.getArray();
    }
}
