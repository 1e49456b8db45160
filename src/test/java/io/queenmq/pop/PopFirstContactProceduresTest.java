package io.queenmq.pop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Claim;
import io.queenmq.testkit.LogFixture.Job;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import org.junit.jupiter.api.Test;

/** Where a group begins in a lane, and claims that meet there. */
class PopFirstContactProceduresTest extends PopScene {
    @Test
    void claimFirstPlacesTheCursorByTheRuleOfTheGroup() throws SQLException {
        long bare = log.lane(queue);
        log.fill(bare, 1, 3);
        Claim claim = log.claimFirst(Job.of(2), group, "instant", serverNow(), bare).getFirst();
        assertEquals("leased", claim.verdict());
        assertEquals(0, claim.from());
    }

    @Test
    void claimFirstOfAnUnregisteredGroupUsesTheRuleOfThePop() throws SQLException {
        int pinned = log.group(queue, "pinned", null, null);
        log.fill(lane, 1, 3);
        Claim claim = log.claimFirst(Job.of(2), pinned, "new", null, lane).getFirst();
        assertEquals("empty", claim.verdict());
        assertEquals(2, log.committed(lane, pinned));
        log.fill(lane, 1, 1);
        assertEquals(3, log.claimLeased(Job.of(2), pinned, lane).getFirst().from());
        int nowhere = log.group(queue, "nowhere", null, null);
        assertEquals(
                "no_cursor",
                log.claimFirst(Job.of(2), nowhere, null, null, lane).getFirst().verdict());
    }

    @Test
    void claimFirstDeliversWhatCameAfterThePollArrived() throws SQLException {
        int pinned = log.group(queue, "pinned", null, null);
        Instant arrival = serverNow();
        long late = log.lane(queue);
        log.fill(late, 1, 2);
        Claim claim = log.claimFirst(Job.of(5), pinned, "instant", arrival, late).getFirst();
        assertEquals("leased", claim.verdict());
        assertEquals(0, claim.from());
    }

    @Test
    void claimFirstWritesNoRowForAnIdleLaneOfARegisteredGroup() throws SQLException {
        long bare = log.lane(queue);
        assertEquals(
                "empty", log.claimFirst(Job.of(1), group, null, null, bare).getFirst().verdict());
        assertEquals(
                0, log.rows("select from queen_store.cursors where partition_id = ?", bare).size());
    }

    @Test
    void claimFirstStartsAnOldGenerationAnew() throws SQLException {
        log.fill(lane, 1, 5);
        log.claimLeased(Job.of(2), group, lane);
        log.run(
                "update queen_store.cursors set committed = 3, retry_count = 2 where partition_id = ?",
                lane);
        log.run("update queen_store.groups set generation = 2 where id = ?", group);
        Claim claim = log.claimFirst(Job.of(2), group, null, null, lane).getFirst();
        assertEquals("leased", claim.verdict());
        assertEquals(0, claim.from());
        assertEquals(1, claim.attempt());
        assertEquals(
                0,
                log.value(
                        "select retry_count from queen_store.cursors where partition_id = ?",
                        lane));
    }

    @Test
    void claimFirstServesAnAutoAckJobAtOnce() throws SQLException {
        long bare = log.lane(queue);
        log.fill(bare, 1, 3);
        Claim claim = log.claimFirst(Job.auto(2), group, null, null, bare).getFirst();
        assertEquals("served", claim.verdict());
        assertEquals(1, log.committed(bare, group));
    }

    @Test
    void ofTwoClaimsAtOnceOneGetsTheLane() throws SQLException {
        log.fill(lane, 1, 3);
        try (Connection other = database.connect()) {
            other.setAutoCommit(false);
            Claim theirs = new LogFixture(other).claimLeased(Job.of(1), group, lane).getFirst();
            assertEquals("leased", theirs.verdict());
            assertEquals("busy", log.claimLeased(Job.of(1), group, lane).getFirst().verdict());
            other.commit();
            assertEquals("held", log.claimLeased(Job.of(1), group, lane).getFirst().verdict());
        }
    }

    @Test
    void ofTwoFirstClaimsAtOnceOnePlacesTheCursor() throws SQLException {
        long bare = log.lane(queue);
        log.fill(bare, 1, 3);
        try (Connection other = database.connect()) {
            other.setAutoCommit(false);
            Claim theirs =
                    new LogFixture(other).claimFirst(Job.of(1), group, null, null, bare).getFirst();
            assertEquals("leased", theirs.verdict());
            assertEquals(
                    "busy",
                    log.claimFirst(Job.of(1), group, null, null, bare).getFirst().verdict());
            other.commit();
            assertEquals(
                    "held",
                    log.claimFirst(Job.of(1), group, null, null, bare).getFirst().verdict());
        }
    }
}
