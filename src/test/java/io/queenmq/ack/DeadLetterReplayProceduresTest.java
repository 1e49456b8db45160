package io.queenmq.ack;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.LogFixture;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class DeadLetterReplayProceduresTest extends DeadLetterAckScene {
    // Replay.

    @Test
    void aReplayMovesTheMessageToTheEndOfItsLane() throws SQLException {
        long id = file("m10", "e");
        log.run(
                "update queen_store.dead_letters set payload = ?, trace_id = ?, producer = 'shop'"
                        + " where id = ?",
                "{\"n\" : 1.0}".getBytes(StandardCharsets.UTF_8),
                new UUID(7, 7),
                id);
        Replayed replayed = replay(log, id);
        assertEquals("moved", replayed.verdict());
        assertEquals(queueName(), replayed.queue());
        assertEquals(30L, replayed.offset());
        assertEquals(30, lastOffset(lane));
        @Nullable Object[] copy = stored(lane, 30);
        assertEquals("dlq:" + id, copy[0]);
        assertEquals("{\"n\" : 1.0}", text(copy[1]));
        assertEquals(new UUID(7, 7), copy[3]);
        assertEquals("shop", copy[4]);
        assertEquals(0, letters());
        assertEquals("gone", replay(log, id).verdict());
        assertEquals(30, lastOffset(lane));
        assertEquals(
                List.of(),
                log.rows("select from queen.violations(?, ?)", queueName(), replayed.partition()),
                "the log is sound");
    }

    @Test
    void theCopyKeepsWhatItsFlagsSayOfThePayload() throws SQLException {
        long id = file("m10", "e");
        log.run("update queen_store.dead_letters set flags = flags | 64 where id = ?", id);
        replay(log, id);
        assertEquals(64, flagsAt(30) & 96);
    }

    @Test
    void aReplayGoesElsewhereAndMakesWhatIsMissing() throws SQLException {
        long id = file("m10", "e");
        String elsewhere = "elsewhere-" + UUID.randomUUID();
        Replayed replayed = replay(log, id, elsewhere, "new lane");
        assertEquals("moved", replayed.verdict());
        assertEquals(elsewhere, replayed.queue());
        assertEquals("new lane", replayed.partition());
        assertEquals(0L, replayed.offset());
        assertNotNull(replayed.lane());
        assertEquals("dlq:" + id, stored(replayed.lane(), 0)[0]);
        assertEquals(29, lastOffset(lane));
    }

    @Test
    void aTransactionIdThatTheLaneHasAlreadyIsADuplicateAndTheRowStays() throws SQLException {
        long id = file("m10", "e");
        log.append(lane, "dlq:" + id);
        assertEquals("duplicate", replay(log, id).verdict());
        assertEquals(1, letters());
        assertEquals(30, lastOffset(lane));
        log.run("update queen_store.queues set dedup_window_seconds = 0 where id = ?", queue);
        assertEquals("moved", replay(log, id).verdict());
    }

    @Test
    @Contract("dlq-3")
    void aRowOfAnotherTenantOrOfADeletedQueueIsGone() throws SQLException {
        long id = file("m10", "e");
        assertEquals("gone", replay(log, UUID.randomUUID(), id, null, null).verdict());
        assertEquals("gone", replay(log, Long.MAX_VALUE).verdict());
        log.run("update queen_store.queues set deleted_at = clock_timestamp() where id = ?", queue);
        assertEquals("gone", replay(log, id).verdict());
        assertEquals(1, letters());
    }

    @Test
    void aRowWhoseLaneIsGoneNeedsANamedOne() throws SQLException {
        long id = file("m10", "e");
        log.run("delete from queen_store.partitions where id = ?", lane);
        assertEquals("no_partition", replay(log, id).verdict());
        assertEquals("moved", replay(log, id, null, "again").verdict());
    }

    @Test
    void aPayloadIsMovedAsTheQueueWantsIt() throws SQLException {
        long id = file("m10", "e");
        log.run("update queen_store.queues set encryption_enabled = true where id = ?", queue);
        assertEquals("seal", replay(log, id).verdict());
        assertEquals("seal", replayAs(id, "{}", false), "it was opened for a plain queue");
        assertEquals(29, lastOffset(lane));
        assertEquals(1, letters());
        assertEquals("moved", replayAs(id, "{\"encrypted\":\"x\"}", true));
        assertEquals("{\"encrypted\":\"x\"}", text(stored(lane, 30)[1]));
        assertEquals(32, flagsAt(30) & 32);
    }

    @Test
    void anEnvelopeIsOpenedForAPlainQueueOrStaysOne() throws SQLException {
        long first = file("m10", "e");
        long second = file("m11", "e");
        log.run("update queen_store.dead_letters set flags = flags | 32 where queue_id = ?", queue);
        assertEquals("open", replay(log, first).verdict());
        assertEquals("moved", replayAs(first, "7", false));
        assertEquals("7", text(stored(lane, 30)[1]));
        assertEquals(0, flagsAt(30) & 32);
        assertEquals("moved", replayAs(second, "{}", true), "nobody had the key");
        assertEquals(32, flagsAt(31) & 32);
    }

    private String replayAs(long id, String payload, boolean encrypted) throws SQLException {
        return (String)
                log.value(
                        "select verdict from queen_store.replay_dead_letter(?, ?, null, null, ?,"
                                + " ?)",
                        LogFixture.TENANT,
                        id,
                        payload.getBytes(StandardCharsets.UTF_8),
                        encrypted);
    }

    private int flagsAt(long offset) throws SQLException {
        return (Integer) Objects.requireNonNull(stored(lane, offset)[2]);
    }

    // Races: two connections, step by step.

    private static <T> CompletableFuture<T> beside(java.util.concurrent.Callable<T> step) {
        return CompletableFuture.supplyAsync(
                () -> {
                    try {
                        return step.call();
                    } catch (Exception e) {
                        throw new CompletionException(e);
                    }
                },
                task -> Thread.ofVirtual().start(task));
    }

    private void awaitBlocked() {
        Await.until(
                "a session waits for a lock",
                () ->
                        !log.rows(
                                        "select from pg_stat_activity where datname ="
                                                + " current_database() and wait_event_type = 'Lock'")
                                .isEmpty());
    }

    @Test
    void ofTwoReplaysToOneLaneOneMovesTheOtherFindsItGone() throws Exception {
        twoReplays(null);
        assertEquals(30, lastOffset(lane));
    }

    @Test
    @Contract("dlq-5")
    void ofTwoReplaysToTwoLanesOneMovesTheOtherFindsItGone() throws Exception {
        twoReplays("other");
        assertEquals(
                -1L,
                log.value(
                        "select last_offset from queen_store.partitions where queue_id = ? and name"
                                + " = 'other'",
                        queue));
    }

    private void twoReplays(@Nullable String otherPartition) throws Exception {
        long id = file("m10", "e");
        try (Connection second = database.connect();
                Connection third = database.connect()) {
            second.setAutoCommit(false);
            assertEquals("moved", replay(new LogFixture(second), id).verdict());
            LogFixture later = new LogFixture(third);
            CompletableFuture<Replayed> other =
                    beside(() -> replay(later, id, null, otherPartition));
            awaitBlocked();
            second.commit();
            assertEquals("gone", other.get().verdict());
        }
        assertEquals(0, letters());
    }

    @Test
    void aReplayThatIsUndoneLeavesTheRowToTheOther() throws Exception {
        long id = file("m10", "e");
        try (Connection second = database.connect();
                Connection third = database.connect()) {
            second.setAutoCommit(false);
            replay(new LogFixture(second), id);
            LogFixture later = new LogFixture(third);
            CompletableFuture<Replayed> other = beside(() -> replay(later, id));
            awaitBlocked();
            second.rollback();
            assertEquals("moved", other.get().verdict());
        }
        assertEquals(30, lastOffset(lane));
        assertEquals(0, letters());
    }

    @Test
    void aMessagePushedWhileTheReplayWaitsForTheLaneIsSeen() throws Exception {
        long id = file("m10", "e");
        try (Connection second = database.connect();
                Connection third = database.connect()) {
            second.setAutoCommit(false);
            new LogFixture(second).append(lane, "x", "dlq:" + id);
            LogFixture later = new LogFixture(third);
            CompletableFuture<Replayed> replayed = beside(() -> replay(later, id));
            awaitBlocked();
            second.commit();
            assertEquals("duplicate", replayed.get().verdict());
        }
        assertEquals(1, letters());
    }

    @Test
    void aDeletionOvertakenByAReplayFindsNothing() throws Exception {
        long id = file("m10", "e");
        try (Connection second = database.connect();
                Connection third = database.connect()) {
            second.setAutoCommit(false);
            replay(new LogFixture(second), id);
            LogFixture deleting = new LogFixture(third);
            CompletableFuture<Object> deleted =
                    beside(
                            () ->
                                    deleting.value(
                                            "select queen_store.delete_dead_letter(?, ?, 'm10')",
                                            LogFixture.TENANT,
                                            lane));
            awaitBlocked();
            second.commit();
            assertEquals(0, deleted.get());
        }
    }

    @Test
    void aReplayFindsARowDeletedMeanwhileGone() throws Exception {
        long id = file("m10", "e");
        try (Connection second = database.connect();
                Connection third = database.connect()) {
            second.setAutoCommit(false);
            new LogFixture(second)
                    .value(
                            "select queen_store.delete_dead_letter(?, ?, 'm10')",
                            LogFixture.TENANT,
                            lane);
            LogFixture later = new LogFixture(third);
            CompletableFuture<Replayed> replayed = beside(() -> replay(later, id));
            awaitBlocked();
            second.commit();
            assertEquals("gone", replayed.get().verdict());
        }
        assertEquals(29, lastOffset(lane));
    }

    @Test
    void theViewNoLongerShowsWhatWasMoved() throws SQLException {
        long id = file("m10", "e");
        assertEquals(1, log.rows("select from queen.dead_letters where id = ?", id).size());
        replay(log, id);
        assertEquals(0, log.rows("select from queen.dead_letters where id = ?", id).size());
        assertNull(
                log.rows("select max(id) from queen_store.dead_letters where id = ?", id)
                        .getFirst()[0]);
    }
}
