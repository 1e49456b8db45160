package io.queenmq.pop;

import io.queenmq.count.Counts;
import io.queenmq.db.Database;
import io.queenmq.group.StartRule;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;

/** Calls the claims and what goes with them. */
final class PopProcedures {
    private static final String COLUMNS =
            "select candidate, verdict, lease_id, lease_expires_at, visible_at, attempt, batch_end,"
                    + " last_offset, base_offset, first_index, message_count, created_at, keys,"
                    + " frames, passed, granted, ended from queen_store.";

    /** A queue that labels match. */
    record LabelledQueue(int queueId, String name) {}

    /**
     * What lanes hold for a group.
     *
     * @param lanes how many of them, from the first on, hold it
     */
    record Pending(int messages, int lanes) {}

    private final Database database;
    private final Counts counts;
    private final int inlineBytes;

    PopProcedures(Database database, Counts counts, int inlineBytes) {
        this.database = database;
        this.counts = counts;
        this.inlineBytes = inlineBytes;
    }

    /** For lanes that the groups have cursors in; leases what it takes. */
    List<List<Claim.Outcome>> claimLeased(List<Claim> claims) {
        return database.call(
                "claim_leased",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            COLUMNS + "claim_leased(?, ?, ?, ?, ?, ?, ?, ?, ?)")) {
                        bindJobs(statement, claims);
                        bindCandidates(statement, 7, claims);
                        return read(statement, claims);
                    }
                });
    }

    /** For lanes that the groups have cursors in; commits what it returns. */
    List<List<Claim.Outcome>> claimAuto(List<Claim> claims) {
        return database.call(
                "claim_auto",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(COLUMNS + "claim_auto(?, ?, ?, ?, ?, ?)")) {
                        statement.setArray(1, budgets(session.connection(), claims));
                        statement.setArray(2, laneLimits(session.connection(), claims));
                        statement.setInt(3, inlineBytes);
                        bindCandidates(statement, 4, claims);
                        return read(statement, claims);
                    }
                });
    }

    /** Places the cursors that are missing, then claims; with a lease or without. */
    List<List<Claim.Outcome>> claimFirst(List<Claim> claims) {
        return database.call(
                "claim_first",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            COLUMNS
                                                    + "claim_first"
                                                    + "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")) {
                        bindJobs(statement, claims);
                        bindCandidates(statement, 7, claims);
                        bindRules(statement, claims);
                        return read(statement, claims);
                    }
                });
    }

    /** The frames of segments, null for one that has expired meanwhile; in the order asked for. */
    byte[] @Nullable [] readFrames(List<Long> lanes, List<Long> baseOffsets) {
        return database.call(
                "read_segments",
                session -> {
                    Connection connection = session.connection();
                    try (PreparedStatement statement =
                            connection.prepareStatement(
                                    "select ordinal, frames from queen_store.read_segments(?, ?)")) {
                        statement.setArray(1, connection.createArrayOf("int8", lanes.toArray()));
                        statement.setArray(
                                2, connection.createArrayOf("int8", baseOffsets.toArray()));
                        byte[] @Nullable [] frames = new byte[lanes.size()][];
                        try (ResultSet rows = statement.executeQuery()) {
                            while (rows.next()) {
                                frames[rows.getInt(1) - 1] = rows.getBytes(2);
                            }
                        }
                        return frames;
                    }
                });
    }

    /**
     * Gives those of the lanes back that are leased, charging no attempt.
     *
     * @param leaseId the lease, or what was minted for it
     */
    void release(UUID leaseId, List<Long> lanes, List<Integer> groupIds) {
        database.call(
                "release_lease",
                session -> {
                    Connection connection = session.connection();
                    try (PreparedStatement statement =
                            connection.prepareStatement(
                                    "select queen_store.release_lease(?, ?, ?)")) {
                        statement.setObject(1, leaseId);
                        statement.setArray(2, connection.createArrayOf("int8", lanes.toArray()));
                        statement.setArray(3, connection.createArrayOf("int4", groupIds.toArray()));
                        return statement.execute();
                    }
                });
    }

    /** What a pop of these lanes would be given now, counted up to {@code limit} messages. */
    Pending pending(long[] lanes, int groupId, int laneLimit, int limit) {
        return database.call(
                "pending_messages",
                session -> {
                    Connection connection = session.connection();
                    try (PreparedStatement statement =
                            connection.prepareStatement(
                                    "select messages, lanes"
                                            + " from queen_store.pending_messages(?, ?, ?, ?)")) {
                        statement.setArray(1, array(connection, "int8", lanes));
                        statement.setInt(2, groupId);
                        statement.setInt(3, laneLimit);
                        statement.setInt(4, limit);
                        try (ResultSet row = statement.executeQuery()) {
                            row.next();
                            return new Pending(row.getInt(1), row.getInt(2));
                        }
                    }
                });
    }

    /** What "from now on" means now. */
    Instant safeInstant() {
        return database.call(
                "safe_instant",
                session -> {
                    try (PreparedStatement statement =
                                    session.connection()
                                            .prepareStatement("select queen_store.safe_instant()");
                            ResultSet row = statement.executeQuery()) {
                        row.next();
                        return row.getObject(1, OffsetDateTime.class).toInstant();
                    }
                });
    }

    List<LabelledQueue> queuesWithLabels(UUID tenant, String namespace, String task) {
        return database.call(
                "queues_with_labels",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select queue_id, name"
                                                    + " from queen_store.queues_with_labels"
                                                    + "(?, ?, ?)")) {
                        statement.setObject(1, tenant);
                        statement.setString(2, namespace);
                        statement.setString(3, task);
                        List<LabelledQueue> queues = new ArrayList<>();
                        try (ResultSet rows = statement.executeQuery()) {
                            while (rows.next()) {
                                queues.add(new LabelledQueue(rows.getInt(1), rows.getString(2)));
                            }
                        }
                        return queues;
                    }
                });
    }

    private void bindJobs(PreparedStatement statement, List<Claim> claims) throws SQLException {
        Connection connection = statement.getConnection();
        int jobs = claims.size();
        @Nullable UUID[] leases = new UUID[jobs];
        int[] seconds = new int[jobs];
        Boolean[] several = new Boolean[jobs];
        for (int i = 0; i < jobs; i++) {
            Claim claim = claims.get(i);
            leases[i] = claim.mintedLease;
            seconds[i] = claim.request.leaseSeconds();
            several[i] = claim.candidates.several();
        }
        statement.setArray(1, connection.createArrayOf("uuid", leases));
        statement.setArray(2, budgets(connection, claims));
        statement.setArray(3, laneLimits(connection, claims));
        statement.setArray(4, array(connection, "int4", seconds));
        statement.setArray(5, connection.createArrayOf("bool", several));
        statement.setInt(6, inlineBytes);
    }

    private static Array budgets(Connection connection, List<Claim> claims) throws SQLException {
        return array(connection, "int4", claims.stream().mapToInt(claim -> claim.budget).toArray());
    }

    private static Array laneLimits(Connection connection, List<Claim> claims) throws SQLException {
        return array(
                connection,
                "int4",
                claims.stream().mapToInt(claim -> claim.candidates.limit()).toArray());
    }

    /** The driver's own method takes arrays of primitives, and sends them in binary. */
    private static Array array(Connection connection, String type, Object elements)
            throws SQLException {
        return connection.unwrap(PGConnection.class).createArrayOf(type, elements);
    }

    private static void bindCandidates(PreparedStatement statement, int at, List<Claim> claims)
            throws SQLException {
        int size = claims.stream().mapToInt(Claim::items).sum();
        int[] jobs = new int[size];
        long[] lanes = new long[size];
        int i = 0;
        for (int job = 1; job <= claims.size(); job++) {
            for (Candidates.Lane lane : claims.get(job - 1).candidates.lanes()) {
                jobs[i] = job;
                lanes[i] = lane.number();
                i++;
            }
        }
        Connection connection = statement.getConnection();
        statement.setArray(at, array(connection, "int4", jobs));
        statement.setArray(at + 1, array(connection, "int8", lanes));
        statement.setArray(at + 2, array(connection, "int4", groups(claims, size)));
    }

    /** The group of every candidate. */
    private static int[] groups(List<Claim> claims, int size) {
        int[] groups = new int[size];
        int i = 0;
        for (Claim claim : claims) {
            for (Candidates.Lane lane : claim.candidates.lanes()) {
                groups[i++] = lane.groupId();
            }
        }
        return groups;
    }

    private static void bindRules(PreparedStatement statement, List<Claim> claims)
            throws SQLException {
        List<@Nullable String> rules = new ArrayList<>();
        List<@Nullable OffsetDateTime> instants = new ArrayList<>();
        for (Claim claim : claims) {
            StartRule rule = claim.candidates.rule();
            Instant at = rule == null ? null : rule.at();
            for (int i = 0; i < claim.items(); i++) {
                rules.add(rule == null ? null : rule.sql());
                instants.add(at == null ? null : at.atOffset(ZoneOffset.UTC));
            }
        }
        Connection connection = statement.getConnection();
        statement.setArray(10, connection.createArrayOf("text", rules.toArray()));
        statement.setArray(11, connection.createArrayOf("timestamptz", instants.toArray()));
    }

    private List<List<Claim.Outcome>> read(PreparedStatement statement, List<Claim> claims)
            throws SQLException {
        int size = claims.stream().mapToInt(Claim::items).sum();
        Claim.@Nullable Outcome[] byCandidate = new Claim.Outcome[size];
        int[] groups = groups(claims, size);
        try (ResultSet rows = statement.executeQuery()) {
            while (rows.next()) {
                int candidate = rows.getInt(1) - 1;
                Claim.Outcome outcome = byCandidate[candidate];
                if (outcome == null) {
                    outcome = readOutcome(rows);
                    byCandidate[candidate] = outcome;
                    counts.moved(
                            groups[candidate],
                            rows.getLong(15),
                            rows.getLong(16),
                            rows.getLong(17),
                            0);
                }
                if (outcome.verdict == Claim.Verdict.LEASED
                        || outcome.verdict == Claim.Verdict.SERVED) {
                    outcome.runs.add(
                            new Claim.Run(
                                    rows.getLong(9),
                                    rows.getInt(10),
                                    rows.getInt(11),
                                    rows.getObject(12, OffsetDateTime.class).toInstant(),
                                    rows.getBytes(13),
                                    rows.getBytes(14)));
                }
            }
        }
        List<List<Claim.Outcome>> outcomes = new ArrayList<>(claims.size());
        int at = 0;
        for (Claim claim : claims) {
            List<Claim.Outcome> mine = new ArrayList<>(claim.items());
            for (int i = 0; i < claim.items(); i++) {
                Claim.Outcome outcome = byCandidate[at++];
                if (outcome == null) {
                    throw new IllegalStateException("a claim left out a candidate");
                }
                mine.add(outcome);
            }
            outcomes.add(mine);
        }
        return outcomes;
    }

    private static Claim.Outcome readOutcome(ResultSet rows) throws SQLException {
        return new Claim.Outcome(
                Claim.Verdict.valueOf(rows.getString(2).toUpperCase(Locale.ROOT)),
                rows.getObject(3, UUID.class),
                instant(rows, 4),
                instant(rows, 5),
                rows.getInt(6),
                rows.getLong(7),
                rows.getLong(8));
    }

    private static @Nullable Instant instant(ResultSet rows, int column) throws SQLException {
        OffsetDateTime value = rows.getObject(column, OffsetDateTime.class);
        return value == null ? null : value.toInstant();
    }
}
