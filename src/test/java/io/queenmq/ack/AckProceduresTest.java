package io.queenmq.ack;

import static io.queenmq.testkit.LogFixture.Item.completed;
import static io.queenmq.testkit.LogFixture.Item.dlq;
import static io.queenmq.testkit.LogFixture.Item.failed;
import static io.queenmq.testkit.LogFixture.Item.retry;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Acked;
import io.queenmq.testkit.LogFixture.Claim;
import io.queenmq.testkit.LogFixture.Item;
import io.queenmq.testkit.LogFixture.Job;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The contract's example throughout: a batch of offsets 10 to 19, the cursor at 9. */
class AckProceduresTest extends AckScene {
    @Test
    @Contract({"ack-rule-5", "retry-3"})
    void aWholeBatchReleasesTheLeaseAndResetsTheCounters() throws SQLException {
        UUID lease = lease();
        log.run("update queen_store.cursors set retry_count = 2 where partition_id = ?", lane);
        assertEquals("released", log.ackBatch(group, lane, lease, 19));
        @Nullable Object[] row = cursor();
        assertEquals(19L, row[0]);
        assertNull(row[1]);
        assertNull(row[2]);
        assertEquals(lease, row[3]);
        assertEquals(9L, row[4]);
        assertEquals(0, row[5]);
        assertEquals(0, row[6]);
    }

    @Test
    @Contract("ack-rule-12")
    void aRepeatedBatchAckIsANoop() throws SQLException {
        UUID lease = lease();
        assertEquals("released", log.ackBatch(group, lane, lease, 19));
        assertEquals("noop", log.ackBatch(group, lane, lease, 19));
        UUID next = leaseOf(log.claimLeased(Job.of(10), group, lane));
        assertEquals("noop", log.ackBatch(group, lane, lease, 19));
        assertEquals("released", log.ackBatch(group, lane, next, 29));
        assertEquals("lost", log.ackBatch(group, lane, lease, 19));
    }

    @Test
    void aBatchAckWithoutTheLeaseOrWithAnotherEndIsLost() throws SQLException {
        UUID lease = lease();
        assertEquals("lost", log.ackBatch(group, lane, UUID.randomUUID(), 19));
        assertEquals("lost", log.ackBatch(group, lane, lease, 18));
        log.expire(lane, group);
        assertEquals("lost", log.ackBatch(group, lane, lease, 19));
        assertEquals(9, log.committed(lane, group));
    }

    @Test
    @Contract("configure-14")
    void aBatchAckAfterDeletionOrANewGenerationIsLost() throws SQLException {
        UUID lease = lease();
        log.run("update queen_store.groups set generation = 2 where id = ?", group);
        assertEquals("lost", log.ackBatch(group, lane, lease, 19));
        log.run("update queen_store.groups set generation = 1 where id = ?", group);
        log.run("update queen_store.queues set deleted_at = now() where id = ?", queue);
        assertEquals("lost", log.ackBatch(group, lane, lease, 19));
    }

    @Test
    void manyBatchesGoInOneCallAndALockedOneIsBusy() throws SQLException {
        UUID lease = lease();
        long other = log.lane(queue);
        log.cursor(other, group, -1);
        log.fill(other, 1, 4);
        UUID otherLease = leaseOf(log.claimLeased(Job.of(4), group, other));
        try (Connection holder = database.connect()) {
            holder.setAutoCommit(false);
            new LogFixture(holder)
                    .rows(
                            "select from queen_store.cursors where partition_id = ? for no key update",
                            lane);
            assertEquals(
                    List.of("busy", "released", "noop"),
                    log.ackBatches(
                            group,
                            new long[] {lane, other, other},
                            new UUID[] {lease, otherLease, otherLease},
                            new Long[] {19L, 3L, 3L}));
            holder.rollback();
        }
        assertEquals("released", log.ackBatch(group, lane, lease, 19));
    }

    @Test
    void theFirstAckStampsTheGroupAndNoLaterOneTouchesIt() throws SQLException {
        UUID lease = lease();
        log.ackBatch(group, lane, lease, 19);
        List<@Nullable Object[]> stamped = stamp();
        assertNotNull(stamped.getFirst()[0]);
        log.ackBatch(group, lane, leaseOf(log.claimLeased(Job.of(5), group, lane)), 24);
        log.ack(lane, "g", null, completed("m25"));
        assertEquals(stamped.getFirst()[1], stamp().getFirst()[1]);
    }

    @Test
    @Contract("ack-rule-5")
    void completedToTheEndReleases() throws SQLException {
        UUID lease = lease();
        log.run("update queen_store.cursors set retry_count = 1 where partition_id = ?", lane);
        List<Acked> acked = log.ack(lane, "g", lease, all(10, 19));
        assertTrue(acked.stream().allMatch(a -> a.verdict().equals("done") && a.released()));
        assertEquals(19, acked.getFirst().committed());
        assertEquals(29, acked.getFirst().last());
        @Nullable Object[] row = cursor();
        assertEquals(lease, row[3]);
        assertEquals(9L, row[4]);
        assertEquals(0, row[5]);
    }

    @Test
    @Contract("ack-rule-4")
    void theLastOfABatchAloneCompletesItImplicitly() throws SQLException {
        List<Acked> acked = log.ack(lane, "g", lease(), completed("m19"));
        assertEquals(new Acked("done", true, false, 19, 29), acked.getFirst());
    }

    @Test
    @Contract("ack-rule-5")
    void completedShortOfTheEndKeepsTheLease() throws SQLException {
        UUID lease = lease();
        List<Acked> acked = log.ack(lane, "g", lease, completed("m12"), completed("m14"));
        assertEquals(List.of(false, false), released(acked));
        assertEquals(14, log.committed(lane, group));
        assertEquals("held", log.claimLeased(Job.of(1), group, lane).getFirst().verdict());
        assertEquals(List.of(true), released(log.ack(lane, "g", lease, completed("m19"))));
        assertEquals(14L, cursor()[4]);
    }

    @Test
    @Contract("ack-rule-7")
    void retryCommitsThePrefixAndRedeliversTheTailForFree() throws SQLException {
        UUID lease = lease();
        List<Acked> acked =
                log.ack(lane, "g", lease, completed("m11"), retry("m13"), completed("m15"));
        assertEquals(List.of("done", "done", "done"), verdicts(acked));
        assertEquals(List.of(true, true, true), released(acked));
        @Nullable Object[] row = cursor();
        assertEquals(11L, row[0]);
        assertEquals(0, row[5]);
        assertEquals(12, log.claimLeased(Job.of(10), group, lane).getFirst().from());
    }

    @Test
    @Contract({"ack-rule-8", "retry-1"})
    void failedChargesTheBudgetOncePerCall() throws SQLException {
        List<Acked> acked = log.ack(lane, "g", lease(), failed("m13", "a"), failed("m14", "b"));
        assertEquals(List.of("done", "done"), verdicts(acked));
        assertEquals(List.of(true, true), released(acked));
        @Nullable Object[] row = cursor();
        assertEquals(9L, row[0]);
        assertEquals(1, row[5]);
        Claim again = log.claimLeased(Job.of(10), group, lane).getFirst();
        assertEquals(10, again.from());
        assertEquals(2, again.attempt());
    }

    @ParameterizedTest
    @CsvSource({
        "expired, 12, 2",
        "retry, 12, 2",
        "failed, 12, 2",
        "dlq, 14, 1",
        "completed, 20, 1"
    })
    @Contract("pop-claim-6")
    void whatAnAckLeavesOfABatchCountsAsDeliveredBefore(String end, long from, int attempt)
            throws SQLException {
        UUID lease = lease();
        log.ack(lane, "g", lease, completed("m11"));
        switch (end) {
            case "expired" -> log.expire(lane, group);
            case "retry" -> log.ack(lane, "g", lease, retry("m13"));
            case "failed" -> log.ack(lane, "g", lease, failed("m13", "no"));
            case "dlq" -> log.ack(lane, "g", lease, dlq("m13", "no"));
            default -> log.ack(lane, "g", lease, completed("m19"));
        }
        for (int more = 0; more < 2; more++) {
            Claim again = log.claimLeased(Job.of(5), group, lane).getFirst();
            assertEquals(from, again.from());
            assertEquals(attempt + more, again.attempt());
            log.expire(lane, group);
        }
    }

    @Test
    @Contract({"ack-rule-9", "retry-4"})
    void theFourthFailureOfThreeAllowedIsFiled() throws SQLException {
        for (int i = 0; i < 3; i++) {
            assertFalse(log.ack(lane, "g", lease(), failed("m10", "no")).getFirst().deadLettered());
        }
        List<Acked> acked = log.ack(lane, "g", lease(), completed("m12"), failed("m10", "poison"));
        assertEquals(List.of(false, true), acked.stream().map(Acked::deadLettered).toList());
        assertEquals(10, log.committed(lane, group));
        @Nullable Object[] letter = letter(10);
        assertEquals("poison", letter[0]);
        assertEquals(3, letter[1]);
        assertEquals("m10", letter[2]);
        assertEquals("{}", text(letter[3]));
        assertEquals(0, cursor()[5]);
        assertEquals(11, log.claimLeased(Job.of(1), group, lane).getFirst().from());
    }

    @Test
    @Contract("retry-7")
    void aPoisonMessageCostsOnlyItself() throws SQLException {
        int delivered = 0;
        while (log.committed(lane, group) < 19) {
            List<Claim> claims =
                    log.claimLeased(Job.of((int) (19 - log.committed(lane, group))), group, lane);
            delivered++;
            List<Item> items = new ArrayList<>();
            for (long i = claims.getFirst().from(); i <= 19; i++) {
                items.add(i == 13 ? failed("m13", "bad") : completed("m" + i));
            }
            log.ack(lane, "g", leaseOf(claims), items.toArray(Item[]::new));
        }
        assertEquals(5, delivered);
        assertEquals(1, letters());
    }

    @Test
    @Contract("option-5")
    void exhaustedWithoutADeadLetterQueueIsDropped() throws SQLException {
        log.run(
                "update queen_store.queues set retry_limit = 0, dead_letter_queue = false,"
                        + " dlq_after_max_retries = false where id = ?",
                queue);
        List<Acked> acked = log.ack(lane, "g", lease(), failed("m12", "x"));
        assertEquals(new Acked("done", true, false, 12, 29), acked.getFirst());
        assertEquals(0, letters());
        assertEquals(0, cursor()[5]);
    }

    @Test
    @Contract("option-5")
    void eitherDeadLetterOptionIsEnough() throws SQLException {
        log.run(
                "update queen_store.queues set retry_limit = 0, dead_letter_queue = false where id ="
                        + " ?",
                queue);
        assertTrue(log.ack(lane, "g", lease(), failed("m10", "x")).getFirst().deadLettered());
    }

    @Test
    @Contract({"ack-5", "ack-rule-10"})
    void dlqFilesAtOnceAndOnlyItsOwnItemSaysSo() throws SQLException {
        List<Acked> acked =
                log.ack(lane, "g", lease(), completed("m11"), dlq("m12", "bad"), completed("m14"));
        assertEquals(List.of(false, true, false), acked.stream().map(Acked::deadLettered).toList());
        assertEquals(List.of(true, true, true), released(acked));
        assertEquals(12, log.committed(lane, group));
        assertEquals("bad", letter(12)[0]);
        assertEquals(0, letter(12)[1]);
    }

    @Test
    @Contract("ack-rule-6")
    void atOneOffsetDlqBeatsFailedAndFailedBeatsRetry() throws SQLException {
        List<Acked> acked =
                log.ack(lane, "g", lease(), retry("m10"), failed("m10", "f"), dlq("m10", "d"));
        assertEquals(List.of(false, false, true), acked.stream().map(Acked::deadLettered).toList());
        assertEquals("d", letter(10)[0]);
        log.ack(
                lane,
                "g",
                leaseOf(log.claimLeased(Job.of(5), group, lane)),
                retry("m11"),
                failed("m11", null));
        assertEquals(1, cursor()[5]);
    }

    @Test
    @Contract("retry-9")
    void theReasonIsThatOfThePoisonElseTheFirstOfTheCallElseFixed() throws SQLException {
        log.run("update queen_store.queues set retry_limit = 0 where id = ?", queue);
        log.ack(lane, "g", lease(), failed("m15", "later"), failed("m10", "own"));
        assertEquals("own", letter(10)[0]);
        log.ack(
                lane,
                "g",
                leaseOf(log.claimLeased(Job.of(9), group, lane)),
                failed("m15", "first"),
                failed("m11", ""));
        assertEquals("first", letter(11)[0]);
        log.ack(lane, "g", leaseOf(log.claimLeased(Job.of(9), group, lane)), failed("m12", null));
        assertEquals("Retries exhausted", letter(12)[0]);
    }

    @Test
    @Contract("ack-rule-13")
    void aDeadLetterWhosePayloadIsGoneIsFiledWithoutIt() throws SQLException {
        UUID lease = lease();
        log.run("update queen_store.segments set frames = null where partition_id = ?", lane);
        assertTrue(log.ack(lane, "g", lease, dlq("m12", "gone")).getFirst().deadLettered());
        assertNull(letter(12)[3]);
        assertEquals(12, log.committed(lane, group));
    }

    @Test
    @Contract("ack-rule-3")
    void aRepeatedIdResolvesToTheLowestOffsetOfTheBatch() throws SQLException {
        log.run("update queen_store.queues set dedup_window_seconds = 0 where id = ?", queue);
        long twice = log.lane(queue);
        log.cursor(twice, group, -1);
        log.append(twice, "a", "b");
        log.append(twice, "a", "c");
        UUID lease = leaseOf(log.claimLeased(Job.of(4), group, twice));
        assertEquals(0, log.ack(twice, "g", lease, completed("a")).getFirst().committed());
        assertEquals(2, log.ack(twice, "g", lease, completed("a")).getFirst().committed());
    }

    @Test
    @Contract("ack-rule-3")
    void anAckOfALongRunningHandlerStillResolvesInItsBatch() throws SQLException {
        log.run("update queen_store.queues set dedup_window_seconds = 0 where id = ?", queue);
        log.run(
                "update queen_store.segments set created_at = created_at - interval '1 day' where"
                        + " partition_id = ?",
                lane);
        assertEquals(List.of("done"), verdicts(log.ack(lane, "g", lease(), completed("m19"))));
    }

    @Test
    @Contract("ack-rule-3")
    void withoutALeaseACompletedAckStillResolvesInTheLeasedBatch() throws SQLException {
        UUID lease = lease();
        assertEquals(List.of("unresolvable"), verdicts(log.ack(lane, "g", null, completed("m25"))));
        List<Acked> acked = log.ack(lane, "g", null, completed("m19"));
        assertEquals(new Acked("done", true, false, 19, 29), acked.getFirst());
        assertEquals("noop", log.ackBatch(group, lane, lease, 19));
    }

    @Test
    @Contract("ack-rule-3")
    void withoutALeaseAnExpiredBatchStillCounts() throws SQLException {
        lease();
        log.expire(lane, group);
        assertEquals(List.of(true), released(log.ack(lane, "g", null, failed("m12", "late"))));
        assertEquals(1, cursor()[5]);
    }

    @Test
    @Contract({"ack-rule-2", "ack-rule-11"})
    void withoutABatchCompletedMovesTheCursorAndAFailureIsNotSwallowed() throws SQLException {
        List<Acked> acked =
                log.ack(lane, "g", null, completed("m12"), failed("m14", "x"), completed("m16"));
        assertEquals(List.of("done", "no_leased_batch", "done"), verdicts(acked));
        assertEquals(List.of(false, false, false), released(acked));
        @Nullable Object[] row = cursor();
        assertEquals(12L, row[0]);
        assertEquals(0, row[5]);
        assertEquals(0, letters());
    }

    @Test
    @Contract({"ack-error-1", "ack-error-2"})
    void belowTheCursorCompletedIsANoopAndAFailureIsStale() throws SQLException {
        UUID lease = lease();
        assertEquals(
                List.of("noop", "stale", "stale", "stale"),
                verdicts(
                        log.ack(
                                lane,
                                "g",
                                lease,
                                completed("m3"),
                                failed("m3", "x"),
                                retry("m4"),
                                dlq("m5", "x"))));
        assertEquals(0, letters());
        assertEquals(lease, cursor()[2]);
    }

    @Test
    @Contract("ack-error-3")
    void whatWasNeverPushedOrLiesBeyondTheBatchIsUnresolvable() throws SQLException {
        UUID lease = lease();
        List<Acked> acked =
                log.ack(lane, "g", lease, completed("m19"), completed("nope"), completed("m20"));
        assertEquals(List.of("done", "unresolvable", "unresolvable"), verdicts(acked));
        assertEquals(List.of(true, false, false), released(acked));
    }

    @Test
    @Contract("ack-error-3")
    void anOldIdBehindTheCursorIsUnresolvable() throws SQLException {
        log.run("update queen_store.queues set dedup_window_seconds = 0 where id = ?", queue);
        log.run(
                "update queen_store.segments set created_at = created_at - interval '901 seconds'"
                        + " where partition_id = ?",
                lane);
        assertEquals(
                List.of("unresolvable"), verdicts(log.ack(lane, "g", lease(), completed("m3"))));
        log.run("update queen_store.queues set dedup_window_seconds = 3600 where id = ?", queue);
        assertEquals(List.of("noop"), verdicts(log.ack(lane, "g", null, completed("m3"))));
    }

    @Test
    void cursorUpdatesStayHeapOnly() throws SQLException {
        log.rows("select pg_stat_force_next_flush()");
        long[] before = updates();
        for (int i = 0; i < 400; i++) {
            log.run(
                    "update queen_store.cursors set committed = 9, lease_id = null, batch_end ="
                            + " null, lease_expires_at = null where partition_id = ?",
                    lane);
            UUID lease = lease();
            if (i % 2 == 0) {
                log.ackBatch(group, lane, lease, 19);
            } else {
                log.ack(lane, "g", lease, completed("m19"));
            }
        }
        log.rows("select pg_stat_force_next_flush()");
        long[] after = updates();
        long all = after[0] - before[0];
        long hot = after[1] - before[1];
        assertTrue(all >= 1_200, "updates " + all);
        assertTrue(hot * 10 >= all * 9, hot + " of " + all + " heap-only");
    }
}
