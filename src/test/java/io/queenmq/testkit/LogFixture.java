package io.queenmq.testkit;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;

/**
 * Queues, lanes, groups and messages for tests of the consuming procedures, and typed calls of
 * those. All calls run on the connection given, in its transaction if one is open.
 */
public final class LogFixture {
    public static final UUID TENANT = UUID.fromString("00000000-0000-0000-0000-000000000001");

    private static final AtomicInteger NAMES = new AtomicInteger();

    private final Connection connection;

    public LogFixture(Connection connection) {
        this.connection = connection;
    }

    /** A row of a claim. */
    public record Claim(
            int candidate,
            String verdict,
            @Nullable UUID leaseId,
            @Nullable Instant expiresAt,
            @Nullable Instant visibleAt,
            int attempt,
            long batchEnd,
            long lastOffset,
            long baseOffset,
            int firstIndex,
            int count,
            @Nullable Integer frameBytes) {
        public long from() {
            return baseOffset + firstIndex;
        }
    }

    /** One pop of a claim; lease null = auto-ack. */
    public record Job(
            @Nullable UUID lease, int budget, int laneLimit, int seconds, boolean several) {
        public static Job of(int budget) {
            return new Job(UUID.randomUUID(), budget, 1, 0, false);
        }

        public static Job several(int budget, int laneLimit) {
            return new Job(UUID.randomUUID(), budget, laneLimit, 0, true);
        }

        public static Job auto(int budget) {
            return new Job(null, budget, 0, 0, true);
        }
    }

    /** A lane that a job may take from; the job counts from 1. */
    public record Candidate(int job, long lane, int group) {}

    /** One acknowledgement; status as in SQL: 0 completed, 1 failed, 2 retry, 3 dlq. */
    public record Item(int unit, String transactionId, int status, @Nullable String error) {
        public static Item completed(String transactionId) {
            return new Item(1, transactionId, 0, null);
        }

        public static Item failed(String transactionId, @Nullable String error) {
            return new Item(1, transactionId, 1, error);
        }

        public static Item retry(String transactionId) {
            return new Item(1, transactionId, 2, null);
        }

        public static Item dlq(String transactionId, @Nullable String error) {
            return new Item(1, transactionId, 3, error);
        }
    }

    /** One (lane, group, lease) of an ack. */
    public record Unit(UUID tenant, long lane, String group, @Nullable UUID lease) {}

    /** A row of an ack. */
    public record Acked(
            String verdict, boolean released, boolean deadLettered, long committed, long last) {}

    public int queue() throws SQLException {
        return queue("q" + NAMES.incrementAndGet());
    }

    public int queue(String name) throws SQLException {
        return (int)
                value(
                        "insert into queen_store.queues (tenant_id, name) values (?, ?) returning id",
                        TENANT,
                        name);
    }

    public long lane(int queue) throws SQLException {
        return (long)
                value(
                        "insert into queen_store.partitions (queue_id, name) values (?, ?) returning id",
                        queue,
                        "p" + NAMES.incrementAndGet());
    }

    /** A registered group named g that begins at the oldest message. */
    public int group(int queue) throws SQLException {
        return group(queue, "g", "all", null);
    }

    public int group(int queue, String name, @Nullable String rule, @Nullable Instant at)
            throws SQLException {
        return (int)
                value(
                        "insert into queen_store.groups (queue_id, name, start_rule, start_at)"
                                + " values (?, ?, ?, ?::text::timestamptz) returning id",
                        queue,
                        name,
                        rule,
                        at == null ? null : at.toString());
    }

    public void cursor(long lane, int group, long committed) throws SQLException {
        run(
                "insert into queen_store.cursors (partition_id, group_id, generation, committed)"
                        + " select ?, id, generation, ? from queen_store.groups where id = ?",
                lane,
                committed,
                group);
    }

    /** One segment of these messages through the one writer; returns its first offset. */
    public long append(long lane, String... transactionIds) throws SQLException {
        return (long)
                value(
                        "select a.base_offset from queen_store.encode_frames(?, ?, null, null, null) f"
                                + " cross join lateral queen_store.append(array[?::bigint],"
                                + " array[(random() * 1e15)::bigint], array[1::bigint], array[0::bigint],"
                                + " array[null::bigint], array[1], array[f.message_count],"
                                + " array[f.keys], array[f.frames], true) a",
                        transactionIds,
                        payloads(transactionIds.length),
                        lane);
    }

    /** Segments of {@code perSegment} messages named m0, m1, … from the lane's next offset on. */
    public void fill(long lane, int segments, int perSegment) throws SQLException {
        int next =
                ((Number)
                                value(
                                        "select last_offset + 1 from queen_store.partitions where id = ?",
                                        lane))
                        .intValue();
        for (int i = 0; i < segments; i++) {
            String[] ids = new String[perSegment];
            for (int j = 0; j < perSegment; j++) {
                ids[j] = "m" + next++;
            }
            append(lane, ids);
        }
    }

    private static byte[][] payloads(int count) {
        byte[][] payloads = new byte[count][];
        Arrays.fill(payloads, new byte[] {'{', '}'});
        return payloads;
    }

    public List<Claim> claimLeased(Job job, int group, long... lanes) throws SQLException {
        return claim("claim_leased", List.of(job), candidates(group, lanes), 1 << 20);
    }

    public List<Claim> claimFirst(
            Job job, int group, @Nullable String rule, @Nullable Instant at, long... lanes)
            throws SQLException {
        return claimFirst(List.of(job), candidates(group, lanes), rule, at);
    }

    public List<Claim> claimAuto(int budget, int group, long... lanes) throws SQLException {
        return claim("claim_auto", List.of(Job.auto(budget)), candidates(group, lanes), 1 << 20);
    }

    private static List<Candidate> candidates(int group, long... lanes) {
        return Arrays.stream(lanes).mapToObj(lane -> new Candidate(1, lane, group)).toList();
    }

    public List<Claim> claim(
            String function, List<Job> jobs, List<Candidate> candidates, int maxBytes)
            throws SQLException {
        boolean auto = function.equals("claim_auto");
        String sql =
                auto
                        ? "select * from queen_store.claim_auto(?, ?, ?, ?, ?, ?)"
                        : "select * from queen_store.claim_leased(?, ?, ?, ?, ?, ?, ?, ?, ?)";
        List<@Nullable Object> arguments = new ArrayList<>();
        if (!auto) {
            arguments.add(jobs.stream().map(Job::lease).toArray(UUID[]::new));
        }
        arguments.add(jobs.stream().map(Job::budget).toArray(Integer[]::new));
        arguments.add(jobs.stream().map(Job::laneLimit).toArray(Integer[]::new));
        if (!auto) {
            arguments.add(jobs.stream().map(Job::seconds).toArray(Integer[]::new));
            arguments.add(jobs.stream().map(Job::several).toArray(Boolean[]::new));
        }
        arguments.add(maxBytes);
        addCandidates(arguments, candidates);
        return claims(sql, arguments);
    }

    public List<Claim> claimFirst(
            List<Job> jobs, List<Candidate> candidates, @Nullable String rule, @Nullable Instant at)
            throws SQLException {
        List<@Nullable Object> arguments = new ArrayList<>();
        arguments.add(jobs.stream().map(Job::lease).toArray(UUID[]::new));
        arguments.add(jobs.stream().map(Job::budget).toArray(Integer[]::new));
        arguments.add(jobs.stream().map(Job::laneLimit).toArray(Integer[]::new));
        arguments.add(jobs.stream().map(Job::seconds).toArray(Integer[]::new));
        arguments.add(jobs.stream().map(Job::several).toArray(Boolean[]::new));
        arguments.add(1 << 20);
        addCandidates(arguments, candidates);
        arguments.add(Collections.nCopies(candidates.size(), rule).toArray(String[]::new));
        arguments.add(
                Collections.nCopies(candidates.size(), at == null ? null : at.toString())
                        .toArray(String[]::new));
        return claims(
                "select * from queen_store.claim_first(?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
                        + " ?::text[]::timestamptz[])",
                arguments);
    }

    private static void addCandidates(
            List<@Nullable Object> arguments, List<Candidate> candidates) {
        arguments.add(candidates.stream().map(Candidate::job).toArray(Integer[]::new));
        arguments.add(candidates.stream().map(Candidate::lane).toArray(Long[]::new));
        arguments.add(candidates.stream().map(Candidate::group).toArray(Integer[]::new));
    }

    private List<Claim> claims(String sql, List<@Nullable Object> arguments) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            bind(statement, arguments.toArray());
            List<Claim> claims = new ArrayList<>();
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    byte[] frames = rows.getBytes("frames");
                    claims.add(
                            new Claim(
                                    rows.getInt("candidate"),
                                    rows.getString("verdict"),
                                    rows.getObject("lease_id", UUID.class),
                                    instant(rows, "lease_expires_at"),
                                    instant(rows, "visible_at"),
                                    rows.getInt("attempt"),
                                    rows.getLong("batch_end"),
                                    rows.getLong("last_offset"),
                                    rows.getLong("base_offset"),
                                    rows.getInt("first_index"),
                                    rows.getInt("message_count"),
                                    frames == null ? null : frames.length));
                }
            }
            claims.sort(Comparator.comparingInt(Claim::candidate));
            return claims;
        }
    }

    /** Acks of one unit, by the text of the transactionIds. */
    public List<Acked> ack(long lane, String group, @Nullable UUID lease, Item... items)
            throws SQLException {
        return ack(List.of(new Unit(TENANT, lane, group, lease)), false, items);
    }

    public List<Acked> ack(List<Unit> units, boolean wait, Item... items) throws SQLException {
        try (PreparedStatement statement =
                connection.prepareStatement(
                        "select * from queen_store.ack_messages(?, ?, ?, ?, ?, array(select"
                                + " queen_store.key_of(t) from unnest(?::text[]) with ordinality k (t,"
                                + " n) order by n), ?, ?, ?) order by item")) {
            bind(
                    statement,
                    units.stream().map(Unit::tenant).toArray(UUID[]::new),
                    units.stream().map(Unit::lane).toArray(Long[]::new),
                    units.stream().map(Unit::group).toArray(String[]::new),
                    units.stream().map(Unit::lease).toArray(UUID[]::new),
                    Arrays.stream(items).map(Item::unit).toArray(Integer[]::new),
                    Arrays.stream(items).map(Item::transactionId).toArray(String[]::new),
                    Arrays.stream(items).map(i -> (short) i.status()).toArray(Short[]::new),
                    Arrays.stream(items).map(Item::error).toArray(String[]::new),
                    wait);
            List<Acked> acked = new ArrayList<>();
            try (ResultSet rows = statement.executeQuery()) {
                while (rows.next()) {
                    acked.add(
                            new Acked(
                                    rows.getString("verdict"),
                                    rows.getBoolean("lease_released"),
                                    rows.getBoolean("dead_lettered"),
                                    rows.getLong("committed"),
                                    rows.getLong("last_offset")));
                }
            }
            return acked;
        }
    }

    /** Verdicts of whole-batch acks, in the order of the claims. */
    public List<String> ackBatches(int group, long[] lanes, UUID[] leases, Long[] ends)
            throws SQLException {
        Integer[] groups = new Integer[lanes.length];
        Arrays.fill(groups, group);
        return rows(
                        "select verdict from queen_store.ack_batches(?, ?, ?, ?) order by ordinal",
                        Arrays.stream(lanes).boxed().toArray(Long[]::new),
                        groups,
                        leases,
                        ends)
                .stream()
                .map(row -> (String) row[0])
                .toList();
    }

    public String ackBatch(int group, long lane, UUID lease, long end) throws SQLException {
        return ackBatches(group, new long[] {lane}, new UUID[] {lease}, new Long[] {end})
                .getFirst();
    }

    public long committed(long lane, int group) throws SQLException {
        return (long)
                value(
                        "select committed from queen_store.cursors where partition_id = ? and group_id = ?",
                        lane,
                        group);
    }

    /** Lets the lease of a lane run out now. */
    public void expire(long lane, int group) throws SQLException {
        run(
                "update queen_store.cursors set lease_expires_at = clock_timestamp() - interval '1 second'"
                        + " where partition_id = ? and group_id = ?",
                lane,
                group);
    }

    public Object value(String sql, @Nullable Object... arguments) throws SQLException {
        Object value = rows(sql, arguments).getFirst()[0];
        if (value == null) {
            throw new IllegalStateException("null: " + sql);
        }
        return value;
    }

    public List<@Nullable Object[]> rows(String sql, @Nullable Object... arguments)
            throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            bind(statement, arguments);
            List<@Nullable Object[]> rows = new ArrayList<>();
            try (ResultSet result = statement.executeQuery()) {
                int columns = result.getMetaData().getColumnCount();
                while (result.next()) {
                    @Nullable Object[] row = new @Nullable Object[columns];
                    for (int i = 0; i < columns; i++) {
                        row[i] = result.getObject(i + 1);
                    }
                    rows.add(row);
                }
            }
            return rows;
        }
    }

    public int run(String sql, @Nullable Object... arguments) throws SQLException {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            bind(statement, arguments);
            return statement.executeUpdate();
        }
    }

    private void bind(PreparedStatement statement, @Nullable Object... arguments)
            throws SQLException {
        for (int i = 0; i < arguments.length; i++) {
            Object argument = arguments[i];
            if (argument instanceof Object[] array) {
                statement.setArray(i + 1, connection.createArrayOf(typeOf(array), array));
            } else {
                statement.setObject(i + 1, argument);
            }
        }
    }

    private static String typeOf(Object[] array) {
        return switch (array) {
            case UUID[] ignored -> "uuid";
            case Long[] ignored -> "int8";
            case Integer[] ignored -> "int4";
            case Short[] ignored -> "int2";
            case Boolean[] ignored -> "bool";
            case byte[][] ignored -> "bytea";
            default -> "text";
        };
    }

    private static @Nullable Instant instant(ResultSet rows, String column) throws SQLException {
        OffsetDateTime value = rows.getObject(column, OffsetDateTime.class);
        return value == null ? null : value.toInstant();
    }
}
