package io.queenmq.group;

import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Claim;
import io.queenmq.testkit.LogFixture.Job;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;

/** A queue with a group and a lane of ten messages, offsets 0 to 9, two to a segment. */
abstract class SeekScene {
    static TestDatabase database;

    Connection connection;
    LogFixture log;
    String name;
    int queue;
    int group;
    long lane;

    /** What a call of the delete or the seek of a queue answered. */
    record Moved(
            String verdict,
            long lanes,
            @Nullable Instant from,
            @Nullable Integer pid,
            @Nullable String application) {}

    @FunctionalInterface
    interface Step<T> {
        T run() throws SQLException;
    }

    @BeforeAll
    static void create() {
        database = TestDatabase.migrated();
    }

    @AfterAll
    static void drop() {
        database.close();
    }

    @BeforeEach
    void setUp() throws SQLException {
        connection = database.connect();
        TestDatabase.rows(connection, "set statement_timeout = '20s'");
        log = new LogFixture(connection);
        name = "q-" + UUID.randomUUID();
        queue = log.queue(name);
        group = log.group(queue);
        lane = lane("p");
        log.fill(lane, 5, 2);
    }

    @AfterEach
    void close() throws SQLException {
        connection.close();
    }

    long lane(String partition) throws SQLException {
        return (long)
                log.value(
                        "insert into queen_store.partitions (queue_id, name) values (?, ?)"
                                + " returning id",
                        queue,
                        partition);
    }

    Moved seekQueue(String target, @Nullable Instant at) throws SQLException {
        return seekQueue(log, "g", target, at);
    }

    Moved seekQueue(LogFixture on, String groupName, String target, @Nullable Instant at)
            throws SQLException {
        @Nullable Object[] row =
                on.rows(
                                "select verdict, lane_count, effective_at, held_by_pid,"
                                        + " held_by_application from queen_store.seek_queue(?, ?, ?, ?,"
                                        + " ?::text::timestamptz)",
                                LogFixture.TENANT,
                                name,
                                groupName,
                                target,
                                at == null ? null : at.toString())
                        .getFirst();
        return new Moved(
                String.valueOf(row[0]),
                (long) Objects.requireNonNull(row[1]),
                row[2] == null ? null : ((Timestamp) row[2]).toInstant(),
                (Integer) row[3],
                (String) row[4]);
    }

    /** The cursor it leaves, or the verdict that it could not. */
    String seekLane(String partition, String target, @Nullable Instant at, @Nullable Long offset)
            throws SQLException {
        return seekLane(log, "g", partition, target, at, offset);
    }

    String seekLane(
            LogFixture on,
            String groupName,
            String partition,
            String target,
            @Nullable Instant at,
            @Nullable Long offset)
            throws SQLException {
        @Nullable Object[] row =
                on.rows(
                                "select verdict, committed from queen_store.seek_lane(?, ?, ?, ?,"
                                        + " ?, ?::text::timestamptz, ?::bigint)",
                                LogFixture.TENANT,
                                name,
                                partition,
                                groupName,
                                target,
                                at == null ? null : at.toString(),
                                offset)
                        .getFirst();
        return "moved".equals(row[0]) ? String.valueOf(row[1]) : String.valueOf(row[0]);
    }

    /** Lanes reported per queue. */
    List<Long> delete(LogFixture on, @Nullable String queueName, String groupName, boolean forget)
            throws SQLException {
        return on
                .rows(
                        "select lane_count from queen_store.delete_group(?, ?, ?, ?)"
                                + " order by queue_id",
                        LogFixture.TENANT,
                        queueName,
                        groupName,
                        forget)
                .stream()
                .map(row -> (Long) Objects.requireNonNull(row[0]))
                .toList();
    }

    @Nullable Long effective(long ofLane) throws SQLException {
        return (Long)
                log.rows("select queen_store.effective_cursor(?, ?)", ofLane, group).getFirst()[0];
    }

    /** Offset of the first message that a pop of this lane would get; -1 = none. */
    long next(long ofLane) throws SQLException {
        return next(log, ofLane);
    }

    long next(LogFixture on, long ofLane) throws SQLException {
        Claim claim = on.claimFirst(Job.of(1), group, null, null, ofLane).getFirst();
        return claim.verdict().equals("leased") ? claim.from() : -1;
    }

    List<Long> lanesWithWork() throws SQLException {
        return log
                .rows(
                        "select partition_id from queen_store.lanes_with_work(?, ?, null, null,"
                                + " null, 1000) order by partition_id",
                        queue,
                        group)
                .stream()
                .map(row -> (Long) Objects.requireNonNull(row[0]))
                .toList();
    }

    Instant createdAt(long ofLane, long offset) throws SQLException {
        return ((Timestamp)
                        log.value(
                                "select created_at from queen_store.segments where partition_id = ?"
                                        + " and base_offset <= ? and end_offset >= ?",
                                ofLane,
                                offset,
                                offset))
                .toInstant();
    }

    int generation() throws SQLException {
        return (int) log.value("select generation from queen_store.groups where id = ?", group);
    }

    UUID lease(long ofLane) throws SQLException {
        UUID lease = log.claimLeased(Job.of(2), group, ofLane).getFirst().leaseId();
        assertNotNull(lease);
        return lease;
    }

    /** Runs a step on a connection of its own, beside this thread. */
    static <T> CompletableFuture<T> beside(Step<T> step) {
        return CompletableFuture.supplyAsync(
                () -> {
                    try {
                        return step.run();
                    } catch (SQLException e) {
                        throw new CompletionException(e);
                    }
                },
                task -> Thread.ofVirtual().start(task));
    }

    /** Waits until another session waits for a lock. */
    void awaitBlocked() {
        Await.until(
                "a session waits for a lock",
                () -> {
                    try {
                        return !log.rows(
                                        "select from pg_stat_activity where datname ="
                                                + " current_database() and wait_event_type = 'Lock'")
                                .isEmpty();
                    } catch (SQLException e) {
                        throw new IllegalStateException(e);
                    }
                });
    }
}
