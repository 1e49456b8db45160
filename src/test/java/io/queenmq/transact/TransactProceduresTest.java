package io.queenmq.transact;

import static io.queenmq.testkit.LogFixture.Item.completed;
import static io.queenmq.testkit.LogFixture.Item.dlq;
import static io.queenmq.testkit.LogFixture.Item.failed;
import static io.queenmq.testkit.LogFixture.Item.retry;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.TestDatabase;
import io.queenmq.transact.TransactCall.Row;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.postgresql.PGConnection;

/** What a bundle says, what it locks, and that it takes effect whole or not at all. */
class TransactProceduresTest extends BundleScene {
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private Connection other;

    @BeforeEach
    void open() throws SQLException {
        other = database.connect();
    }

    @AfterEach
    void close() throws SQLException {
        threads.shutdownNow();
        other.close();
    }

    private int rowsOf(String table) throws SQLException {
        return log.rows("select from queen_store." + table + " where partition_id = ?", lane)
                .size();
    }

    private void assertNothingHappened() throws SQLException {
        assertEquals(0, messages(target));
        assertEquals(9, log.committed(lane, group));
        assertEquals(0, rowsOf("dead_letters"));
    }

    @Test
    void pushesAndAcksAreOneCommit() throws SQLException {
        UUID lease = lease();
        List<Row> rows =
                new TransactCall()
                        .push(target, "a", "b")
                        .ack(lane, "g", lease, completed("m19"), completed("m12"))
                        .run(connection);
        assertEquals("[push 1 queued, ack 1 done, ack 2 done]", rows.toString());
        assertTrue(rows.get(1).released());
        assertEquals(2, messages(target));
        assertEquals(19, log.committed(lane, group));
    }

    @Test
    void aDuplicateUndoesEverything() throws SQLException {
        UUID lease = lease();
        long second = log.lane(log.queue());
        log.append(second, "there");
        assertEquals(
                List.of("push 1 queued", "push 2 duplicate", "undone 0 duplicate"),
                run(
                        new TransactCall()
                                .push(target, "a")
                                .push(second, "new", "there")
                                .ack(lane, "g", lease, completed("m19"))));
        assertNothingHappened();
        assertEquals(1, messages(second));
    }

    @Test
    void anAckThatCannotBeCarriedOutUndoesThePushes() throws SQLException {
        UUID lease = lease();
        assertEquals(
                List.of(
                        "push 1 queued",
                        "ack 1 done",
                        "ack 2 unresolvable",
                        "undone 0 ack_rejected"),
                run(
                        new TransactCall()
                                .push(target, "a")
                                .ack(lane, "g", lease, completed("m19"), completed("never"))));
        assertNothingHappened();
        assertEquals(
                "beyond_batch",
                new TransactCall()
                        .ack(lane, "g", lease, completed("m20"))
                        .run(connection)
                        .getFirst()
                        .verdict());
    }

    @Test
    void everyRefusalOfAnAckRollsBack() throws SQLException {
        assertEquals(
                List.of("ack 1 consumer_not_found", "undone 0 ack_rejected"),
                run(new TransactCall().ack(lane, "strangers", null, completed("m10"))));
        assertEquals(
                List.of("ack 1 not_owned", "undone 0 ack_rejected"),
                run(
                        new TransactCall()
                                .of(UUID.randomUUID())
                                .ack(lane, "g", null, completed("m10"))));
        assertEquals(
                List.of("ack 1 not_owned", "undone 0 ack_rejected"),
                run(new TransactCall().ack(0, "g", null, completed("m10"))));
        assertEquals(
                List.of("ack 1 no_leased_batch", "undone 0 ack_rejected"),
                run(new TransactCall().ack(lane, "g", null, retry("m10"))));
        assertEquals(
                List.of("ack 1 invalid_lease", "undone 0 ack_rejected"),
                run(new TransactCall().ack(lane, "g", UUID.randomUUID(), completed("m10"))));
        assertNothingHappened();
    }

    @Test
    void aLaneThatIsGoneUndoesTheRestAndAsksToComeAgain() throws SQLException {
        assertEquals(
                List.of("push 1 queued", "push 2 unknown_partition", "undone 0 busy"),
                run(
                        new TransactCall()
                                .push(target, "a")
                                .push(1L << 35, "b")
                                .ack(lane, "g", null, completed("m10"))));
        assertNothingHappened();
    }

    @Test
    void aDeadLetterIsInTheSameCommitAndGoesWithIt() throws SQLException {
        UUID lease = lease();
        log.append(target, "there");
        TransactCall doomed =
                new TransactCall().push(target, "there").ack(lane, "g", lease, dlq("m10", "why"));
        assertEquals(List.of("push 1 duplicate", "undone 0 duplicate"), run(doomed));
        assertEquals(0, rowsOf("dead_letters"));
        List<Row> rows =
                new TransactCall().ack(lane, "g", lease, dlq("m10", "why")).run(connection);
        assertTrue(rows.getFirst().deadLettered());
        assertEquals(1, rowsOf("dead_letters"));
    }

    @Test
    void aStaleFailureDoesNotRollBack() throws SQLException {
        assertEquals(
                List.of("push 1 queued", "ack 1 stale", "ack 2 noop"),
                run(
                        new TransactCall()
                                .push(target, "a")
                                .ack(lane, "g", null, failed("m8", null), completed("m9"))));
        assertEquals(1, messages(target));
    }

    @Test
    void anUndoneBundleLeavesNoLockAndNoError() throws SQLException {
        log.append(target, "there");
        connection.setAutoCommit(false);
        assertEquals(
                List.of("push 1 duplicate", "undone 0 duplicate"),
                run(new TransactCall().push(target, "there")));
        assertEquals(
                1,
                TestDatabase.rows(
                                other,
                                "select id from queen_store.partitions where id = ? for update"
                                        + " nowait",
                                target)
                        .size());
        connection.rollback();
    }

    // Lost answers.

    @Test
    void aCommittedBundleIsRecognisedByItsFlushIdsAndNotRunAgain() throws SQLException {
        UUID lease = lease();
        long second = log.lane(log.queue());
        TransactCall call =
                new TransactCall()
                        .push(target, "a", "b")
                        .push(second, "c")
                        .ack(lane, "g", lease, completed("m11"), dlq("m12", "why"));
        List<Row> first = call.run(connection);
        log.append(target, "later");
        List<Row> settled = call.settling().run(connection);
        assertEquals(first.toString(), settled.toString());
        assertEquals(first.get(0).base(), settled.get(0).base());
        assertFalse(settled.get(2).deadLettered());
        assertTrue(settled.get(3).deadLettered());
        assertEquals(3, messages(target));
        assertEquals(1, messages(second));
        assertEquals(1, rowsOf("dead_letters"));
    }

    /** The lane that is pushed to was written before the server's clock stepped back an hour. */
    @Test
    void whatABundleFiledIsToldWithoutTheClock() throws SQLException {
        log.run(
                "update queen_store.partitions set last_created_at = clock_timestamp() +"
                        + " interval '1 hour' where id = ?",
                target);
        TransactCall call =
                new TransactCall().push(target, "a").ack(lane, "g", lease(), dlq("m12", "why"));
        assertTrue(call.run(connection).getLast().deadLettered());
        assertTrue(call.settling().run(connection).getLast().deadLettered());
        assertEquals(1, messages(target), "not run again");
    }

    /** Evacuation writes the rows of the bundle's messages anew, between commit and question. */
    @Test
    void whatABundleFiledIsToldAlthoughItsMessagesWereMovedSince() throws SQLException {
        TransactCall call =
                new TransactCall().push(target, "a").ack(lane, "g", lease(), dlq("m12", "why"));
        assertTrue(call.run(connection).getLast().deadLettered());
        log.run(
                "update queen_store.segments set created_at = created_at where partition_id = ?",
                target);
        assertTrue(call.settling().run(connection).getLast().deadLettered());
        assertEquals(1, messages(target), "not run again");
    }

    /** The message was given up before, at a time that is still to come, and sought back. */
    @Test
    void whatWasFiledBeforeABundleIsNotItsOwn() throws SQLException {
        run(new TransactCall().ack(lane, "g", lease(), dlq("m12", "why")));
        log.run("update queen_store.dead_letters set failed_at = failed_at + interval '1 hour'");
        log.run(
                "update queen_store.cursors set committed = 9, prev_lease = null, prev_end = null,"
                        + " prev_committed = null where partition_id = ? and group_id = ?",
                lane,
                group);
        for (boolean pushes : new boolean[] {false, true}) {
            TransactCall call = new TransactCall().ack(lane, "g", lease(), failed("m12", "again"));
            if (pushes) {
                call.push(target, "a");
            }
            assertFalse(call.run(connection).getLast().deadLettered());
            assertFalse(call.settling().run(connection).getLast().deadLettered());
        }
    }

    @Test
    void aBundleThatDidNotCommitIsCarriedOutWhenItIsSettled() throws SQLException {
        UUID lease = lease();
        assertEquals(
                List.of("push 1 queued", "ack 1 done"),
                run(
                        new TransactCall()
                                .push(target, "a")
                                .ack(lane, "g", lease, completed("m19"))
                                .settling()));
        assertEquals(1, messages(target));
        assertEquals(19, log.committed(lane, group));
    }

    /** A negative number is that of a lane which was lost with its server, or was not. */
    @Test
    void lanesOfALostServerAreLookedIntoButNotWritten() throws SQLException {
        TransactCall call = new TransactCall().push(target, "a");
        call.run(connection);
        assertEquals(List.of("push 1 queued"), run(call.settling().ofLostServer()));
        assertEquals(
                List.of("push 1 unknown_partition", "undone 0 busy"),
                run(new TransactCall().push(target, "b").settling().ofLostServer()));
        assertEquals(1, messages(target));
    }

    @Test
    void aBundleWithoutPushesIsRecognisedByItsRow() throws SQLException {
        UUID lease = lease();
        TransactCall call = new TransactCall().ack(lane, "g", lease, failed("m12", "boom"));
        assertEquals(List.of("ack 1 done"), run(call));
        assertEquals(List.of("ack 1 done"), run(call.settling()));
        assertEquals(
                List.of("1"),
                log
                        .rows(
                                "select retry_count::text from queen_store.cursors where"
                                        + " partition_id = ?",
                                lane)
                        .stream()
                        .map(row -> Objects.toString(row[0]))
                        .toList(),
                "charged once");
    }

    @Test
    void anUndoneBundleLeavesNoRowByWhichItWouldPassForCommitted() throws SQLException {
        TransactCall call = new TransactCall().ack(lane, "strangers", null, completed("m10"));
        assertEquals(List.of("ack 1 consumer_not_found", "undone 0 ack_rejected"), run(call));
        assertEquals(
                List.of("ack 1 consumer_not_found", "undone 0 ack_rejected"), run(call.settling()));
    }

    @Test
    void tracesOfOldBundlesAreLeftToTheSweepWhichTakesNoneThatIsFresh() throws SQLException {
        log.run("delete from queen_store.bundles");
        log.run(
                "insert into queen_store.bundles select ('00000000-0000-7000-8000-' ||"
                        + " lpad(n::text, 12, '0'))::uuid, clock_timestamp() - interval '11 minutes'"
                        + " from generate_series(1, 600) n");
        for (int i = 1; i <= 64; i++) {
            run(
                    new TransactCall()
                            .named(
                                    UUID.fromString(
                                            "01900000-0000-7000-8000-0000000001%02x".formatted(i)))
                            .ack(lane, "g", null, completed("m10")));
            assertEquals(600 + i, bundles());
        }
        assertEquals(600, log.value("select queen_store.sweep_bundles(1000)"));
        assertEquals(64, bundles(), "none that is fresh");
    }

    private int bundles() throws SQLException {
        return log.rows("select from queen_store.bundles").size();
    }

    // Two connections.

    @Test
    void aCursorPlacedWhileTheBundleWaitedForAnotherAsksToComeAgain() throws Exception {
        long fresh =
                log.lane(
                        (int)
                                log.value(
                                        "select queue_id from queen_store.partitions where id = ?",
                                        lane));
        log.fill(fresh, 1, 1);
        connection.setAutoCommit(false);
        assertEquals(
                List.of("ack 1 done"),
                run(new TransactCall().ack(lane, "g", null, completed("m10"))));
        TransactCall both =
                new TransactCall()
                        .push(target, "a")
                        .ack(lane, "g", null, completed("m11"))
                        .ack(fresh, "g", null, completed("m0"));
        Future<List<Row>> waiting = threads.submit(() -> both.run(other));
        awaitLockOf(other);
        log.cursor(fresh, group, -1);
        connection.commit();
        assertEquals(
                "[push 1 queued, ack 1 done, ack 2 busy, undone 0 busy]", waiting.get().toString());
        assertEquals("[push 1 queued, ack 1 done, ack 2 done]", both.run(other).toString());
    }

    @Test
    void bundlesOverTheSameLanesInAnyOrderWaitForEachOther() throws Exception {
        long second = log.lane(log.queue());
        connection.setAutoCommit(false);
        assertEquals(
                List.of("push 1 queued", "push 2 queued"),
                run(new TransactCall().push(second, "a").push(target, "b")));
        Future<List<Row>> waiting =
                threads.submit(
                        () -> new TransactCall().push(target, "c").push(second, "a").run(other));
        awaitLockOf(other);
        connection.commit();
        assertEquals(
                "[push 1 queued, push 2 duplicate, undone 0 duplicate]", waiting.get().toString());
        assertEquals(1, messages(target));
    }

    @Test
    void aHeldCursorIsWaitedForAndJudgedAfterwards() throws Exception {
        UUID lease = lease();
        connection.setAutoCommit(false);
        assertEquals(
                List.of("ack 1 done"),
                run(new TransactCall().ack(lane, "g", lease, completed("m19"))));
        Future<List<Row>> waiting =
                threads.submit(
                        () ->
                                new TransactCall()
                                        .push(target, "a")
                                        .ack(lane, "g", lease, completed("m19"))
                                        .run(other));
        awaitLockOf(other);
        connection.commit();
        assertEquals("[push 1 queued, ack 1 noop]", waiting.get().toString());
    }

    @Test
    void aLaneHeldTooLongEndsTheWaitWithTheServersOwnError() throws SQLException {
        connection.setAutoCommit(false);
        TestDatabase.rows(
                connection,
                "select id from queen_store.partitions where id = ? for no key update",
                target);
        SQLException late =
                assertThrows(
                        SQLException.class, () -> new TransactCall().push(target, "a").run(other));
        assertEquals("55P03", late.getSQLState());
        connection.rollback();
        assertEquals(0, messages(target));
        assertEquals(
                "0",
                Objects.toString(
                        TestDatabase.rows(other, "select current_setting('lock_timeout')")
                                .getFirst()[0]));
    }

    private void awaitLockOf(Connection waiting) throws SQLException {
        int pid = waiting.unwrap(PGConnection.class).getBackendPID();
        try (Connection witness = database.connect()) {
            Await.until(
                    "a wait for a lock",
                    () ->
                            !TestDatabase.rows(
                                            witness,
                                            "select 1 from pg_stat_activity where pid = ? and"
                                                    + " wait_event_type = 'Lock'",
                                            pid)
                                    .isEmpty());
        }
    }
}
