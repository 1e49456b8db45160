package io.queenmq.transact;

import static io.queenmq.testkit.LogFixture.Item.completed;
import static io.queenmq.testkit.LogFixture.Item.failed;
import static io.queenmq.testkit.LogFixture.Item.retry;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.queenmq.testkit.LogFixture.Job;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** Which leases pass for the acks of a bundle: of two workers only one may commit its output. */
class TransactLeaseProceduresTest extends BundleScene {
    private void assertNothingHappened() throws SQLException {
        assertEquals(0, messages(target));
        assertEquals(9, log.committed(lane, group));
    }

    @Test
    void aWholeBatchIsReleasedInTheSameCommit() throws SQLException {
        UUID lease = lease();
        assertEquals(
                List.of("push 1 queued", "batch 1 released"),
                run(new TransactCall().push(target, "a").batch(lane, group, lease, 19)));
        assertEquals(1L, messages(target));
        assertEquals(19, log.committed(lane, group));
        assertEquals(
                List.of("batch 1 noop"),
                run(new TransactCall().batch(lane, group, lease, 19)),
                "again");
    }

    @Test
    void aBatchThatIsAnotherUndoesEverythingAndAsksToComeAgain() throws SQLException {
        UUID lease = lease();
        assertEquals(
                List.of("push 1 queued", "batch 1 lost", "undone 0 busy"),
                run(
                        new TransactCall()
                                .push(target, "a")
                                .batch(lane, group, UUID.randomUUID(), 19)));
        assertEquals(
                List.of("push 1 queued", "batch 1 lost", "undone 0 busy"),
                run(new TransactCall().push(target, "a").batch(lane, group, lease, 18)));
        assertNothingHappened();
    }

    @Test
    void aBatchWhoseCursorSomebodyHoldsIsNotWaitedFor() throws SQLException {
        UUID lease = lease();
        try (Connection other = database.connect()) {
            other.setAutoCommit(false);
            TestDatabase.rows(
                    other,
                    "select from queen_store.cursors where partition_id = ? for update",
                    lane);
            assertEquals(
                    List.of("push 1 queued", "batch 1 busy", "undone 0 busy"),
                    run(new TransactCall().push(target, "a").batch(lane, group, lease, 19)));
        }
        assertNothingHappened();
    }

    /** Numbers of lanes can be guessed, and names of groups are usual ones. */
    @Test
    void whoGuessesAnothersLaneHoldsUpNobodyThere() throws SQLException {
        lease();
        try (Connection guest = database.connect();
                Connection owner = database.connect()) {
            guest.setAutoCommit(false);
            assertEquals(
                    List.of(List.of(false)),
                    TestDatabase.rows(
                                    guest,
                                    "select queen_store.hold_leases(?, array[?], array[]::uuid[],"
                                            + " array[?], array['g'])",
                                    UUID.randomUUID(),
                                    UUID.randomUUID(),
                                    lane)
                            .stream()
                            .map(List::of)
                            .toList());
            assertEquals(
                    1,
                    TestDatabase.rows(
                                    owner,
                                    "select from queen_store.cursors where partition_id = ? for"
                                            + " update skip locked",
                                    lane)
                            .size());
        }
    }

    @Test
    void aLeaseNamedElsewherePassesForTheHolderOnly() throws SQLException {
        UUID mine = lease();
        assertEquals(
                List.of("ack 1 done"),
                run(
                        new TransactCall()
                                .require(UUID.randomUUID(), mine)
                                .ack(lane, "g", null, completed("m11"))));
        log.expire(lane, group);
        UUID theirs = lease();
        assertEquals(
                List.of("ack 1 invalid_lease", "undone 0 ack_rejected"),
                run(new TransactCall().require(mine).ack(lane, "g", null, completed("m12"))));
        assertEquals(
                List.of("ack 1 done"),
                run(new TransactCall().require(theirs).ack(lane, "g", null, completed("m12"))));
    }

    /** Whatever the bundle does, and whether or not it acknowledges anything. */
    @Test
    void aLeaseThatNoAckGoesByMustBeHeldAllTheSame() throws SQLException {
        UUID mine = lease();
        int otherQueue = log.queue();
        int otherGroup = log.group(otherQueue);
        long otherLane = log.lane(otherQueue);
        log.fill(otherLane, 1, 3);
        log.cursor(otherLane, otherGroup, -1);
        UUID own = log.claimLeased(Job.of(10), otherGroup, otherLane).getFirst().leaseId();
        assertNotNull(own);
        assertEquals(
                List.of("push 1 queued"),
                run(new TransactCall().require(mine).push(target, "held")));
        assertEquals(
                List.of("kv 1 applied", "ack 1 done"),
                run(
                        new TransactCall()
                                .require(mine)
                                .key("put", "k", null, false)
                                .ack(otherLane, "g", own, completed("m0"))));
        log.expire(lane, group);
        UUID theirs = lease();
        for (UUID lost : List.of(mine, UUID.randomUUID(), new UUID(0, 0))) {
            assertEquals(
                    List.of("push 1 queued", "undone 0 ack_rejected"),
                    run(new TransactCall().require(lost).push(target, "lost")));
            assertEquals(
                    List.of("kv 1 applied", "undone 0 ack_rejected"),
                    run(new TransactCall().require(theirs, lost).key("put", "l", null, false)));
            assertEquals(
                    List.of("undone 0 ack_rejected"),
                    run(
                            new TransactCall()
                                    .require(lost)
                                    .ack(otherLane, "g", own, completed("m1"))));
            assertEquals(
                    List.of("undone 0 ack_rejected"),
                    run(new TransactCall().require(lost).batch(otherLane, otherGroup, own, 2)));
        }
        assertEquals(1, messages(target));
        assertEquals(0, log.committed(otherLane, otherGroup));
        assertEquals(
                List.of("batch 1 released"),
                run(new TransactCall().require(theirs).batch(otherLane, otherGroup, own, 2)));
        assertEquals(
                List.of("push 1 queued"),
                run(new TransactCall().require(own).push(target, "ended by its ack")));
    }

    /** Who claims while the bundle is under way waits for it, or finds the lane taken. */
    @Test
    void aLeaseThatIsRequiredIsNotTakenOverBeforeTheCommit() throws SQLException {
        UUID mine = lease();
        connection.setAutoCommit(false);
        assertEquals(
                List.of("push 1 queued"), run(new TransactCall().require(mine).push(target, "a")));
        try (Connection other = database.connect()) {
            assertEquals(
                    List.of(),
                    TestDatabase.rows(
                            other,
                            "select from queen_store.cursors where partition_id = ? for update"
                                    + " skip locked",
                            lane));
        }
        connection.commit();
        connection.setAutoCommit(true);
    }

    @Test
    void aRepetitionUnderTheLeaseAcknowledgedLastIsANoop() throws SQLException {
        UUID lease = lease();
        TransactCall call = new TransactCall().ack(lane, "g", lease, completed("m19"));
        assertEquals(List.of("ack 1 done"), run(call));
        assertEquals(List.of("ack 1 noop"), run(call.named(UUID.randomUUID())));
        UUID next = lease();
        assertEquals(
                List.of("ack 1 noop", "ack 2 done"),
                run(
                        new TransactCall()
                                .require(next)
                                .ack(lane, "g", lease, completed("m19"), completed("m20"))));
    }

    @Test
    void whatALeaseGaveBackIsNotAcknowledgedByIt() throws SQLException {
        UUID lease = lease();
        assertEquals(
                List.of("ack 1 done"), run(new TransactCall().ack(lane, "g", lease, retry("m15"))));
        assertEquals(
                List.of("ack 1 invalid_lease", "undone 0 ack_rejected"),
                run(new TransactCall().ack(lane, "g", lease, completed("m16"))));
    }

    @Test
    void whatALeaseGaveBackItDoesNotAcknowledgeAfterTheNextHolderDidEither() throws SQLException {
        UUID mine = lease();
        assertEquals(
                List.of("ack 1 done", "ack 2 done"),
                run(
                        new TransactCall()
                                .ack(lane, "g", mine, completed("m14"), failed("m15", "slow"))));
        UUID theirs = lease();
        for (String id : List.of("m15", "m16")) {
            assertEquals(
                    List.of("ack 1 done"),
                    run(new TransactCall().ack(lane, "g", theirs, completed(id))));
        }
        for (String id : List.of("m15", "m16")) {
            assertEquals(
                    List.of("push 1 queued", "ack 1 invalid_lease", "undone 0 ack_rejected"),
                    run(new TransactCall().push(target, "a").ack(lane, "g", mine, completed(id))));
        }
        assertEquals(
                -1L,
                log.value("select last_offset from queen_store.partitions where id = ?", target));
        assertEquals(
                List.of("ack 1 noop", "ack 2 noop"),
                run(new TransactCall().ack(lane, "g", mine, completed("m14"), completed("m10"))));
    }

    @Test
    void aRepetitionPassesForWhatItsLeaseAcknowledgedBitByBit() throws SQLException {
        UUID lease = lease();
        for (String id : List.of("m12", "m15", "m19")) {
            assertEquals(
                    List.of("ack 1 done"),
                    run(new TransactCall().ack(lane, "g", lease, completed(id))));
        }
        assertEquals(
                List.of(
                        "ack 1 noop",
                        "ack 2 noop",
                        "ack 3 noop",
                        "ack 4 invalid_lease",
                        "undone 0 ack_rejected"),
                run(
                        new TransactCall()
                                .ack(
                                        lane,
                                        "g",
                                        lease,
                                        completed("m11"),
                                        completed("m14"),
                                        completed("m19"),
                                        completed("m20"))));
    }

    /** One id stands twice in the lane, and the bundle is refused for another. */
    @Test
    void aRepetitionInARefusedBundleIsNotNamedAsTheReason() throws SQLException {
        log.run(
                "update queen_store.queues q set dedup_window_seconds = 0"
                        + " from queen_store.partitions p where p.queue_id = q.id and p.id = ?",
                lane);
        UUID lease = lease();
        log.append(lane, "m5");
        assertEquals(
                List.of("ack 1 noop", "ack 2 done", "ack 3 beyond_batch", "undone 0 ack_rejected"),
                run(
                        new TransactCall()
                                .ack(
                                        lane,
                                        "g",
                                        lease,
                                        completed("m5"),
                                        completed("m19"),
                                        completed("m25"))));
    }
}
