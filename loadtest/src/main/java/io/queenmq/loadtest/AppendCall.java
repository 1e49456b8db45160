package io.queenmq.loadtest;

import java.nio.ByteBuffer;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
import org.postgresql.PGConnection;

/**
 * {@code queen_store.append} over JDBC for lanes that stay the same, with frames built beforehand
 * and no duplicates to look for.
 */
final class AppendCall implements BundleCall {
    private final PGConnection arrays;
    private final PreparedStatement statement;
    private final Rng rng = Rng.seeded();
    private final int lanes;
    private final int messagesPerLane;

    /**
     * @param lanes numbers, ascending
     */
    AppendCall(Connection connection, long[] lanes, int messagesPerLane) throws SQLException {
        this.lanes = lanes.length;
        this.messagesPerLane = messagesPerLane;
        // The driver's own interface takes primitive arrays, which it sends as binary.
        this.arrays = connection.unwrap(PGConnection.class);
        this.statement =
                connection.prepareStatement(
                        "select verdict from queen_store.append(?, ?, ?, ?, ?, ?, ?, ?, ?, false)");
        long[] vouchedTo = new long[lanes.length];
        Arrays.fill(vouchedTo, Long.MAX_VALUE);
        int[] ordinals = new int[lanes.length];
        Arrays.setAll(ordinals, i -> i + 1);
        int[] counts = new int[lanes.length];
        Arrays.fill(counts, messagesPerLane);
        statement.setArray(1, arrays.createArrayOf("int8", lanes));
        statement.setArray(3, arrays.createArrayOf("int8", new long[lanes.length]));
        statement.setArray(4, arrays.createArrayOf("int8", vouchedTo));
        statement.setArray(5, arrays.createArrayOf("int8", new Long[lanes.length]));
        statement.setArray(6, arrays.createArrayOf("int4", ordinals));
        statement.setArray(7, arrays.createArrayOf("int4", counts));
    }

    /** One segment per lane, under keys that nobody has seen. */
    @Override
    public void store(byte[][] frames) throws SQLException {
        long[] flushIds = new long[lanes];
        Arrays.setAll(flushIds, i -> rng.next());
        statement.setArray(2, arrays.createArrayOf("int8", flushIds));
        statement.setArray(8, bytes(keys()));
        statement.setArray(9, bytes(frames));
        int queued = 0;
        try (ResultSet rows = statement.executeQuery()) {
            while (rows.next()) {
                if ("queued".equals(rows.getString(1))) {
                    queued++;
                }
            }
        }
        if (queued != lanes) {
            throw new SQLException("append stored " + queued + " of " + lanes + " lane-batches");
        }
    }

    private Array bytes(byte[][] values) throws SQLException {
        return arrays.createArrayOf("bytea", values);
    }

    /** Fresh transaction ids for every message, as every client sends them. */
    private byte[][] keys() {
        byte[][] keys = new byte[lanes][];
        for (int lane = 0; lane < lanes; lane++) {
            keys[lane] = keys(messagesPerLane, rng);
        }
        return keys;
    }

    private static byte[] keys(int messages, Rng rng) {
        ByteBuffer buffer = ByteBuffer.allocate(16 * messages);
        for (int i = 0; i < messages; i++) {
            buffer.putLong(rng.uuidHigh()).putLong(rng.uuidLow());
        }
        return buffer.array();
    }

    /** A directory of end offsets, then per message a flags byte (none set) and the payload. */
    static byte[] frames(int lane, long firstSequence, int messages, int bytes, Payload payload) {
        Bytes content = new Bytes(messages * (bytes + 1));
        ByteBuffer directory = ByteBuffer.allocate(4 * messages);
        for (int i = 0; i < messages; i++) {
            content.add((byte) 0);
            payload.render(content, lane, firstSequence + i, 0);
            directory.putInt(content.size());
        }
        return ByteBuffer.allocate(directory.capacity() + content.size())
                .put(directory.array())
                .put(content.array(), 0, content.size())
                .array();
    }

    @Override
    public void close() throws SQLException {
        statement.close();
    }
}
