package io.queenmq.pop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Candidate;
import io.queenmq.testkit.LogFixture.Claim;
import io.queenmq.testkit.LogFixture.Job;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class PopProceduresTest extends PopScene {
    @Test
    @Contract("pop-claim-3")
    void leasesUpToTheBudgetAcrossSegments() throws SQLException {
        log.fill(lane, 3, 10);
        Job job = Job.of(25);
        List<Claim> claims = log.claimLeased(job, group, lane);
        assertEquals(List.of(10, 10, 5), claims.stream().map(Claim::count).toList());
        assertEquals(List.of(0L, 10L, 20L), claims.stream().map(Claim::from).toList());
        for (Claim claim : claims) {
            assertEquals("leased", claim.verdict());
            assertEquals(24, claim.batchEnd());
            assertEquals(29, claim.lastOffset());
            assertEquals(1, claim.attempt());
            assertNotNull(claim.frameBytes());
        }
        assertEquals(-1, log.committed(lane, group));
    }

    @Test
    @Contract("pop-claim-3")
    void whoTakesLittleOfASegmentIsSentLittle() throws SQLException {
        log.fill(lane, 1, 100);
        Claim all = log.claimLeased(Job.of(100), group, lane).getFirst();
        log.expire(lane, group);
        Claim some = log.claimLeased(Job.of(25), group, lane).getFirst();
        assertEquals(25, some.count());
        assertEquals(0, some.from());
        assertNotNull(all.frameBytes());
        assertNotNull(some.frameBytes());
        assertEquals(4, all.frameBytes() / some.frameBytes());
        log.expire(lane, group);
        Claim more = log.claimLeased(Job.of(26), group, lane).getFirst();
        assertEquals(all.frameBytes(), more.frameBytes(), "more than a quarter");
    }

    @Test
    void leaseIdOfOneLaneCarriesItsNumberAndOfSeveralNone() throws SQLException {
        log.fill(lane, 1, 1);
        UUID one = log.claimLeased(Job.of(1), group, lane).getFirst().leaseId();
        assertEquals(lane, log.value("select queen_store.lease_number(?)", one));
        long other = log.lane(queue);
        log.cursor(other, group, -1);
        log.fill(other, 1, 1);
        UUID several = log.claimLeased(Job.several(5, 0), group, other).getFirst().leaseId();
        assertEquals(0L, log.value("select queen_store.lease_number(?)", several));
        assertEquals(
                1,
                log.rows(
                                "select from queen_store.leases where lease_id = ? and partition_ids ="
                                        + " array[?::bigint] and group_ids = array[?::integer]",
                                several,
                                other,
                                group)
                        .size());
    }

    @Test
    @Contract("pop-param-7")
    void leaseLastsAsLongAsThePopSaysElseTheQueue() throws SQLException {
        log.run("update queen_store.queues set lease_seconds = 600 where id = ?", queue);
        log.fill(lane, 1, 1);
        Instant before = serverNow();
        Instant expiry = log.claimLeased(Job.of(1), group, lane).getFirst().expiresAt();
        assertNotNull(expiry);
        assertTrue(Duration.between(before, expiry).toSeconds() >= 600);
        log.expire(lane, group);
        expiry =
                log.claimLeased(new Job(UUID.randomUUID(), 1, 1, 5, false), group, lane)
                        .getFirst()
                        .expiresAt();
        assertNotNull(expiry);
        assertTrue(Duration.between(before, expiry).toSeconds() < 600);
    }

    @Test
    @Contract({"pop-claim-1", "pop-claim-2"})
    void aLiveLeaseIsHeldAndAnExpiredOneIsTakenOver() throws SQLException {
        log.fill(lane, 1, 3);
        Claim first = log.claimLeased(Job.of(3), group, lane).getFirst();
        Claim held = log.claimLeased(Job.of(3), group, lane).getFirst();
        assertEquals("held", held.verdict());
        assertEquals(first.expiresAt(), held.expiresAt());
        log.expire(lane, group);
        Claim second = log.claimLeased(Job.of(3), group, lane).getFirst();
        assertEquals("leased", second.verdict());
        assertEquals(2, second.attempt());
        assertNotEquals(first.leaseId(), second.leaseId());
    }

    @Test
    @Contract("pop-claim-6")
    void countsDeliveriesOfTheSameFirstOffsetOnly() throws SQLException {
        log.fill(lane, 1, 6);
        for (int attempt = 1; attempt <= 3; attempt++) {
            assertEquals(attempt, log.claimLeased(Job.of(2), group, lane).getFirst().attempt());
            log.expire(lane, group);
        }
        log.run("update queen_store.cursors set committed = 1 where partition_id = ?", lane);
        assertEquals(1, log.claimLeased(Job.of(2), group, lane).getFirst().attempt());
    }

    @Test
    @Contract("pop-claim-3")
    void fillsTheBudgetLaneByLaneInServingOrder() throws SQLException {
        long[] lanes = lanes(4, 4);
        List<Claim> claims =
                log.claimLeased(Job.several(10, 0), group, lanes[2], lanes[0], lanes[3], lanes[1]);
        assertEquals(
                List.of("leased", "leased", "leased", "spare"),
                claims.stream().map(Claim::verdict).toList());
        assertEquals(List.of(4, 4, 2, 0), claims.stream().map(Claim::count).toList());
        assertEquals(
                "held", log.claimLeased(Job.several(10, 0), group, lanes[2]).getFirst().verdict());
        assertEquals(
                "leased",
                log.claimLeased(Job.several(10, 0), group, lanes[1]).getFirst().verdict());
    }

    @Test
    @Contract("pop-param-2")
    void stopsAtTheLaneLimitCountingOnlyLanesThatDeliver() throws SQLException {
        long[] lanes = lanes(4, 4);
        log.run("update queen_store.cursors set committed = 3 where partition_id = ?", lanes[0]);
        List<Claim> claims = log.claimLeased(Job.several(100, 2), group, lanes);
        assertEquals(
                List.of("empty", "leased", "leased", "spare"),
                claims.stream().map(Claim::verdict).toList());
    }

    @Test
    void servesManyJobsInOneCallEachWithItsOwnBudget() throws SQLException {
        long[] lanes = lanes(3, 4);
        Job a = Job.of(3);
        Job b = Job.several(6, 0);
        List<Claim> claims =
                log.claim(
                        "claim_leased",
                        List.of(a, b),
                        List.of(
                                new Candidate(1, lanes[0], group),
                                new Candidate(2, lanes[1], group),
                                new Candidate(2, lanes[2], group)),
                        1 << 20);
        assertEquals(List.of(3, 4, 2), claims.stream().map(Claim::count).toList());
        assertEquals(claims.get(1).leaseId(), claims.get(2).leaseId());
        assertNotEquals(claims.get(0).leaseId(), claims.get(1).leaseId());
    }

    @Test
    void aLaneWantedByTwoJobsGoesToTheFirst() throws SQLException {
        log.fill(lane, 1, 4);
        List<Claim> claims =
                log.claim(
                        "claim_leased",
                        List.of(Job.of(4), Job.of(4)),
                        List.of(new Candidate(1, lane, group), new Candidate(2, lane, group)),
                        1 << 20);
        assertEquals(List.of("leased", "held"), claims.stream().map(Claim::verdict).toList());
    }

    @Test
    void leavesFramesOutBeyondTheByteLimitAndReadSegmentsFetchesThem() throws SQLException {
        log.fill(lane, 3, 10);
        Integer size = log.claimLeased(Job.of(10), group, lane).getFirst().frameBytes();
        assertNotNull(size);
        log.expire(lane, group);
        List<Claim> claims =
                log.claim(
                        "claim_leased",
                        List.of(Job.of(30)),
                        List.of(new Candidate(1, lane, group)),
                        size);
        assertNotNull(claims.get(0).frameBytes());
        assertNull(claims.get(1).frameBytes());
        assertNull(claims.get(2).frameBytes());
        assertEquals(29, claims.get(0).batchEnd());
        List<@Nullable Object[]> read =
                log.rows(
                        "select ordinal, base_offset, end_offset, octet_length(frames)"
                                + " from queen_store.read_segments(?, ?)",
                        new Long[] {lane, lane, lane},
                        new Long[] {20L, 15L, 10L});
        assertEquals(2, read.size());
        assertEquals(1, read.get(0)[0]);
        assertEquals(20L, read.get(0)[1]);
        assertEquals(3, read.get(1)[0]);
        assertEquals(19L, read.get(1)[2]);
    }

    @Test
    @Contract("pop-claim-7")
    void autoAckCommitsOnlyWhatItReturnsAndTakesNoLease() throws SQLException {
        log.fill(lane, 3, 10);
        long other = lanes(1, 10)[0];
        Integer size = log.claimLeased(Job.of(10), group, other).getFirst().frameBytes();
        assertNotNull(size);
        log.claim("claim_auto", List.of(Job.auto(1)), one(1), 0);
        assertEquals(0, log.committed(lane, group));
        List<Claim> claims = log.claim("claim_auto", List.of(Job.auto(29)), one(1), 2 * size + 15);
        assertEquals(List.of(9, 10), claims.stream().map(Claim::count).toList());
        assertEquals("served", claims.getFirst().verdict());
        assertNull(claims.getFirst().leaseId());
        assertEquals(1, claims.getFirst().attempt());
        assertEquals(19, log.committed(lane, group));
        assertEquals(
                1,
                log.rows(
                                "select from queen_store.cursors where partition_id = ? and lease_id is"
                                        + " null and attempt_count = 0",
                                lane)
                        .size());
        assertEquals(
                1,
                log.rows(
                                "select from queen_store.groups where id = ? and consumed_at is not null",
                                group)
                        .size());
    }

    @Test
    void autoAckThatFindsNothingDoesNotCountAsConsumption() throws SQLException {
        assertEquals("empty", log.claimAuto(5, group, lane).getFirst().verdict());
        assertEquals(
                1,
                log.rows(
                                "select from queen_store.groups where id = ? and consumed_at is null",
                                group)
                        .size());
    }

    @Test
    @Contract("option-6")
    void delayedProcessingHidesTheRecentTail() throws SQLException {
        log.fill(lane, 3, 2);
        log.run(
                "update queen_store.queues set delayed_processing_seconds = 60 where id = ?",
                queue);
        Claim hidden = log.claimLeased(Job.of(10), group, lane).getFirst();
        assertEquals("empty", hidden.verdict());
        Instant visible = hidden.visibleAt();
        assertNotNull(visible);
        assertTrue(visible.isAfter(serverNow()));
        age(lane, 0, 61);
        age(lane, 2, 61);
        List<Claim> claims = log.claimLeased(Job.of(10), group, lane);
        assertEquals(List.of(2, 2), claims.stream().map(Claim::count).toList());
        assertEquals(3, claims.getFirst().batchEnd());
        assertNotNull(claims.getFirst().visibleAt());
    }

    @Test
    void aDelayedLaneDoesNotUseUpTheBudgetOfTheNext() throws SQLException {
        log.fill(lane, 1, 5);
        log.run(
                "update queen_store.queues set delayed_processing_seconds = 60 where id = ?",
                queue);
        long other = log.lane(queue);
        log.cursor(other, group, -1);
        log.fill(other, 1, 5);
        age(other, 0, 61);
        List<Claim> claims = log.claimLeased(Job.several(5, 1), group, lane, other);
        assertEquals(List.of("empty", "leased"), claims.stream().map(Claim::verdict).toList());
    }

    @Test
    @Contract("model-13")
    void sealsALaneWhoseMessagesAreGone() throws SQLException {
        log.fill(lane, 2, 5);
        log.run("delete from queen_store.segments where partition_id = ?", lane);
        log.run("update queen_store.partitions set log_start = last_offset + 1 where id = ?", lane);
        assertEquals("empty", log.claimLeased(Job.of(1), group, lane).getFirst().verdict());
        assertEquals(9, log.committed(lane, group));
    }

    @Test
    @Contract("model-13")
    void resumesBehindAHoleWiderThanTheBudget() throws SQLException {
        log.fill(lane, 6, 5);
        log.run(
                "delete from queen_store.segments where partition_id = ? and base_offset between 5 and"
                        + " 20",
                lane);
        List<Claim> claims = log.claimLeased(Job.of(8), group, lane);
        assertEquals(List.of(0L), claims.stream().map(Claim::from).toList());
        log.run("update queen_store.cursors set committed = 6, lease_expires_at = null");
        claims = log.claimLeased(Job.of(2), group, lane);
        assertEquals(25, claims.getFirst().from());
        assertEquals(26, claims.getFirst().batchEnd());
    }

    @Test
    @Contract("model-13")
    void skipsSegmentsWhosePayloadHasExpired() throws SQLException {
        log.fill(lane, 3, 5);
        log.run(
                "update queen_store.segments set frames = null where partition_id = ? and base_offset <"
                        + " 10",
                lane);
        assertEquals(10, log.claimLeased(Job.of(2), group, lane).getFirst().from());
    }

    @Test
    @Contract("model-13")
    void startsAtTheLogStartWhenTheCursorIsBehindIt() throws SQLException {
        log.fill(lane, 3, 5);
        log.run("update queen_store.partitions set log_start = 5 where id = ?", lane);
        assertEquals(5, log.claimLeased(Job.of(2), group, lane).getFirst().from());
    }

    @Test
    void readsAcrossEpochsAndRemembersTheOpenOne() throws SQLException {
        log.fill(lane, 2, 5);
        log.run(
                "create table queen_store.segments_2 partition of queen_store.segments for values in"
                        + " (2)");
        log.run("update queen_store.segments set epoch = 2 where base_offset = 5");
        List<Claim> claims = log.claimLeased(Job.of(10), group, lane);
        assertEquals(List.of(5, 5), claims.stream().map(Claim::count).toList());
        UUID lease = claims.getFirst().leaseId();
        assertNotNull(lease);
        log.run("update queen_store.epochs set state = 'closed' where epoch = 1");
        log.run("insert into queen_store.epochs (epoch, state) values (2, 'open')");
        assertEquals("released", log.ackBatch(group, lane, lease, 9));
        assertEquals(
                2, log.value("select epoch from queen_store.cursors where partition_id = ?", lane));
        log.run("update queen_store.segments set epoch = 1 where epoch = 2");
        log.run("drop table queen_store.segments_2");
        log.run("delete from queen_store.epochs where epoch = 2");
        log.run("update queen_store.epochs set state = 'open' where epoch = 1");
    }

    @Test
    void saysWhatIsUnknown() throws SQLException {
        long bare = log.lane(queue);
        log.fill(bare, 1, 1);
        assertEquals("no_cursor", log.claimLeased(Job.of(1), group, bare).getFirst().verdict());
        assertEquals(
                "unknown_partition",
                log.claimLeased(Job.of(1), group, 999_999_999L).getFirst().verdict());
        log.fill(lane, 1, 1);
        log.run("update queen_store.groups set generation = 2 where id = ?", group);
        assertEquals("no_cursor", log.claimLeased(Job.of(1), group, lane).getFirst().verdict());
        log.run("update queen_store.queues set deleted_at = now() where id = ?", queue);
        assertEquals(
                "unknown_partition", log.claimLeased(Job.of(1), group, lane).getFirst().verdict());
    }

    @Test
    @Contract("pop-claim-5")
    void anEmptyLaneIsReadWithoutWritingAnything() throws SQLException {
        connection.setAutoCommit(false);
        assertEquals("empty", log.claimLeased(Job.of(1), group, lane).getFirst().verdict());
        assertNull(log.rows("select pg_current_xact_id_if_assigned()").getFirst()[0]);
        connection.rollback();
    }

    @Test
    void onlyTheLeasedClaimCommitsWithoutFlush() throws SQLException {
        log.fill(lane, 1, 3);
        connection.setAutoCommit(false);
        log.claimAuto(1, group, lane);
        log.claimFirst(Job.of(1), group, null, null, lane);
        assertEquals("on", log.value("select current_setting('synchronous_commit')"));
        log.claimLeased(Job.of(1), group, lane);
        assertEquals("off", log.value("select current_setting('synchronous_commit')"));
        connection.commit();
        assertEquals("on", log.value("select current_setting('synchronous_commit')"));
    }

    @Test
    @Contract("pop-claim-9")
    void aReleasedClaimChargesNoDelivery() throws SQLException {
        log.fill(lane, 1, 3);
        log.claimLeased(Job.of(2), group, lane);
        log.expire(lane, group);
        UUID lease = log.claimLeased(Job.of(2), group, lane).getFirst().leaseId();
        assertEquals(1, release(lease));
        assertEquals(0, release(lease));
        Claim again = log.claimLeased(Job.of(2), group, lane).getFirst();
        assertEquals("leased", again.verdict());
        assertEquals(2, again.attempt());
    }

    /**
     * Who lost the answer to a claim knows what it minted, and not which lane's number is in it.
     */
    @Test
    void aClaimIsReleasedByWhatWasMintedForItsLease() throws SQLException {
        log.fill(lane, 1, 3);
        for (Job job : List.of(Job.of(2), Job.several(2, 3))) {
            assertEquals("leased", log.claimLeased(job, group, lane).getFirst().verdict());
            assertEquals(0, release(UUID.randomUUID()));
            assertEquals(0, release(null));
            assertEquals(1, release(job.lease()));
            assertEquals(0, release(job.lease()));
        }
    }

    @Test
    @Contract("pop-claim-1")
    void aLockedCursorIsBusyAndNeverWaitedFor() throws SQLException {
        log.fill(lane, 1, 3);
        try (Connection other = database.connect()) {
            other.setAutoCommit(false);
            new LogFixture(other)
                    .rows(
                            "select from queen_store.cursors where partition_id = ? for no key update",
                            lane);
            assertEquals("busy", log.claimLeased(Job.of(1), group, lane).getFirst().verdict());
            assertEquals("busy", log.claimAuto(1, group, lane).getFirst().verdict());
            other.rollback();
        }
        assertEquals("leased", log.claimLeased(Job.of(1), group, lane).getFirst().verdict());
    }

    @Test
    @Contract("model-4")
    void claimsWhileAnAppendHoldsTheLaneSeeOnlyWhatIsCommitted() throws SQLException {
        log.fill(lane, 1, 3);
        try (Connection other = database.connect()) {
            other.setAutoCommit(false);
            new LogFixture(other).append(lane, "m3");
            Claim claim = log.claimLeased(Job.of(10), group, lane).getFirst();
            assertEquals("leased", claim.verdict());
            assertEquals(2, claim.batchEnd());
            assertEquals(2, claim.lastOffset());
            other.commit();
        }
    }
}
