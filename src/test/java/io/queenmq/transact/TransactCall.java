package io.queenmq.transact;

import io.queenmq.model.Caller;
import io.queenmq.model.Slice;
import io.queenmq.segment.Frame;
import io.queenmq.segment.FrameWriter;
import io.queenmq.segment.MessageKey;
import io.queenmq.segment.Segment;
import io.queenmq.testkit.LogFixture.Item;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/** One call of {@code queen_store.transact}, part by part. */
final class TransactCall {
    private static final String CALL =
            "select part, ordinal, verdict, base_offset, lease_released, dead_lettered from"
                    + " queen_store.transact(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
                    + " ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1000000, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
                    + " 'someone', 2000)";

    /** Of the timers of all calls. */
    static final String TIMER_QUEUE = "later";

    private UUID id = UUID.randomUUID();
    private UUID tenant = Caller.DEFAULT_TENANT;
    private boolean settle;
    private final List<Long> lanes = new ArrayList<>();
    private final List<Long> flushIds = new ArrayList<>();
    private final List<Integer> segmentLanes = new ArrayList<>();
    private final List<Integer> segmentCounts = new ArrayList<>();
    private final List<byte[]> keys = new ArrayList<>();
    private final List<byte[]> frames = new ArrayList<>();
    private final List<Long> ackLanes = new ArrayList<>();
    private final List<String> ackGroups = new ArrayList<>();
    private final List<@Nullable UUID> ackLeases = new ArrayList<>();
    private final List<UUID> supplied = new ArrayList<>();
    private final List<Integer> ackUnits = new ArrayList<>();
    private final List<Item> items = new ArrayList<>();

    private final List<Long> batchLanes = new ArrayList<>();
    private final List<Integer> batchGroups = new ArrayList<>();
    private final List<UUID> batchLeases = new ArrayList<>();
    private final List<Long> batchEnds = new ArrayList<>();

    private final List<String> keyOps = new ArrayList<>();
    private final List<String> keyNames = new ArrayList<>();
    private final List<@Nullable Long> keyExpects = new ArrayList<>();
    private final List<Boolean> keysRequired = new ArrayList<>();

    private final List<String> timerKeys = new ArrayList<>();
    private final List<Boolean> timerCancels = new ArrayList<>();

    /** One row of the answer. */
    record Row(
            String part,
            int ordinal,
            String verdict,
            @Nullable Long base,
            boolean released,
            boolean deadLettered) {
        @Override
        public String toString() {
            return part + " " + ordinal + " " + verdict;
        }
    }

    TransactCall push(long lane, String... transactionIds) {
        lanes.add(lane);
        flushIds.add(ThreadLocalRandom.current().nextLong());
        List<Frame> messages =
                Arrays.stream(transactionIds)
                        .map(text -> Frame.of(text, null, null, Slice.utf8("1")))
                        .toList();
        for (Segment segment : FrameWriter.segments(messages)) {
            segmentLanes.add(lanes.size());
            segmentCounts.add(segment.messageCount());
            keys.add(segment.keys());
            frames.add(segment.frames());
        }
        return this;
    }

    /** Acks of one cursor. */
    TransactCall ack(long lane, String group, @Nullable UUID lease, Item... acked) {
        ackLanes.add(lane);
        ackGroups.add(group);
        ackLeases.add(lease);
        if (lease != null) {
            supplied.add(lease);
        }
        for (Item item : acked) {
            ackUnits.add(ackLanes.size());
            items.add(item);
        }
        return this;
    }

    /** The ack of all that a lease delivered of a lane. */
    TransactCall batch(long lane, int groupId, UUID lease, long end) {
        batchLanes.add(lane);
        batchGroups.add(groupId);
        batchLeases.add(lease);
        batchEnds.add(end);
        return this;
    }

    /** An operation on a key of namespace t; a put writes 1, an incr adds 1. */
    TransactCall key(String op, String key, @Nullable Long expect, boolean required) {
        keyOps.add(op);
        keyNames.add(key);
        keyExpects.add(expect);
        keysRequired.add(required);
        return this;
    }

    /** A message that is to come in an hour; its key is its transactionId. */
    TransactCall schedule(String key) {
        timerKeys.add(key);
        timerCancels.add(false);
        return this;
    }

    TransactCall cancel(String key) {
        timerKeys.add(key);
        timerCancels.add(true);
        return this;
    }

    TransactCall require(UUID... leases) {
        supplied.addAll(Arrays.asList(leases));
        return this;
    }

    TransactCall of(UUID otherTenant) {
        tenant = otherTenant;
        return this;
    }

    TransactCall named(UUID bundleId) {
        id = bundleId;
        return this;
    }

    UUID id() {
        return id;
    }

    /** The answer to this very call was lost. */
    TransactCall settling() {
        settle = true;
        return this;
    }

    /** The server changed since: the lanes may be others by now. */
    TransactCall ofLostServer() {
        lanes.replaceAll(lane -> -lane);
        return this;
    }

    List<Row> run(Connection connection) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(CALL)) {
            return rows(statement);
        }
    }

    /** What the server said beside its answer. */
    @Nullable SQLWarning warnings(Connection connection) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(CALL)) {
            rows(statement);
            return statement.getWarnings();
        }
    }

    private List<Row> rows(PreparedStatement statement) throws SQLException {
        Long[] ones = lanes.stream().map(lane -> 1L).toArray(Long[]::new);
        Long[] zeros = lanes.stream().map(lane -> 0L).toArray(Long[]::new);
        Long[] above = lanes.stream().map(lane -> -1L).toArray(Long[]::new);
        statement.setObject(1, id);
        statement.setBoolean(2, settle);
        statement.setObject(3, tenant);
        array(statement, 4, "int8", lanes.toArray());
        array(statement, 5, "int8", flushIds.toArray());
        array(statement, 6, "int8", ones);
        array(statement, 7, "int8", zeros);
        array(statement, 8, "int8", settle ? above : new Long[0]);
        array(statement, 9, "int4", segmentLanes.toArray());
        array(statement, 10, "int4", segmentCounts.toArray());
        array(statement, 11, "bytea", keys.toArray(byte[][]::new));
        array(statement, 12, "bytea", frames.toArray(byte[][]::new));
        array(statement, 13, "int8", ackLanes.toArray());
        array(statement, 14, "text", ackGroups.toArray());
        array(statement, 15, "uuid", ackLeases.toArray());
        array(statement, 16, "uuid", supplied.toArray());
        array(statement, 17, "int4", ackUnits.toArray());
        array(
                statement,
                18,
                "bytea",
                items.stream()
                        .map(item -> MessageKey.of(item.transactionId()).bytes())
                        .toArray(byte[][]::new));
        array(statement, 19, "int2", items.stream().map(item -> (short) item.status()).toArray());
        array(statement, 20, "text", items.stream().map(Item::error).toArray());
        array(statement, 21, "int8", batchLanes.toArray());
        array(statement, 22, "int4", batchGroups.toArray());
        array(statement, 23, "uuid", batchLeases.toArray());
        array(statement, 24, "int8", batchEnds.toArray());
        array(statement, 25, "text", keyOps.toArray());
        array(statement, 26, "text", keyOps.stream().map(op -> "t").toArray());
        array(statement, 27, "text", keyNames.toArray());
        array(statement, 28, "text", keyOps.stream().map(op -> "1").toArray());
        array(statement, 29, "int8", new Long[keyOps.size()]);
        array(statement, 30, "int8", keyExpects.toArray());
        array(statement, 31, "numeric", keyOps.stream().map(op -> 1).toArray());
        array(statement, 32, "numeric", new Integer[keyOps.size()]);
        array(statement, 33, "numeric", new Integer[keyOps.size()]);
        array(statement, 34, "bool", keysRequired.toArray());
        int timers = timerKeys.size();
        array(statement, 35, "text", timerKeys.stream().map(key -> TIMER_QUEUE).toArray());
        array(statement, 36, "text", timerKeys.toArray());
        array(statement, 37, "bool", timerCancels.toArray());
        array(statement, 38, "int8", timerKeys.stream().map(key -> 3_600_000_000L).toArray());
        array(statement, 39, "timestamptz", new Object[timers]);
        array(statement, 40, "text", timerKeys.stream().map(key -> "p").toArray());
        array(statement, 41, "text", timerKeys.toArray());
        array(statement, 42, "uuid", timerKeys.stream().map(key -> UUID.randomUUID()).toArray());
        array(
                statement,
                43,
                "bytea",
                timerKeys.stream().map(key -> new byte[] {'1'}).toArray(byte[][]::new));
        array(statement, 44, "bool", timerKeys.stream().map(key -> false).toArray());
        array(statement, 45, "bool", timerKeys.stream().map(key -> false).toArray());
        List<Row> rows = new ArrayList<>();
        try (ResultSet result = statement.executeQuery()) {
            while (result.next()) {
                rows.add(
                        new Row(
                                result.getString(1),
                                result.getInt(2),
                                result.getString(3),
                                (Long) result.getObject(4),
                                result.getBoolean(5),
                                result.getBoolean(6)));
            }
        }
        return rows;
    }

    private static void array(PreparedStatement statement, int at, String type, Object[] elements)
            throws SQLException {
        statement.setArray(at, statement.getConnection().createArrayOf(type, elements));
    }
}
