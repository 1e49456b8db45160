package io.queenmq.pop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Claim;
import io.queenmq.testkit.LogFixture.Job;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** Where a group begins in a lane, and claims that meet there. */
class PopFirstContactProceduresTest extends PopScene {
    @Test
    @Contract("pop-first-4")
    void claimFirstPlacesTheCursorByTheRuleOfTheGroup() throws SQLException {
        long bare = log.lane(queue);
        log.fill(bare, 1, 3);
        Claim claim = log.claimFirst(Job.of(2), group, "instant", serverNow(), bare).getFirst();
        assertEquals("leased", claim.verdict());
        assertEquals(0, claim.from());
    }

    @Test
    @Contract("pop-first-6")
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
    @Contract("pop-first-8")
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
    @Contract("pop-claim-5")
    void claimFirstWritesNoRowForAnIdleLaneOfARegisteredGroup() throws SQLException {
        long bare = log.lane(queue);
        assertEquals(
                "empty", log.claimFirst(Job.of(1), group, null, null, bare).getFirst().verdict());
        assertEquals(
                0, log.rows("select from queen_store.cursors where partition_id = ?", bare).size());
    }

    @Test
    void anIdleLaneIsEmptyOnlyUpToWhereThatWasDecided() throws Exception {
        long idle = log.lane(queue);
        long contended = log.lane(queue);
        log.fill(contended, 1, 1);
        int backend = (int) log.value("select pg_backend_pid()");
        try (Connection other = database.connect();
                Connection observer = database.connect()) {
            other.setAutoCommit(false);
            // The key of the other lane's cursor: the first claim waits for it between its steps.
            new LogFixture(other).cursor(contended, group, -1);
            CompletableFuture<List<Claim>> claim =
                    CompletableFuture.supplyAsync(() -> firstClaim(idle, contended));
            LogFixture seen = new LogFixture(observer);
            while (seen.rows("select from pg_locks where pid = ? and not granted", backend)
                    .isEmpty()) {
                assertFalse(claim.isDone());
            }
            seen.fill(idle, 1, 3);
            other.rollback();
            Claim empty =
                    claim.get(30, TimeUnit.SECONDS).stream()
                            .filter(one -> one.candidate() == 1)
                            .findFirst()
                            .orElseThrow();
            assertEquals("empty", empty.verdict());
            assertEquals(-1, empty.lastOffset());
        }
    }

    private List<Claim> firstClaim(long... lanes) {
        try {
            return log.claimFirst(Job.several(9, 0), group, null, null, lanes);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
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
