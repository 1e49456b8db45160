package io.queenmq.group;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Claim;
import io.queenmq.testkit.LogFixture.Item;
import io.queenmq.testkit.LogFixture.Job;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;

/** Seeks beside claims, acks and each other, step by step. */
class SeekRaceProceduresTest extends SeekScene {
    @Test
    void aSeekWaitsForTheClaimThatHoldsTheLaneAndEndsItsLease() throws Exception {
        log.cursor(lane, group, -1);
        try (Connection second = database.connect();
                Connection third = database.connect()) {
            second.setAutoCommit(false);
            LogFixture claiming = new LogFixture(second);
            UUID lease = claiming.claimLeased(Job.of(2), group, lane).getFirst().leaseId();
            LogFixture seeking = new LogFixture(third);
            CompletableFuture<String> sought =
                    beside(() -> seekLane(seeking, "g", "p", "offset", null, 7L));
            awaitBlocked();
            second.commit();
            assertEquals("6", sought.get());
            assertEquals(
                    "invalid_lease",
                    log.ack(lane, "g", lease, Item.completed("m1")).getFirst().verdict());
            assertEquals(7, next(lane));
        }
    }

    @Test
    void aSeekWaitsForTheAckThatHoldsTheLaneAndWins() throws Exception {
        log.cursor(lane, group, -1);
        UUID lease = lease(lane);
        try (Connection second = database.connect();
                Connection third = database.connect()) {
            second.setAutoCommit(false);
            LogFixture acking = new LogFixture(second);
            assertEquals("released", acking.ackBatch(group, lane, lease, 1));
            LogFixture seeking = new LogFixture(third);
            CompletableFuture<String> sought =
                    beside(() -> seekLane(seeking, "g", "p", "beginning", null, null));
            awaitBlocked();
            second.commit();
            assertEquals("-1", sought.get());
            assertEquals(0, next(lane));
        }
    }

    @Test
    void aClaimPassesOverALaneThatIsBeingSought() throws Exception {
        log.cursor(lane, group, -1);
        try (Connection second = database.connect()) {
            second.setAutoCommit(false);
            LogFixture seeking = new LogFixture(second);
            assertEquals("4", seekLane(seeking, "g", "p", "offset", null, 5L));
            assertEquals("busy", log.claimLeased(Job.of(1), group, lane).getFirst().verdict());
            second.commit();
        }
        assertEquals(5, next(lane));
    }

    @Test
    void nobodyPlacesACursorWhereASeekIsAboutToPlaceOne() throws Exception {
        try (Connection second = database.connect()) {
            second.setAutoCommit(false);
            LogFixture seeking = new LogFixture(second);
            assertEquals("4", seekLane(seeking, "g", "p", "offset", null, 5L));
            assertEquals(
                    "busy",
                    log.claimFirst(Job.of(1), group, null, null, lane).getFirst().verdict());
            second.commit();
        }
        assertEquals(5, next(lane));
    }

    /**
     * The claim has read where the group begins, and waits for the table before it writes the
     * cursor: the seek comes between the two.
     */
    @Test
    void aFirstClaimUnderWayDoesNotPlaceACursorWhereTheGroupBeganBeforeASeek() throws Exception {
        try (Connection second = database.connect();
                Connection third = database.connect()) {
            second.setAutoCommit(false);
            LogFixture seeking = new LogFixture(second);
            seeking.run("lock table queen_store.cursors in share mode");
            CompletableFuture<List<Claim>> claimed =
                    beside(
                            () ->
                                    new LogFixture(third)
                                            .claimFirst(Job.of(1), group, null, null, lane));
            awaitBlocked();
            assertEquals("moved", seekQueue(seeking, "g", "end", null).verdict());
            second.commit();
            assertEquals("busy", claimed.get().getFirst().verdict());
        }
        assertEquals(
                "empty", log.claimFirst(Job.of(1), group, null, null, lane).getFirst().verdict());
    }

    @Test
    void aSeekOfTheQueueNeedsNoLaneAndBeatsTheClaimUnderWay() throws Exception {
        log.cursor(lane, group, 3);
        try (Connection second = database.connect()) {
            second.setAutoCommit(false);
            LogFixture claiming = new LogFixture(second);
            UUID lease = claiming.claimLeased(Job.of(2), group, lane).getFirst().leaseId();
            assertEquals("moved", seekQueue("beginning", null).verdict());
            second.commit();
            assertNotNull(lease);
            assertEquals("lost", log.ackBatch(group, lane, lease, 5));
        }
        assertEquals(0, next(lane));
    }

    @Test
    void anAckThatTheSeekOvertakesCountsAsEarlier() throws Exception {
        log.cursor(lane, group, -1);
        // Not its first ever: that one holds the row of the group.
        log.claimAuto(1, group, lane);
        UUID lease = lease(lane);
        try (Connection second = database.connect()) {
            second.setAutoCommit(false);
            assertEquals("released", new LogFixture(second).ackBatch(group, lane, lease, 2));
            assertEquals("moved", seekQueue("beginning", null).verdict());
            second.commit();
        }
        assertEquals(-1L, effective(lane));
        assertEquals(0, next(lane));
    }

    @Test
    void aSeekGivesUpOnALaneThatIsHeldTooLong() throws Exception {
        log.cursor(lane, group, -1);
        try (Connection second = database.connect()) {
            second.setAutoCommit(false);
            new LogFixture(second).claimLeased(Job.of(2), group, lane);
            SQLException refused =
                    assertThrows(SQLException.class, () -> seekLane("p", "end", null, null));
            assertEquals("55P03", refused.getSQLState());
        }
    }
}
