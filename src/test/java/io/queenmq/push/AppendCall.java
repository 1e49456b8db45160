package io.queenmq.push;

import io.queenmq.model.Slice;
import io.queenmq.segment.Frame;
import io.queenmq.segment.FrameWriter;
import io.queenmq.segment.Segment;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** One call of {@code queen_store.append}, lane-batch by lane-batch. */
final class AppendCall {
    private final List<Long> partitions = new ArrayList<>();
    private final List<Long> flushIds = new ArrayList<>();
    private final List<Long> vouchedFrom = new ArrayList<>();
    private final List<Long> vouchedTo = new ArrayList<>();
    private final List<@Nullable Long> settleAbove = new ArrayList<>();
    private final List<Integer> segmentLanes = new ArrayList<>();
    private final List<Integer> segmentCounts = new ArrayList<>();
    private final List<byte[]> keys = new ArrayList<>();
    private final List<byte[]> frames = new ArrayList<>();

    /** What became of one lane-batch. */
    record Verdict(
            int ordinal,
            String verdict,
            @Nullable Long baseOffset,
            @Nullable Timestamp createdAt,
            @Nullable Integer queueId,
            @Nullable Long lastOffset,
            List<Integer> positions,
            List<Long> offsets,
            List<UUID> ids) {}

    static Frame message(String transactionId) {
        return Frame.of(
                transactionId, null, null, Slice.utf8("{\"of\":\"" + transactionId + "\"}"));
    }

    static List<Frame> messages(String... transactionIds) {
        return Arrays.stream(transactionIds).map(AppendCall::message).toList();
    }

    static AppendCall of(long partition, String... transactionIds) {
        return new AppendCall().lane(partition, partition, messages(transactionIds));
    }

    /** A lane-batch that vouches for nothing. */
    AppendCall lane(long partition, long flushId, List<Frame> messages) {
        return lane(partition, flushId, 1, 0, null, messages);
    }

    AppendCall lane(
            long partition,
            long flushId,
            long from,
            long to,
            @Nullable Long settle,
            List<Frame> messages) {
        partitions.add(partition);
        flushIds.add(flushId);
        vouchedFrom.add(from);
        vouchedTo.add(to);
        settleAbove.add(settle);
        for (Segment segment : FrameWriter.segments(messages)) {
            segment(partitions.size(), segment.messageCount(), segment.keys(), segment.frames());
        }
        return this;
    }

    AppendCall segment(int lane, int count, byte[] segmentKeys, byte[] segmentFrames) {
        segmentLanes.add(lane);
        segmentCounts.add(count);
        keys.add(segmentKeys);
        frames.add(segmentFrames);
        return this;
    }

    /** Calls it without waiting. */
    List<Verdict> run(Connection connection) throws SQLException {
        return verdicts(connection, "select * from queen_store.append(%s, false)", null);
    }

    List<Verdict> runWaiting(Connection connection) throws SQLException {
        return verdicts(connection, "select * from queen_store.append(%s, true)", null);
    }

    List<Verdict> runWaiting(Connection connection, int lockTimeoutMillis) throws SQLException {
        return verdicts(
                connection, "select * from queen_store.append_waiting(%s, ?)", lockTimeoutMillis);
    }

    /** The only verdict of a call of one lane. */
    Verdict runAlone(Connection connection) throws SQLException {
        return run(connection).getFirst();
    }

    private List<Verdict> verdicts(Connection connection, String sql, @Nullable Integer last)
            throws SQLException {
        try (PreparedStatement statement = prepare(connection, sql)) {
            if (last != null) {
                statement.setInt(10, last);
            }
            List<Verdict> verdicts = new ArrayList<>();
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    verdicts.add(
                            new Verdict(
                                    rows.getInt(1),
                                    rows.getString(2),
                                    (Long) rows.getObject(3),
                                    rows.getTimestamp(4),
                                    (Integer) rows.getObject(5),
                                    (Long) rows.getObject(6),
                                    list(rows, 7, Integer.class),
                                    list(rows, 8, Long.class),
                                    list(rows, 9, UUID.class)));
                }
            }
            verdicts.sort(Comparator.comparingInt(Verdict::ordinal));
            return verdicts;
        }
    }

    /** The statement with its nine arrays set; {@code %s} stands for their places. */
    PreparedStatement prepare(Connection connection, String sql) throws SQLException {
        PreparedStatement statement =
                connection.prepareStatement(String.format(sql, "?, ?, ?, ?, ?, ?, ?, ?, ?"));
        statement.setArray(1, connection.createArrayOf("int8", partitions.toArray()));
        statement.setArray(2, connection.createArrayOf("int8", flushIds.toArray()));
        statement.setArray(3, connection.createArrayOf("int8", vouchedFrom.toArray()));
        statement.setArray(4, connection.createArrayOf("int8", vouchedTo.toArray()));
        statement.setArray(5, connection.createArrayOf("int8", settleAbove.toArray()));
        statement.setArray(6, connection.createArrayOf("int4", segmentLanes.toArray()));
        statement.setArray(7, connection.createArrayOf("int4", segmentCounts.toArray()));
        statement.setArray(8, connection.createArrayOf("bytea", keys.toArray(byte[][]::new)));
        statement.setArray(9, connection.createArrayOf("bytea", frames.toArray(byte[][]::new)));
        return statement;
    }

    private static <T> List<T> list(ResultSet rows, int column, Class<T> type) throws SQLException {
        Array array = rows.getArray(column);
        return array == null
                ? List.of()
                : Arrays.stream((Object[]) array.getArray()).map(type::cast).toList();
    }
}
