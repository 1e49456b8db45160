package io.queenmq.ack;

import io.queenmq.ack.Replay.Letter;
import io.queenmq.db.Database;
import io.queenmq.db.Rows;
import io.queenmq.ready.LaneWrites;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Types;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.List;
import java.util.UUID;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Deletes dead letters and moves them. */
final class DeadLetterProcedures {
    /**
     * A step of a deletion.
     *
     * @param last behind which the next begins; null = there is none
     */
    record Step(int deleted, DeadLetterFilter.@Nullable Place last) {}

    /**
     * One that a bulk replay is to move.
     *
     * @param lane number of the lane it came from
     */
    record Oldest(DeadLetterFilter.Place place, long lane) {}

    /** What a replay answers. */
    sealed interface Answer {
        /** That was it. */
        record Done(Replay replay) implements Answer {}

        /** The queue it is to go to wants this payload encrypted. */
        record Seal(byte[] payload) implements Answer {}

        /** The queue it is to go to wants what is in this envelope. */
        record Open(byte[] payload) implements Answer {}
    }

    /** What a replay stores in the place of the payload of the dead letter. */
    record Payload(byte[] bytes, boolean encrypted) {}

    private final Database database;

    DeadLetterProcedures(Database database) {
        this.database = database;
    }

    /** Numbers of the dead letters of one message, newest first. */
    List<Long> of(UUID tenant, long partitionNumber, String transactionId) {
        return database.call(
                "dead_letters_of",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select id from queen_store.dead_letters_of"
                                                    + "(?, ?, ?)")) {
                        statement.setObject(1, tenant);
                        statement.setLong(2, partitionNumber);
                        statement.setString(3, transactionId);
                        return Rows.list(statement, row -> row.getLong(1));
                    }
                });
    }

    /**
     * The oldest dead letters of a queue.
     *
     * @param after only those behind this one; null = all
     */
    List<Oldest> oldest(
            UUID tenant,
            String queue,
            @Nullable String group,
            DeadLetterFilter.@Nullable Place after,
            int limit) {
        return database.call(
                "oldest_dead_letters",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select id, partition_id, failed_at"
                                                    + " from queen_store.oldest_dead_letters"
                                                    + "(?, ?, ?, ?, ?, ?)")) {
                        statement.setObject(1, tenant);
                        statement.setString(2, queue);
                        statement.setString(3, group);
                        statement.setObject(
                                4,
                                after == null ? null : after.failedAt().atOffset(ZoneOffset.UTC));
                        statement.setLong(5, after == null ? 0 : after.id());
                        statement.setInt(6, limit);
                        return Rows.list(
                                statement,
                                row ->
                                        new Oldest(
                                                new DeadLetterFilter.Place(
                                                        instant(row, 3), row.getLong(1)),
                                                row.getLong(2)));
                    }
                });
    }

    private static Instant instant(ResultSet row, int column) throws SQLException {
        return row.getObject(column, OffsetDateTime.class).toInstant();
    }

    /** How many dead letters of one message there were. */
    int delete(UUID tenant, long partitionNumber, String transactionId) {
        return database.call(
                "delete_dead_letter",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select queen_store.delete_dead_letter(?, ?, ?)")) {
                        statement.setObject(1, tenant);
                        statement.setLong(2, partitionNumber);
                        statement.setString(3, transactionId);
                        return Rows.only(statement, row -> row.getInt(1));
                    }
                });
    }

    Step delete(
            UUID tenant,
            String queue,
            @Nullable String group,
            Instant until,
            DeadLetterFilter.@Nullable Place after,
            int limit) {
        return database.call(
                "delete_dead_letters",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select deleted, last_at, last_id"
                                                    + " from queen_store.delete_dead_letters"
                                                    + "(?, ?, ?, ?, ?, ?, ?)")) {
                        statement.setObject(1, tenant);
                        statement.setString(2, queue);
                        statement.setString(3, group);
                        statement.setObject(4, until.atOffset(ZoneOffset.UTC));
                        statement.setObject(
                                5,
                                after == null ? null : after.failedAt().atOffset(ZoneOffset.UTC));
                        statement.setLong(6, after == null ? 0 : after.id());
                        statement.setInt(7, limit);
                        return Rows.only(statement, DeadLetterProcedures::step);
                    }
                });
    }

    private static Step step(ResultSet row) throws SQLException {
        OffsetDateTime last = row.getObject(2, OffsetDateTime.class);
        return new Step(
                row.getInt(1),
                last == null ? null : new DeadLetterFilter.Place(last.toInstant(), row.getLong(3)));
    }

    /**
     * @param queue null = its own; so for {@code partition}
     * @param payload null = as it is
     * @param written is told the lane that a copy went to
     */
    Answer replay(
            UUID tenant,
            long id,
            @Nullable String queue,
            @Nullable String partition,
            @Nullable Payload payload,
            Consumer<LaneWrites.Lane> written) {
        return database.call(
                "replay_dead_letter",
                session -> {
                    try (PreparedStatement statement =
                            session.connection()
                                    .prepareStatement(
                                            "select verdict, queue, partition, consumer_group,"
                                                    + " transaction_id, queue_id, partition_id,"
                                                    + " \"offset\", message_id, created_at,"
                                                    + " payload"
                                                    + " from queen_store.replay_dead_letter"
                                                    + "(?, ?, ?, ?, ?, ?)")) {
                        statement.setObject(1, tenant);
                        statement.setLong(2, id);
                        statement.setString(3, queue);
                        statement.setString(4, partition);
                        statement.setBytes(5, payload == null ? null : payload.bytes());
                        statement.setObject(
                                6, payload == null ? null : payload.encrypted(), Types.BOOLEAN);
                        return Rows.only(statement, row -> answer(tenant, id, row, written));
                    }
                });
    }

    private static Answer answer(
            UUID tenant, long id, ResultSet row, Consumer<LaneWrites.Lane> written)
            throws SQLException {
        String verdict = row.getString(1);
        return switch (verdict) {
            case "seal" -> new Answer.Seal(row.getBytes(11));
            case "open" -> new Answer.Open(row.getBytes(11));
            default -> new Answer.Done(replay(verdict, tenant, id, row, written));
        };
    }

    private static Replay replay(
            String verdict, UUID tenant, long id, ResultSet row, Consumer<LaneWrites.Lane> written)
            throws SQLException {
        return switch (verdict) {
            case "moved" -> {
                written.accept(
                        new LaneWrites.Lane(
                                tenant,
                                row.getInt(6),
                                row.getString(2),
                                row.getLong(7),
                                row.getString(3),
                                row.getLong(8)));
                yield new Replay.Moved(
                        letter(id, row),
                        row.getObject(9, UUID.class),
                        row.getLong(8),
                        instant(row, 10));
            }
            case "duplicate" -> new Replay.Duplicate(letter(id, row));
            case "gone" -> new Replay.Gone();
            case "expired" -> new Replay.Expired(id);
            case "no_partition" -> new Replay.NoPartition(id);
            default -> throw new IllegalStateException(verdict);
        };
    }

    private static Letter letter(long id, ResultSet row) throws SQLException {
        return new Letter(
                id,
                row.getString(2),
                row.getString(3),
                row.getString(4),
                row.getString(5),
                "dlq:" + id);
    }
}
