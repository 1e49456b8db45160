package io.queenmq.ack;

import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Item;
import io.queenmq.testkit.LogFixture.Job;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** What tests of dead letters need beside a lane, a group and its leases. */
abstract class DeadLetterAckScene extends AckScene {
    /** What a replay answered. */
    record Replayed(
            String verdict,
            @Nullable String queue,
            @Nullable String partition,
            @Nullable Long lane,
            @Nullable Long offset) {}

    String queueName() throws SQLException {
        return (String) log.value("select name from queen_store.queues where id = ?", queue);
    }

    /** The number of a message that is given up now, which is the next one of the lane. */
    long file(String transactionId, String error) throws SQLException {
        UUID lease = log.claimLeased(Job.of(1), group, lane).getFirst().leaseId();
        log.ack(lane, "g", lease, Item.dlq(transactionId, error));
        return (long)
                log.value(
                        "select max(id) from queen_store.dead_letters where partition_id = ?"
                                + " and transaction_id = ?",
                        lane,
                        transactionId);
    }

    Replayed replay(LogFixture on, long id) throws SQLException {
        return replay(on, id, null, null);
    }

    static Replayed replay(
            LogFixture on, long id, @Nullable String queue, @Nullable String partition)
            throws SQLException {
        return replay(on, LogFixture.TENANT, id, queue, partition);
    }

    static Replayed replay(
            LogFixture on, UUID tenant, long id, @Nullable String queue, @Nullable String partition)
            throws SQLException {
        @Nullable Object[] row =
                on.rows(
                                "select verdict, queue, partition, partition_id, \"offset\" from"
                                        + " queen_store.replay_dead_letter(?, ?, ?, ?, null,"
                                        + " null)",
                                tenant,
                                id,
                                queue,
                                partition)
                        .getFirst();
        return new Replayed(
                String.valueOf(row[0]),
                (String) row[1],
                (String) row[2],
                (Long) row[3],
                (Long) row[4]);
    }

    List<Long> list(
            @Nullable String groupName,
            @Nullable String partition,
            @Nullable String search,
            int limit,
            int offset)
            throws SQLException {
        return ids(
                log.rows(
                        "select unnest(ids) from queen_store.find_dead_letters(?, ?, ?, ?, null,"
                                + " null, ?, null, null, ?, ?, 1000)",
                        LogFixture.TENANT,
                        queueName(),
                        groupName,
                        partition,
                        search,
                        limit,
                        offset));
    }

    static List<Long> ids(List<@Nullable Object[]> rows) {
        return rows.stream().map(row -> (Long) Objects.requireNonNull(row[0])).toList();
    }

    long lastOffset(long ofLane) throws SQLException {
        return (long)
                log.value("select last_offset from queen_store.partitions where id = ?", ofLane);
    }

    @Nullable Object[] stored(long ofLane, long offset) throws SQLException {
        return log.rows(
                        "select transaction_id, payload, flags, trace_id, producer, message_id,"
                                + " created_at from queen_store.message_at(?, ?)",
                        ofLane,
                        offset)
                .getFirst();
    }
}
