package io.queenmq.transact;

import io.queenmq.ack.AckArguments;
import io.queenmq.ack.AckProcedures;
import io.queenmq.ack.BatchArguments;
import io.queenmq.ack.TransactionAcks;
import io.queenmq.db.Database;
import io.queenmq.kv.KvBatch;
import io.queenmq.kv.KvProcedures;
import io.queenmq.push.AppendArguments;
import io.queenmq.push.ServerWatch;
import io.queenmq.push.TransactionPushes;
import io.queenmq.timer.TimerProcedures;
import io.queenmq.timer.TransactionTimers;
import java.sql.Array;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;

/** The one call that carries out a transaction. */
final class TransactProcedures {
    private static final String TRANSACT =
            "select part, ordinal, verdict, base_offset, created_at, queue_id, group_id,"
                    + " lease_released, dead_lettered, committed, last_offset, passed, ended,"
                    + " filed, key, value, version, expires_at, updated_at, transaction_id,"
                    + " deliver_at, conflated"
                    + " from queen_store.transact(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
                    + " ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?,"
                    + " ?, ?, ?, ?, ?, ?)";

    /**
     * What the call said about the lanes; what it says of acks goes to {@link TransactionAcks}, of
     * keys to {@link KvBatch}, of timers to {@link TransactionTimers}.
     */
    sealed interface Outcome {
        /** The transaction has come to its end. */
        sealed interface Decided extends Outcome {}

        /** Committed, by this call or by an earlier one whose answer was lost. */
        record Committed(List<TransactionPushes.Stored> lanes) implements Decided {}

        /** Undone: a message is in this lane already. */
        record Duplicate(int lane) implements Decided {}

        /** Undone: an ack cannot be carried out. */
        record AckRejected() implements Decided {}

        /** Undone: an operation on a key had to be applied and was not. */
        record PreconditionLost() implements Decided {}

        /** Undone: these lanes need something before the call can succeed. */
        record ComeAgain(List<Integer> cold, List<Integer> unknown) implements Outcome {}
    }

    private final Database database;
    private final ServerWatch servers;

    TransactProcedures(Database database, ServerWatch servers) {
        this.database = database;
        this.servers = servers;
    }

    /**
     * Carries out all that is enlisted, in one commit or not at all.
     *
     * @param bundle at least one; of several none changes timers, and the acks of each name the one
     *     lease that it supplies
     * @param settle whether that may have happened already, the answer lost
     * @param wait how long for what others hold, each of three times
     * @param deadlineNanos then nothing is begun any more, and the server is told to stop
     */
    Outcome transact(List<Enlisted> bundle, boolean settle, Duration wait, long deadlineNanos) {
        Enlisted first = bundle.getFirst();
        KvBatch keys = new KvBatch(bundle.stream().map(Enlisted::keys).toList());
        List<TransactionPushes> pushes = bundle.stream().map(Enlisted::pushes).toList();
        List<TransactionAcks> acks = bundle.stream().map(Enlisted::acks).toList();
        AckArguments acked = TransactionAcks.arguments(acks, settle);
        BatchArguments batches = TransactionAcks.batches(acks, settle);
        // Or an ack could profit from what another transaction names.
        UUID[] supplied = bundle.size() == 1 ? first.acks().suppliedLeases() : new UUID[0];
        return database.call(
                "transact",
                deadlineNanos,
                (session, left) -> {
                    servers.check(session);
                    AppendArguments pushed = TransactionPushes.arguments(pushes, settle);
                    Connection connection = session.connection();
                    try (PreparedStatement statement = connection.prepareStatement(TRANSACT)) {
                        // In whole seconds, up; zero would be no limit.
                        statement.setQueryTimeout(
                                Math.toIntExact(left.plusNanos(999_999_999).toSeconds()));
                        statement.setObject(1, first.id());
                        statement.setBoolean(2, settle);
                        statement.setObject(3, first.tenant());
                        bind(statement, connection, pushed);
                        bind(statement, connection, acked, supplied);
                        AckProcedures.bind(statement, 21, batches);
                        int at = KvProcedures.bind(statement, 25, keys.columns());
                        at = KvProcedures.bind(statement, at, List.of(keys.required()));
                        statement.setLong(at, keys.readBytesMax());
                        at = TimerProcedures.bind(statement, at + 1, first.timers());
                        statement.setLong(at, wait.toMillis());
                        try (ResultSet rows = statement.executeQuery()) {
                            return read(rows, pushed.lanes().length, acks, keys, first.timers());
                        }
                    }
                });
    }

    private static void bind(
            PreparedStatement statement, Connection connection, AppendArguments pushed)
            throws SQLException {
        statement.setArray(4, array(connection, "int8", pushed.lanes()));
        statement.setArray(5, array(connection, "int8", pushed.flushIds()));
        statement.setArray(6, array(connection, "int8", pushed.vouchedFrom()));
        statement.setArray(7, array(connection, "int8", pushed.vouchedTo()));
        statement.setArray(8, array(connection, "int8", pushed.settleAbove()));
        statement.setArray(9, array(connection, "int4", pushed.segmentLanes()));
        statement.setArray(10, array(connection, "int4", pushed.segmentCounts()));
        statement.setArray(11, array(connection, "bytea", pushed.keys()));
        statement.setArray(12, array(connection, "bytea", pushed.frames()));
    }

    private static void bind(
            PreparedStatement statement,
            Connection connection,
            AckArguments acked,
            UUID[] suppliedLeases)
            throws SQLException {
        statement.setArray(13, array(connection, "int8", acked.lanes()));
        statement.setArray(14, connection.createArrayOf("text", acked.groups()));
        statement.setArray(15, connection.createArrayOf("uuid", acked.leases()));
        statement.setArray(16, connection.createArrayOf("uuid", suppliedLeases));
        statement.setArray(17, array(connection, "int4", acked.unitOf()));
        statement.setArray(18, array(connection, "bytea", acked.keys()));
        statement.setArray(19, connection.createArrayOf("int2", acked.statuses()));
        statement.setArray(20, connection.createArrayOf("text", acked.errors()));
    }

    private static Outcome read(
            ResultSet rows,
            int lanes,
            List<TransactionAcks> acks,
            KvBatch keys,
            TransactionTimers timers)
            throws SQLException {
        keys.begin();
        TransactionPushes.@Nullable Stored[] stored = new TransactionPushes.Stored[lanes];
        List<Integer> cold = new ArrayList<>(0);
        List<Integer> unknown = new ArrayList<>(0);
        int duplicate = -1;
        String undone = null;
        while (rows.next()) {
            int at = rows.getInt(2) - 1;
            String verdict = rows.getString(3);
            switch (rows.getString(1)) {
                case "push" -> {
                    switch (verdict) {
                        case "queued" ->
                                stored[at] =
                                        new TransactionPushes.Stored(
                                                rows.getLong(4),
                                                rows.getTimestamp(5).getTime(),
                                                rows.getInt(6));
                        case "duplicate" -> duplicate = duplicate < 0 ? at : duplicate;
                        case "cold" -> cold.add(at);
                        case "unknown_partition" -> unknown.add(at);
                        default -> throw new IllegalStateException("append said " + verdict);
                    }
                }
                case "ack" ->
                        TransactionAcks.outcome(
                                acks,
                                at,
                                verdict,
                                rows.getBoolean(8),
                                rows.getBoolean(9),
                                rows.getInt(7),
                                rows.getInt(6),
                                rows.getLong(10),
                                rows.getLong(11),
                                rows.getLong(12),
                                rows.getLong(13),
                                rows.getLong(14),
                                rows.getLong(22));
                case "batch" ->
                        TransactionAcks.batch(
                                acks,
                                at,
                                verdict,
                                rows.getLong(11),
                                rows.getLong(12),
                                rows.getLong(13),
                                rows.getLong(22));
                case "kv" -> keys.answered(KvProcedures.row(at + 1, verdict, rows, 15));
                case "timer" -> TimerProcedures.answer(timers, at, verdict, rows, 20);
                case "undone" -> undone = verdict;
                default -> throw new IllegalStateException("transact said " + verdict);
            }
        }
        return switch (undone) {
            case null -> new Outcome.Committed(complete(stored));
            case "duplicate" -> new Outcome.Duplicate(duplicate);
            case "kv_precondition" -> new Outcome.PreconditionLost();
            case "ack_rejected" -> new Outcome.AckRejected();
            case "busy" -> new Outcome.ComeAgain(cold, unknown);
            default -> throw new IllegalStateException("transact said " + undone);
        };
    }

    private static List<TransactionPushes.Stored> complete(
            TransactionPushes.@Nullable Stored[] stored) {
        List<TransactionPushes.Stored> all = new ArrayList<>(stored.length);
        for (TransactionPushes.Stored lane : stored) {
            if (lane == null) {
                throw new IllegalStateException("transact left a lane without a verdict");
            }
            all.add(lane);
        }
        return all;
    }

    private static Array array(Connection connection, String type, Object elements)
            throws SQLException {
        return connection.unwrap(PGConnection.class).createArrayOf(type, elements);
    }
}
