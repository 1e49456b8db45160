package io.queenmq.timer;

import io.queenmq.db.Database;
import io.queenmq.db.Rows;
import io.queenmq.model.QueenException;
import io.queenmq.model.Slice;
import io.queenmq.segment.Segment;
import java.sql.Array;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.IntFunction;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** The calls on timers, and their part of the call of a transaction. */
public final class TimerProcedures {
    private static final String CHANGE =
            "select ordinal, status, transaction_id, deliver_at"
                    + " from queen_store.change_timers(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    private static final String PROBE =
            "select read_at, next_at, due, oldest_due_at from queen_store.probe_timers(?, ?, ?)";
    private static final String CLAIM =
            "select tenant_id, queue, timer_key, claim_token, partition, deliver_at,"
                    + " transaction_id, message_id, payload, encrypted, dedup, producer,"
                    + " queue_encrypts, claimed_at from queen_store.claim_timers(?, ?, ?, ?, ?, ?, ?)";
    private static final String FIRE =
            "select lane, verdict, queue_id, partition_id, last_offset, dropped"
                    + " from queen_store.fire_timers(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
                    + " ?, ?)";
    private static final String RELEASE = "select queen_store.release_timers(?, ?, ?, ?, ?)";
    private static final String FAIL = "select queen_store.fail_timers(?, ?, ?, ?, ?, ?, ?, ?)";
    private static final String READ =
            "select timer_key, partition, deliver_at, transaction_id, message_id, payload,"
                    + " encrypted, dedup, producer, attempts, last_error, claimed, created_at,"
                    + " updated_at from queen_store.read_timers(?, ?, ?, ?, ?, ?)";

    /**
     * Data exception, integrity constraint, program limit, raise of a trigger; our own refusals.
     */
    private static final Pattern OF_VALUES = Pattern.compile("22...|23...|54...|P0001|QN4..");

    /**
     * When the next timer is due.
     *
     * @param readAt time of the database
     * @param next null = there is none
     * @param due how many can be claimed now
     * @param oldestDue since when the oldest of them; null = there is none
     */
    record Probe(Instant readAt, @Nullable Instant next, int due, @Nullable Instant oldestDue) {}

    /**
     * Timers that this broker may fire, oldest first.
     *
     * @param claimedAt time of the database; null = none
     * @param putOff how many more there were that wait for an earlier one of their lane
     */
    record Claim(List<ClaimedTimer> timers, @Nullable Instant claimedAt, int putOff) {
        /** How many it has dealt with. */
        int seen() {
            return timers.size() + putOff;
        }
    }

    /**
     * What became of a lane.
     *
     * @param lane its place
     * @param verdict as fire_timers says
     * @param dropped timers that went without a message
     */
    record Fired(
            int lane,
            String verdict,
            int queueId,
            long partitionNumber,
            long lastOffset,
            int dropped) {}

    private final Database database;

    TimerProcedures(Database database) {
        this.database = database;
    }

    /**
     * Carries out all of them or none; one result per operation, in their order.
     *
     * @param wait how long for a timer that somebody holds, each of three times
     */
    List<TimerResult> change(TimerChanges changes, Duration wait) {
        return database.call(
                "change_timers",
                session -> {
                    try (PreparedStatement statement =
                            session.connection().prepareStatement(CHANGE)) {
                        statement.setObject(1, changes.tenant());
                        bind(statement, 2, changes);
                        statement.setInt(14, Math.toIntExact(wait.toMillis()));
                        return results(statement, changes);
                    }
                });
    }

    /**
     * Sets what to do to which timers, wherever that stands in a call.
     *
     * @return the place behind it
     */
    public static int bind(PreparedStatement statement, int from, TransactionTimers timers)
            throws SQLException {
        return bind(statement, from, timers.changes());
    }

    private static int bind(PreparedStatement statement, int from, TimerChanges changes)
            throws SQLException {
        array(statement, from, "text", changes.queues());
        array(statement, from + 1, "text", changes.timerKeys());
        array(statement, from + 2, "bool", changes.cancels());
        array(statement, from + 3, "int8", changes.delaysUs());
        array(statement, from + 4, "timestamptz", changes.deliverAts());
        array(statement, from + 5, "text", changes.partitions());
        array(statement, from + 6, "text", changes.transactionIds());
        array(statement, from + 7, "uuid", changes.messageIds());
        array(statement, from + 8, "bytea", changes.payloads());
        array(statement, from + 9, "bool", changes.encrypted());
        array(statement, from + 10, "bool", changes.dedup());
        statement.setString(from + 11, changes.producer());
        return from + 12;
    }

    /**
     * Tells what became of one timer of a transaction.
     *
     * @param from place of the transactionId of what was cancelled; the time of what was scheduled
     *     stands behind it
     */
    public static void answer(
            TransactionTimers timers, int index, String status, ResultSet row, int from)
            throws SQLException {
        timers.answered(index, status, row.getString(from), instantOrNull(row, from + 1));
    }

    private static List<TimerResult> results(PreparedStatement statement, TimerChanges changes)
            throws SQLException {
        @Nullable TimerResult[] results = new @Nullable TimerResult[changes.ops().size()];
        try (ResultSet row = statement.executeQuery()) {
            while (row.next()) {
                int index = row.getInt(1) - 1;
                results[index] =
                        changes.result(
                                index, row.getString(2), row.getString(3), instantOrNull(row, 4));
            }
        }
        List<TimerResult> all = new ArrayList<>(results.length);
        for (TimerResult result : results) {
            if (result == null) {
                throw new IllegalStateException("change_timers left an operation out");
            }
            all.add(result);
        }
        return all;
    }

    /**
     * Looks for the next timer.
     *
     * @param from leaves out what could be claimed before; null = nothing
     * @param within leaves out what cannot be for so long; null = nothing
     */
    Probe probe(int dueMax, @Nullable Instant from, @Nullable Duration within) {
        return database.repeatable(
                "probe_timers",
                session -> {
                    try (PreparedStatement statement =
                            session.connection().prepareStatement(PROBE)) {
                        statement.setInt(1, dueMax);
                        statement.setObject(2, utc(from));
                        statement.setObject(3, within == null ? null : within.toMillis());
                        return Rows.only(
                                statement,
                                row ->
                                        new Probe(
                                                instant(row, 1),
                                                instantOrNull(row, 2),
                                                row.getInt(3),
                                                instantOrNull(row, 4)));
                    }
                });
    }

    /**
     * Takes timers that are due.
     *
     * @param from leaves out what could be claimed before; null = nothing
     */
    Claim claim(int limit, long bytesMax, long leaseMs, @Nullable Instant from, FireRates rates) {
        Map<UUID, Integer> left = rates.left();
        return database.call(
                "claim_timers",
                session -> {
                    try (PreparedStatement statement =
                            session.connection().prepareStatement(CLAIM)) {
                        statement.setInt(1, limit);
                        statement.setLong(2, bytesMax);
                        statement.setInt(3, (int) leaseMs);
                        statement.setObject(4, utc(from));
                        statement.setObject(5, rates.most());
                        array(statement, 6, "uuid", left.keySet().toArray());
                        array(statement, 7, "int4", left.values().toArray());
                        List<ClaimedTimer> timers = new ArrayList<>();
                        Instant claimedAt = null;
                        int putOff = 0;
                        try (ResultSet row = statement.executeQuery()) {
                            while (row.next()) {
                                if (row.getObject(4) == null) {
                                    putOff++;
                                } else {
                                    timers.add(claimed(row));
                                    claimedAt = instant(row, 14);
                                }
                            }
                        }
                        timers.sort(
                                Comparator.comparing(ClaimedTimer::deliverAt)
                                        .thenComparing(ClaimedTimer::timerKey));
                        return new Claim(timers, claimedAt, putOff);
                    }
                });
    }

    private static ClaimedTimer claimed(ResultSet row) throws SQLException {
        return new ClaimedTimer(
                row.getObject(1, UUID.class),
                row.getString(2),
                row.getString(3),
                row.getObject(4, UUID.class),
                row.getString(5),
                instant(row, 6),
                row.getString(7),
                row.getObject(8, UUID.class),
                Slice.of(row.getBytes(9)),
                row.getBoolean(10),
                row.getBoolean(11),
                row.getString(12),
                row.getBoolean(13));
    }

    /**
     * Fires the timers of lanes that are all different; one verdict per lane, in their order.
     *
     * @param busyPause pause of the timers of lanes that somebody holds; null = they stay claimed
     * @param wait how long for each such lane; null = not at all
     */
    List<Fired> fire(List<LaneBatch> lanes, @Nullable Duration busyPause, @Nullable Duration wait) {
        List<ClaimedTimer> timers = new ArrayList<>();
        List<Integer> timerLanes = new ArrayList<>();
        List<Segment> segments = new ArrayList<>();
        List<Integer> segmentLanes = new ArrayList<>();
        for (int i = 0; i < lanes.size(); i++) {
            for (ClaimedTimer timer : lanes.get(i).timers()) {
                timers.add(timer);
                timerLanes.add(i + 1);
            }
            for (Segment segment : lanes.get(i).segments()) {
                segments.add(segment);
                segmentLanes.add(i + 1);
            }
        }
        return database.call(
                "fire_timers",
                session -> {
                    try (PreparedStatement statement =
                            session.connection().prepareStatement(FIRE)) {
                        names(statement, timers);
                        array(statement, 5, "int4", timerLanes.toArray(Integer[]::new));
                        array(statement, 6, "uuid", column(lanes, LaneBatch::tenant, UUID[]::new));
                        array(statement, 7, "text", column(lanes, LaneBatch::queue, String[]::new));
                        array(
                                statement,
                                8,
                                "text",
                                column(lanes, LaneBatch::partition, String[]::new));
                        array(statement, 9, "int8", column(lanes, LaneBatch::flushId, Long[]::new));
                        array(
                                statement,
                                10,
                                "bool",
                                column(lanes, LaneBatch::dedup, Boolean[]::new));
                        array(
                                statement,
                                11,
                                "bool",
                                column(lanes, LaneBatch::sealed, Boolean[]::new));
                        array(statement, 12, "int4", segmentLanes.toArray(Integer[]::new));
                        array(
                                statement,
                                13,
                                "int4",
                                column(segments, Segment::messageCount, Integer[]::new));
                        array(
                                statement,
                                14,
                                "bytea",
                                column(segments, Segment::keys, byte[][]::new));
                        array(
                                statement,
                                15,
                                "bytea",
                                column(segments, Segment::frames, byte[][]::new));
                        statement.setObject(16, ms(busyPause));
                        statement.setObject(17, ms(wait));
                        return Rows.list(
                                statement,
                                row ->
                                        new Fired(
                                                row.getInt(1) - 1,
                                                row.getString(2),
                                                row.getInt(3),
                                                row.getLong(4),
                                                row.getLong(5),
                                                row.getInt(6)));
                    }
                });
    }

    /**
     * Whether the reason of a failed fire may lie in what was stored: a value that does not fit, a
     * constraint or trigger of somebody's own, a refusal of ours. Whatever else the server may say
     * is no fault of any timer, and would hit all of them.
     */
    static boolean mayLieInTimers(QueenException failed) {
        return failed.getCause() instanceof SQLException error
                && error.getSQLState() != null
                && OF_VALUES.matcher(error.getSQLState()).matches();
    }

    /** Gives claims back; how many were still ours. */
    int release(List<ClaimedTimer> timers, long pauseMs) {
        return database.call(
                "release_timers",
                session -> {
                    try (PreparedStatement statement =
                            session.connection().prepareStatement(RELEASE)) {
                        names(statement, timers);
                        statement.setInt(5, (int) pauseMs);
                        return Rows.only(statement, row -> row.getInt(1));
                    }
                });
    }

    /** Charges them an attempt; how many became dead letters. */
    int fail(
            List<ClaimedTimer> timers,
            List<String> errors,
            int attemptsMax,
            long pauseMinMs,
            long pauseMaxMs) {
        return database.call(
                "fail_timers",
                session -> {
                    try (PreparedStatement statement =
                            session.connection().prepareStatement(FAIL)) {
                        names(statement, timers);
                        array(statement, 5, "text", errors.toArray(String[]::new));
                        statement.setInt(6, attemptsMax);
                        statement.setInt(7, (int) pauseMinMs);
                        statement.setInt(8, (int) pauseMaxMs);
                        return Rows.only(statement, row -> row.getInt(1));
                    }
                });
    }

    Optional<PendingTimer> find(UUID tenant, String queue, String timerKey) {
        return read(tenant, queue, timerKey, null, 1).stream().findFirst();
    }

    /** Those behind a key, in order of the bytes of their keys. */
    List<PendingTimer> list(UUID tenant, String queue, @Nullable String after, int limit) {
        return read(tenant, queue, null, after, limit);
    }

    private List<PendingTimer> read(
            UUID tenant,
            String queue,
            @Nullable String timerKey,
            @Nullable String after,
            int limit) {
        return database.repeatable(
                "read_timers",
                session -> {
                    try (PreparedStatement statement =
                            session.connection().prepareStatement(READ)) {
                        statement.setObject(1, tenant);
                        statement.setString(2, queue);
                        array(
                                statement,
                                3,
                                "text",
                                timerKey == null ? null : new String[] {timerKey});
                        statement.setString(4, after);
                        statement.setInt(5, limit);
                        statement.setBoolean(6, timerKey != null);
                        return Rows.list(statement, TimerProcedures::pending);
                    }
                });
    }

    private static PendingTimer pending(ResultSet row) throws SQLException {
        return new PendingTimer(
                row.getString(1),
                row.getString(2),
                instant(row, 3),
                row.getString(4),
                row.getObject(5, UUID.class),
                row.getBytes(6),
                row.getBoolean(7),
                row.getBoolean(8),
                row.getString(9),
                row.getInt(10),
                row.getString(11),
                row.getBoolean(12),
                instant(row, 13),
                instant(row, 14));
    }

    /** The first four arguments of whatever is done with claimed timers. */
    private static void names(PreparedStatement statement, List<ClaimedTimer> timers)
            throws SQLException {
        array(statement, 1, "uuid", column(timers, ClaimedTimer::tenant, UUID[]::new));
        array(statement, 2, "text", column(timers, ClaimedTimer::queue, String[]::new));
        array(statement, 3, "text", column(timers, ClaimedTimer::timerKey, String[]::new));
        array(statement, 4, "uuid", column(timers, ClaimedTimer::token, UUID[]::new));
    }

    private static <T, C> C[] column(List<T> rows, Function<T, C> column, IntFunction<C[]> array) {
        return rows.stream().map(column).toArray(array);
    }

    private static void array(
            PreparedStatement statement,
            int parameter,
            String type,
            @Nullable Object @Nullable [] values)
            throws SQLException {
        Array array = values == null ? null : statement.getConnection().createArrayOf(type, values);
        statement.setArray(parameter, array);
    }

    private static @Nullable Integer ms(@Nullable Duration duration) {
        return duration == null ? null : Math.toIntExact(duration.toMillis());
    }

    private static @Nullable OffsetDateTime utc(@Nullable Instant instant) {
        return instant == null ? null : instant.atOffset(ZoneOffset.UTC);
    }

    private static Instant instant(ResultSet row, int column) throws SQLException {
        return row.getObject(column, OffsetDateTime.class).toInstant();
    }

    private static @Nullable Instant instantOrNull(ResultSet row, int column) throws SQLException {
        OffsetDateTime time = row.getObject(column, OffsetDateTime.class);
        return time == null ? null : time.toInstant();
    }
}
