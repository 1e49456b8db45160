package io.queenmq.pop;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.LogFixture.Claim;
import io.queenmq.testkit.LogFixture.Job;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Claims of lanes that a window holds: from the first unserved message on, up to a hundred. */
class PopWindowProceduresTest extends PopScene {
    @BeforeEach
    void window() throws SQLException {
        log.run("update queen_store.queues set window_buffer_seconds = 60 where id = ?", queue);
    }

    private List<Claim> claim() throws SQLException {
        return log.claimLeased(Job.of(1000), group, lane);
    }

    @Test
    @Contract("pop-window-1")
    void holdsALaneFromItsFirstUnservedMessageOnAndSaysUntilWhen() throws SQLException {
        log.fill(lane, 3, 2);
        age(lane, 0, 40);
        Claim held = claim().getFirst();
        assertEquals("empty", held.verdict());
        Instant until = held.visibleAt();
        assertNotNull(until);
        Duration left = Duration.between(serverNow(), until);
        assertTrue(left.isPositive() && left.toSeconds() <= 20, left.toString());
    }

    @Test
    @Contract("pop-window-1")
    void theWindowEndsWithItsFirstMessageHoweverYoungTheOthersAre() throws SQLException {
        log.fill(lane, 3, 2);
        age(lane, 0, 61);
        assertEquals(List.of(2, 2, 2), claim().stream().map(Claim::count).toList());
    }

    /**
     * A message every 20 s for an hour, so that the newest is never older than a third of the
     * window: each is given once, in order, and none later than a window and a write after it came.
     */
    @Test
    @Contract("pop-window-1")
    void aLaneThatIsWrittenWithoutAPauseIsDeliveredAllTheSame() throws SQLException {
        long given = 0;
        for (int written = 1; written <= 180; written++) {
            log.run(
                    "update queen_store.segments set created_at = created_at - interval '20 s'"
                            + " where partition_id = ?",
                    lane);
            log.fill(lane, 1, 1);
            for (Claim claim : claim()) {
                if (claim.count() > 0) {
                    assertEquals(given, claim.from());
                    given += claim.count();
                }
            }
            log.run(
                    "update queen_store.cursors set committed = ?, lease_id = null,"
                            + " lease_expires_at = null where partition_id = ?",
                    given - 1,
                    lane);
            assertTrue(written - given < 4, written + " written, " + given + " given");
        }
        assertTrue(given >= 177, given + " given");
    }

    @Test
    @Contract("pop-window-4")
    void whatIsDeliveredAgainWaitsForNoWindowAgain() throws SQLException {
        log.fill(lane, 3, 2);
        age(lane, 0, 61);
        assertEquals("leased", claim().getFirst().verdict());
        log.fill(lane, 1, 2);
        log.expire(lane, group);
        assertEquals(List.of(2, 2, 2, 2), claim().stream().map(Claim::count).toList());
    }

    @Test
    @Contract("pop-window-1")
    void popsInSqlAreHeldAsWell() throws SQLException {
        String sql =
                "select from queen.pop((select name from queen_store.queues where id = %d), 'g', 9)"
                        .formatted(queue);
        log.fill(lane, 1, 5);
        assertEquals(0, log.rows(sql).size());
        age(lane, 0, 61);
        assertEquals(5, log.rows(sql).size());
    }

    @Test
    @Contract("pop-window-1")
    void aHundredMessagesEndItBeforeItsTime() throws SQLException {
        log.fill(lane, 1, 99);
        Claim held = claim().getFirst();
        assertEquals("empty", held.verdict());
        assertEquals(99, held.batchEnd(), "the offset that fills it");
        log.fill(lane, 1, 1);
        assertEquals(List.of(99, 1), claim().stream().map(Claim::count).toList());
    }

    @Test
    @Contract("pop-window-1")
    void theNextWindowBeginsBehindTheCursor() throws SQLException {
        log.fill(lane, 2, 5);
        age(lane, 0, 61);
        log.run("update queen_store.cursors set committed = 4 where partition_id = ?", lane);
        Claim held = claim().getFirst();
        assertEquals("empty", held.verdict());
        assertEquals(104, held.batchEnd());
    }

    @Test
    void aHoleDoesNotCountAsTheFirstMessage() throws SQLException {
        log.fill(lane, 2, 5);
        age(lane, 0, 61);
        log.run(
                "delete from queen_store.segments where partition_id = ? and base_offset = 0",
                lane);
        log.run("update queen_store.partitions set log_start = 5 where id = ?", lane);
        assertEquals("empty", claim().getFirst().verdict());
        age(lane, 5, 61);
        assertEquals("leased", claim().getFirst().verdict());
    }

    @Test
    void aHeldLaneUsesUpNoBudget() throws SQLException {
        log.fill(lane, 1, 5);
        long other = log.lane(queue);
        log.cursor(other, group, -1);
        log.fill(other, 1, 5);
        age(other, 0, 61);
        List<Claim> claims = log.claimLeased(Job.several(3, 1), group, lane, other);
        assertEquals(List.of("empty", "leased"), claims.stream().map(Claim::verdict).toList());
        assertEquals(3, claims.get(1).count());
    }

    @Test
    @Contract("pop-window-3")
    void windowAndDelayMustBothBeOver() throws SQLException {
        log.run(
                "update queen_store.queues set delayed_processing_seconds = 100 where id = ?",
                queue);
        log.fill(lane, 1, 5);
        age(lane, 0, 61);
        Claim delayed = claim().getFirst();
        assertEquals("empty", delayed.verdict());
        Instant until = delayed.visibleAt();
        assertNotNull(until);
        assertTrue(Duration.between(serverNow(), until).toSeconds() > 30);
        assertEquals(0, delayed.batchEnd(), "no message ends a delay");
        age(lane, 0, 40);
        assertEquals("leased", claim().getFirst().verdict());
    }

    @Test
    @Contract("pop-window-3")
    void underConflationTheGateComesFirstAndThenTheNewestMessage() throws SQLException {
        log.run("update queen_store.groups set conflation = true where id = ?", group);
        log.fill(lane, 3, 2);
        assertEquals("empty", claim().getFirst().verdict());
        age(lane, 0, 61);
        List<Claim> claims = claim();
        assertEquals(1, claims.size());
        assertEquals(5, claims.getFirst().from());
    }

    @Test
    void aLaneThatHoldsNothingIsSealedAllTheSame() throws SQLException {
        log.fill(lane, 1, 5);
        log.run("delete from queen_store.segments where partition_id = ?", lane);
        log.run("update queen_store.partitions set log_start = 5 where id = ?", lane);
        Claim sealed = claim().getFirst();
        assertEquals("empty", sealed.verdict());
        assertNull(sealed.visibleAt());
        assertEquals(4, log.committed(lane, group));
    }

    @Test
    @Contract("pop-window-1")
    void autoAckAndFirstContactAreHeldAsWell() throws SQLException {
        log.fill(lane, 1, 5);
        assertEquals("empty", log.claimAuto(10, group, lane).getFirst().verdict());
        long fresh = log.lane(queue);
        log.fill(fresh, 1, 5);
        Claim held = log.claimFirst(Job.of(10), group, null, null, fresh).getFirst();
        assertEquals("empty", held.verdict());
        assertNotNull(held.visibleAt());
    }
}
