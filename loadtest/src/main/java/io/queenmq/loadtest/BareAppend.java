package io.queenmq.loadtest;

import java.nio.ByteBuffer;
import java.sql.Array;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.postgresql.PGConnection;

/**
 * The baseline: the function that stores every push, called over JDBC with frames built beforehand.
 * No HTTP, no JSON, no duplicates to look for: what the database can take at the most.
 */
final class BareAppend {
    private static final UUID TENANT = UUID.fromString("00000000-0000-0000-0000-000000000001");
    private static final int LANES_PER_PROVISIONING = 256;
    private static final int BUNDLES = 16;

    private final String jdbcUrl;
    private final String queue;

    /**
     * @param calls append calls that were committed
     * @param messages messages in them
     */
    record Result(long calls, long messages, double seconds) {
        double perSecond() {
            return messages / seconds;
        }
    }

    BareAppend(String jdbcUrl, String queue) {
        // Binary from the first call on, as the broker does it.
        this.jdbcUrl = jdbcUrl + (jdbcUrl.contains("?") ? "&" : "?") + "prepareThreshold=-1";
        this.queue = queue;
    }

    /** Appends from several threads, each with its own connection and its own lanes. */
    Result run(int threads, int lanesPerCall, int messagesPerLane, int bytes, long nanos) {
        try (ExecutorService executor = Executors.newFixedThreadPool(threads)) {
            long[] lanes = provision(threads * lanesPerCall);
            List<Callable<Long>> tasks = new ArrayList<>();
            for (int i = 0; i < threads; i++) {
                long[] own = Arrays.copyOfRange(lanes, i * lanesPerCall, (i + 1) * lanesPerCall);
                Arrays.sort(own);
                tasks.add(() -> append(own, messagesPerLane, bytes, nanos));
            }
            long start = System.nanoTime();
            long calls = 0;
            for (Future<Long> done : executor.invokeAll(tasks)) {
                calls += done.get();
            }
            double seconds = (System.nanoTime() - start) / 1e9;
            return new Result(calls, calls * lanesPerCall * messagesPerLane, seconds);
        } catch (SQLException | ExecutionException e) {
            throw new IllegalStateException("baseline", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IllegalStateException(e);
        }
    }

    private long[] provision(int count) throws SQLException {
        long[] numbers = new long[count];
        try (Connection connection = DriverManager.getConnection(jdbcUrl);
                PreparedStatement statement =
                        connection.prepareStatement(
                                "select ordinal, verdict, partition_id"
                                        + " from queen_store.ensure_lanes(?, ?, ?)")) {
            for (int from = 0; from < count; from += LANES_PER_PROVISIONING) {
                int size = Math.min(LANES_PER_PROVISIONING, count - from);
                UUID[] tenants = new UUID[size];
                String[] queues = new String[size];
                String[] names = new String[size];
                Arrays.fill(tenants, TENANT);
                Arrays.fill(queues, queue);
                for (int i = 0; i < size; i++) {
                    names[i] = "bare-" + (from + i);
                }
                statement.setArray(1, connection.createArrayOf("uuid", tenants));
                statement.setArray(2, connection.createArrayOf("text", queues));
                statement.setArray(3, connection.createArrayOf("text", names));
                try (ResultSet rows = statement.executeQuery()) {
                    while (rows.next()) {
                        if (!"ready".equals(rows.getString("verdict"))) {
                            throw new SQLException("lane is " + rows.getString("verdict"));
                        }
                        numbers[from + rows.getInt("ordinal") - 1] = rows.getLong("partition_id");
                    }
                }
            }
        }
        return numbers;
    }

    private long append(long[] lanes, int messagesPerLane, int bytes, long nanos)
            throws SQLException {
        Rng rng = Rng.seeded();
        byte[][][] bundles = new byte[BUNDLES][][];
        for (int i = 0; i < BUNDLES; i++) {
            bundles[i] = frames(lanes.length, messagesPerLane, bytes, rng);
        }
        int count = lanes.length;
        long[] vouchedFrom = new long[count];
        long[] vouchedTo = new long[count];
        Arrays.fill(vouchedTo, Long.MAX_VALUE);
        int[] ordinals = new int[count];
        Arrays.setAll(ordinals, i -> i + 1);
        int[] counts = new int[count];
        Arrays.fill(counts, messagesPerLane);
        long until = System.nanoTime() + nanos;
        long calls = 0;
        try (Connection connection = DriverManager.getConnection(jdbcUrl);
                PreparedStatement statement =
                        connection.prepareStatement(
                                "select verdict from"
                                        + " queen_store.append(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")) {
            // The driver's own interface takes primitive arrays, which it sends as binary.
            PGConnection arrays = connection.unwrap(PGConnection.class);
            Array[] fixed = {
                arrays.createArrayOf("int8", lanes),
                arrays.createArrayOf("int8", vouchedFrom),
                arrays.createArrayOf("int8", vouchedTo),
                arrays.createArrayOf("int8", new Long[count]),
                arrays.createArrayOf("int4", ordinals),
                arrays.createArrayOf("int4", counts)
            };
            while (System.nanoTime() < until) {
                long[] flushIds = new long[count];
                Arrays.setAll(flushIds, i -> rng.next());
                statement.setArray(1, fixed[0]);
                statement.setArray(2, arrays.createArrayOf("int8", flushIds));
                statement.setArray(3, fixed[1]);
                statement.setArray(4, fixed[2]);
                statement.setArray(5, fixed[3]);
                statement.setArray(6, fixed[4]);
                statement.setArray(7, fixed[5]);
                statement.setArray(
                        8, arrays.createArrayOf("bytea", keys(count, messagesPerLane, rng)));
                statement.setArray(
                        9, arrays.createArrayOf("bytea", bundles[(int) (calls % BUNDLES)]));
                statement.setBoolean(10, false);
                expectQueued(statement, count);
                calls++;
            }
        }
        return calls;
    }

    private static void expectQueued(PreparedStatement statement, int count) throws SQLException {
        int queued = 0;
        try (ResultSet rows = statement.executeQuery()) {
            while (rows.next()) {
                if ("queued".equals(rows.getString(1))) {
                    queued++;
                }
            }
        }
        if (queued != count) {
            throw new SQLException("append stored " + queued + " of " + count + " lane-batches");
        }
    }

    /** Fresh transaction ids for every message, as every client sends them. */
    private static byte[][] keys(int lanes, int messages, Rng rng) {
        byte[][] keys = new byte[lanes][];
        for (int lane = 0; lane < lanes; lane++) {
            ByteBuffer buffer = ByteBuffer.allocate(16 * messages);
            for (int i = 0; i < messages; i++) {
                buffer.putLong(rng.uuidHigh()).putLong(rng.uuidLow());
            }
            keys[lane] = buffer.array();
        }
        return keys;
    }

    /** A directory of end offsets, then per message a flags byte (none set) and the payload. */
    private static byte[][] frames(int lanes, int messages, int bytes, Rng rng) {
        Payload payload = new Payload(Payload.Kind.ORDER, bytes, rng);
        byte[][] frames = new byte[lanes][];
        for (int lane = 0; lane < lanes; lane++) {
            Bytes content = new Bytes(messages * (bytes + 1));
            ByteBuffer directory = ByteBuffer.allocate(4 * messages);
            for (int i = 0; i < messages; i++) {
                content.add((byte) 0);
                payload.render(content, lane, i, 0);
                directory.putInt(content.size());
            }
            frames[lane] =
                    ByteBuffer.allocate(directory.capacity() + content.size())
                            .put(directory.array())
                            .put(content.array(), 0, content.size())
                            .array();
        }
        return frames;
    }
}
