package io.queenmq.loadtest;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;

/**
 * Lanes, cursors and messages that a benchmark finds when it begins. Messages go in through {@code
 * queen_store.append}, the one way there is; lanes by the procedure of the broker, or by plain SQL
 * where a million of them would take too long one by one.
 */
final class Lanes {
    private static final UUID TENANT = UUID.fromString("00000000-0000-0000-0000-000000000001");
    private static final int LANES_PER_PROVISIONING = 256;
    private static final int LANES_PER_CALL = 64;
    private static final int LANES_PER_WAKE = 500;

    private Lanes() {}

    /** Makes lanes as a first push would; their numbers in order of name. */
    static long[] provision(String jdbcUrl, String queue, String prefix, int count)
            throws SQLException {
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
                    names[i] = prefix + (from + i);
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

    static int queueNumber(Server server, String queue) {
        return (int)
                server.number(
                        "select id from queen_store.queues"
                                + " where tenant_id = ? and name = ? and deleted_at is null",
                        TENANT,
                        queue);
    }

    /**
     * Lanes that had one message long ago, which everybody has read and age has removed: lane-from
     * to lane-(to − 1).
     */
    static void idle(Server server, String queue, int from, int to) {
        server.update(
                """
                insert into queen_store.partitions
                    (queue_id, name, last_offset, log_start, created_at, last_write_at,
                     last_created_at)
                select ?, 'lane-' || n, 0, 1, t.at, t.at, t.at
                from generate_series(?, ? - 1) n
                cross join lateral (
                    select clock_timestamp() - interval '1 day' + n * interval '10 ms' as at) t
                """,
                queueNumber(server, queue),
                from,
                to);
    }

    /** A cursor at the end of each lane of a queue that has none yet, for a group that exists. */
    static void cursors(Server server, String queue, String group) {
        server.update(
                """
                insert into queen_store.cursors (partition_id, group_id, generation, committed)
                select p.id, g.id, g.generation, p.last_offset
                from queen_store.partitions p
                join queen_store.groups g on g.queue_id = p.queue_id and g.name = ?
                where p.queue_id = ?
                on conflict do nothing
                """,
                group,
                queueNumber(server, queue));
    }

    /** A group that begins at the oldest message. */
    static void group(Server server, String queue, String group) {
        server.number(
                "select group_id from queen_store.register_group(?, ?, ?, 'all', null, false)",
                TENANT,
                queue,
                group);
    }

    /** After many rows were made at once: statistics, visibility, and no dirty page left. */
    static void settle(Server server) {
        server.execute("vacuum (analyze) queen_store.partitions");
        server.execute("vacuum (analyze) queen_store.cursors");
        server.checkpoint();
    }

    private record Lane(int index, long number) {}

    /** What is stored in lanes of a queue, lane-0 and on. */
    record Content(
            int lanes, int messagesPerLane, int messagesPerSegment, Payload.Kind kind, int bytes) {}

    /** Stores messages that the verifier knows, from sequence number 0 on, and wakes the broker. */
    static void fill(Rig rig, String queue, Content content) throws SQLException {
        store(rig, queue, content, true);
    }

    /** Stores messages that nobody is to read. */
    static void keep(Rig rig, String queue, Content content) throws SQLException {
        store(rig, queue, content, false);
    }

    private static void store(Rig rig, String queue, Content content, boolean wake)
            throws SQLException {
        String url = rig.jdbcUrl() + "&prepareThreshold=-1";
        Payload payload = new Payload(content.kind(), content.bytes(), Rng.seeded());
        List<Lane> lanes = new ArrayList<>();
        for (long number : provision(url, queue, "lane-", content.lanes())) {
            lanes.add(new Lane(lanes.size(), number));
        }
        // append wants its lanes in order of their numbers, which is not that of their names.
        lanes.sort(Comparator.comparingLong(Lane::number));
        try (Connection connection = DriverManager.getConnection(url)) {
            for (int from = 0; from < content.lanes(); from += LANES_PER_CALL) {
                int to = Math.min(content.lanes(), from + LANES_PER_CALL);
                fill(connection, lanes.subList(from, to), content, payload);
            }
            for (int from = 0; wake && from < content.lanes(); from += LANES_PER_WAKE) {
                int to = Math.min(content.lanes(), from + LANES_PER_WAKE);
                wake(connection, numbers(lanes.subList(from, to)));
            }
        }
    }

    private static void fill(
            Connection connection, List<Lane> lanes, Content content, Payload payload)
            throws SQLException {
        int each = Math.min(content.messagesPerSegment(), content.messagesPerLane());
        byte[][] frames = new byte[lanes.size()][];
        try (AppendCall call = new AppendCall(connection, numbers(lanes), each)) {
            for (int sequence = 0; sequence + each <= content.messagesPerLane(); sequence += each) {
                for (int i = 0; i < frames.length; i++) {
                    int lane = lanes.get(i).index();
                    frames[i] = AppendCall.frames(lane, sequence, each, content.bytes(), payload);
                }
                call.store(frames);
            }
        }
    }

    private static long[] numbers(List<Lane> lanes) {
        return lanes.stream().mapToLong(Lane::number).toArray();
    }

    private static void wake(Connection connection, long[] numbers) throws SQLException {
        try (PreparedStatement statement =
                connection.prepareStatement("select queen.wake(?, null)")) {
            Long[] boxed = Arrays.stream(numbers).boxed().toArray(Long[]::new);
            statement.setArray(1, connection.createArrayOf("int8", boxed));
            statement.execute();
        }
    }
}
