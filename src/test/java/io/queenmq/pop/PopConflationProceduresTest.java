package io.queenmq.pop;

import static io.queenmq.testkit.LogFixture.Item.completed;
import static io.queenmq.testkit.LogFixture.Item.dlq;
import static io.queenmq.testkit.LogFixture.Item.failed;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Candidate;
import io.queenmq.testkit.LogFixture.Claim;
import io.queenmq.testkit.LogFixture.Job;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Claims and acks of a group that takes the newest message of a lane and leaves the others. */
class PopConflationProceduresTest extends PopScene {
    @BeforeEach
    void conflate() throws SQLException {
        log.run("update queen_store.groups set conflation = true where id = ?", group);
    }

    private Claim newest(Job job) throws SQLException {
        List<Claim> claims = log.claimLeased(job, group, lane);
        assertEquals(1, claims.size());
        return claims.getFirst();
    }

    private static UUID leaseOf(Claim claim) {
        UUID lease = claim.leaseId();
        assertNotNull(lease);
        return lease;
    }

    private List<@Nullable Object[]> ackedBatch(Claim claim) throws SQLException {
        return log.rows(
                "select verdict, conflated from queen_store.ack_batches(array[?::bigint],"
                        + " array[?::integer], array[?::uuid], array[?::bigint])",
                lane,
                group,
                claim.leaseId(),
                claim.batchEnd());
    }

    private @Nullable Object conflatedByKey(UUID lease, String transactionId, int status)
            throws SQLException {
        return log.rows(
                        "select conflated from queen_store.ack_messages(array[?::uuid],"
                                + " array[?::bigint], array['g'], array[?::uuid], array[1],"
                                + " array[queen_store.key_of(?)], array[?::smallint],"
                                + " array[null::text], false)",
                        LogFixture.TENANT,
                        lane,
                        lease,
                        transactionId,
                        status)
                .getFirst()[0];
    }

    @Test
    @Contract("pop-conflate-2")
    void deliversTheLastMessageAloneAndLeasesAllUpToIt() throws SQLException {
        log.fill(lane, 3, 10);
        Claim claim = newest(Job.of(100));
        assertEquals(29, claim.from());
        assertEquals(1, claim.count());
        assertEquals(29, claim.batchEnd());
        assertEquals(-1, log.committed(lane, group));
    }

    @Test
    @Contract("pop-conflate-6")
    void theAckOfTheBatchRetiresTheSpanAndSaysHowMuchWentUnread() throws SQLException {
        log.fill(lane, 3, 10);
        @Nullable Object[] acked = ackedBatch(newest(Job.of(1))).getFirst();
        assertEquals("released", acked[0]);
        assertEquals(29L, acked[1]);
        assertEquals(29, log.committed(lane, group));
        assertEquals("empty", newest(Job.of(1)).verdict());
    }

    @Test
    @Contract("pop-conflate-6")
    void anAckByKeyRetiresTheSpanAndSaysHowMuchWentUnread() throws SQLException {
        log.fill(lane, 1, 8);
        assertEquals(7L, conflatedByKey(leaseOf(newest(Job.of(1))), "m7", 0));
        assertEquals(7, log.committed(lane, group));
    }

    @Test
    @Contract("pop-conflate-6")
    void aSpanOfOneMessageLeftNothingUnread() throws SQLException {
        log.fill(lane, 1, 1);
        assertEquals(0L, ackedBatch(newest(Job.of(1))).getFirst()[1]);
    }

    @Test
    @Contract("pop-conflate-2")
    void anIdThatRepeatsInTheSpanIsTheDeliveredOne() throws SQLException {
        log.run("update queen_store.queues set dedup_window_seconds = 0 where id = ?", queue);
        log.append(lane, "same", "x");
        log.append(lane, "same");
        UUID lease = leaseOf(newest(Job.of(1)));
        assertEquals(2L, conflatedByKey(lease, "same", 0));
        assertEquals(2, log.committed(lane, group));
    }

    @Test
    void aMessageThatWasNotDeliveredCannotBeAcknowledged() throws SQLException {
        log.fill(lane, 1, 5);
        UUID lease = leaseOf(newest(Job.of(1)));
        assertEquals(
                "unresolvable", log.ack(lane, "g", lease, completed("m2")).getFirst().verdict());
        assertEquals(-1, log.committed(lane, group));
    }

    @Test
    @Contract("pop-conflate-2")
    void whatCameAfterTheClaimStaysPending() throws SQLException {
        log.fill(lane, 1, 3);
        Claim claim = newest(Job.of(1));
        log.fill(lane, 1, 2);
        assertEquals(2L, ackedBatch(claim).getFirst()[1]);
        assertEquals(4, newest(Job.of(1)).from());
    }

    /** Three messages while each is worked on: the consumer is never more than those behind. */
    @Test
    @Contract("pop-conflate-2")
    void aLaneThatIsWrittenWithoutAPauseGivesItsNewestEveryTime() throws SQLException {
        log.fill(lane, 1, 1);
        for (int turn = 0; turn < 40; turn++) {
            Claim claim = newest(Job.of(1));
            assertEquals(3L * turn, claim.from());
            log.fill(lane, 3, 1);
            assertEquals(turn == 0 ? 0L : 2L, ackedBatch(claim).getFirst()[1]);
        }
    }

    @Test
    @Contract("pop-conflate-7")
    void theRetryBudgetOutlivesTheMessageAndEndsWithTheOneDeliveredLast() throws SQLException {
        log.run("update queen_store.queues set retry_limit = 1 where id = ?", queue);
        log.fill(lane, 1, 2);
        assertNull(conflatedByKey(leaseOf(newest(Job.of(1))), "m1", 1));
        log.fill(lane, 1, 1);
        Claim second = newest(Job.of(1));
        assertEquals(2, second.from());
        assertEquals(2, second.attempt(), "the span begins where it began before");
        assertEquals(
                List.of(true),
                log.ack(lane, "g", second.leaseId(), failed("m2", "bad")).stream()
                        .map(a -> a.deadLettered())
                        .toList());
        assertEquals(2, log.committed(lane, group));
    }

    @Test
    @Contract("pop-conflate-6")
    void aDeadLetterRetiresTheSpanButIsNoCleanCompletion() throws SQLException {
        log.fill(lane, 1, 4);
        UUID lease = leaseOf(newest(Job.of(1)));
        assertEquals(
                List.of(3L),
                log.ack(lane, "g", lease, dlq("m3", "bad")).stream()
                        .map(a -> a.committed())
                        .toList());
        assertEquals("empty", newest(Job.of(1)).verdict());
        log.fill(lane, 1, 2);
        assertNull(conflatedByKey(leaseOf(newest(Job.of(1))), "m5", 3));
    }

    @Test
    @Contract("pop-conflate-2")
    void delayedMessagesAreNotTheNewestYet() throws SQLException {
        log.fill(lane, 4, 2);
        log.run(
                "update queen_store.queues set delayed_processing_seconds = 60 where id = ?",
                queue);
        Claim hidden = newest(Job.of(10));
        assertEquals("empty", hidden.verdict());
        assertNotNull(hidden.visibleAt());
        age(lane, 0, 61);
        age(lane, 2, 61);
        Claim visible = newest(Job.of(10));
        assertEquals(3, visible.from());
        assertEquals(3, visible.batchEnd());
    }

    @Test
    void resumesBehindAHoleAndSealsALaneThatHoldsNothing() throws SQLException {
        log.fill(lane, 3, 2);
        log.run(
                "delete from queen_store.segments where partition_id = ? and base_offset < 4",
                lane);
        log.run("update queen_store.partitions set log_start = 4 where id = ?", lane);
        assertEquals(5, newest(Job.of(1)).from());
        log.expire(lane, group);
        log.run("delete from queen_store.segments where partition_id = ?", lane);
        log.run("update queen_store.partitions set log_start = 6 where id = ?", lane);
        assertEquals("empty", newest(Job.of(1)).verdict());
        assertEquals(5, log.committed(lane, group));
    }

    @Test
    void everyLaneGivesOneMessageBesideLanesOfGroupsThatDeliverAll() throws SQLException {
        int plain = log.group(queue, "plain", "all", null);
        long[] lanes = lanes(3, 4);
        for (long one : lanes) {
            log.cursor(one, plain, -1);
        }
        List<Claim> claims =
                log.claim(
                        "claim_leased",
                        List.of(Job.several(3, 0), Job.several(6, 0)),
                        List.of(
                                new Candidate(1, lanes[0], group),
                                new Candidate(2, lanes[0], plain),
                                new Candidate(1, lanes[1], group),
                                new Candidate(2, lanes[1], plain),
                                new Candidate(1, lanes[2], group),
                                new Candidate(2, lanes[2], plain)),
                        1 << 20);
        assertEquals(List.of(1, 4, 1, 2, 1, 0), claims.stream().map(Claim::count).toList());
        assertEquals(3, claims.getFirst().from());
        assertEquals(0, claims.get(1).from());
    }

    @Test
    @Contract("pop-conflate-3")
    void theBudgetAndTheLaneLimitCountLanes() throws SQLException {
        long[] lanes = lanes(4, 4);
        List<String> verdicts =
                log.claimLeased(Job.several(2, 0), group, lanes).stream()
                        .map(Claim::verdict)
                        .toList();
        assertEquals(List.of("leased", "leased", "spare", "spare"), verdicts);
        verdicts =
                log.claimLeased(Job.several(9, 1), group, lanes[2], lanes[3]).stream()
                        .map(Claim::verdict)
                        .toList();
        assertEquals(List.of("leased", "spare"), verdicts);
    }

    @Test
    @Contract("pop-conflate-8")
    void aFirstClaimOfTheWholeHistoryIsOneMessage() throws SQLException {
        long fresh = log.lane(queue);
        log.fill(fresh, 5, 7);
        List<Claim> claims = log.claimFirst(Job.of(50), group, null, null, fresh);
        assertEquals(1, claims.size());
        assertEquals(34, claims.getFirst().from());
    }

    @Test
    @Contract("pop-conflate-5")
    void autoAckCommitsTheSpanItConflated() throws SQLException {
        log.fill(lane, 2, 5);
        Claim claim = log.claimAuto(10, group, lane).getFirst();
        assertEquals("served", claim.verdict());
        assertEquals(9, claim.from());
        assertEquals(9, log.committed(lane, group));
    }

    @Test
    void aLeaseOfTheTimeBeforeConflationIsAcknowledgedAsItWasDelivered() throws SQLException {
        log.run("update queen_store.groups set conflation = null where id = ?", group);
        log.fill(lane, 1, 5);
        Claim claim = log.claimLeased(Job.of(5), group, lane).getFirst();
        log.run("update queen_store.groups set conflation = true where id = ?", group);
        assertEquals(
                "done", log.ack(lane, "g", claim.leaseId(), completed("m1")).getFirst().verdict());
        assertNull(conflatedByKey(leaseOf(claim), "m4", 0));
        assertEquals(4, log.committed(lane, group));
    }
}
