package io.queenmq.pop;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.LogFixture.Job;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What lanes hold for a pop that has not claimed them yet. */
class PopPendingProceduresTest extends PopScene {
    private List<Integer> pending(int laneLimit, int limit, long... lanes) throws SQLException {
        try (PreparedStatement statement =
                connection.prepareStatement(
                        "select messages, lanes from queen_store.pending_messages(?, ?, ?, ?)")) {
            statement.setArray(
                    1, connection.createArrayOf("int8", Arrays.stream(lanes).boxed().toArray()));
            statement.setInt(2, group);
            statement.setInt(3, laneLimit);
            statement.setInt(4, limit);
            try (ResultSet row = statement.executeQuery()) {
                row.next();
                return List.of(row.getInt(1), row.getInt(2));
            }
        }
    }

    @Test
    @Contract("pop-fill-1")
    void countsFromTheCursorOnUpToTheLimit() throws SQLException {
        log.fill(lane, 3, 2);
        log.run("update queen_store.cursors set committed = 1 where partition_id = ?", lane);
        assertEquals(List.of(4, 1), pending(1, 100, lane));
        assertEquals(List.of(3, 1), pending(1, 3, lane));
        log.run("update queen_store.cursors set committed = 5 where partition_id = ?", lane);
        assertEquals(List.of(0, 0), pending(1, 100, lane));
    }

    @Test
    void goesNoFurtherThanTheLanesThatMayDeliver() throws SQLException {
        long[] lanes = lanes(4, 5);
        assertEquals(List.of(5, 2), pending(1, 100, lane, lanes[0], lanes[1]), "one is empty");
        assertEquals(List.of(10, 3), pending(2, 100, lane, lanes[0], lanes[1], lanes[2]));
        assertEquals(List.of(20, 4), pending(0, 100, lanes));
        assertEquals(List.of(7, 2), pending(0, 7, lanes), "the others are not needed");
    }

    @Test
    @Contract("pop-fill-2")
    void aLeasedLaneHoldsNothingAndNothingIsLocked() throws SQLException {
        log.fill(lane, 1, 5);
        connection.setAutoCommit(false);
        assertEquals(List.of(5, 1), pending(1, 100, lane));
        assertEquals(
                0L,
                log.value(
                        "select count(*) from pg_locks where pid = pg_backend_pid()"
                                + " and mode in ('RowShareLock', 'RowExclusiveLock')"));
        log.claimLeased(Job.of(2), group, lane);
        assertEquals(List.of(0, 0), pending(1, 100, lane));
        log.run(
                "update queen_store.cursors set lease_expires_at = clock_timestamp()"
                        + " where partition_id = ?",
                lane);
        assertEquals(List.of(5, 1), pending(1, 100, lane));
    }

    @Test
    void aLaneWithoutACursorBeginsByTheRuleOfTheGroup() throws SQLException {
        long other = log.lane(queue);
        log.fill(other, 2, 2);
        age(other, 0, 60);
        log.run(
                "update queen_store.groups set start_rule = 'instant',"
                        + " start_at = clock_timestamp() - interval '30 seconds' where id = ?",
                group);
        assertEquals(List.of(2, 1), pending(1, 100, other));
        log.run("update queen_store.groups set start_rule = 'all' where id = ?", group);
        assertEquals(List.of(4, 1), pending(1, 100, other));
    }

    @Test
    void whatIsDelayedOrHeldByAWindowDoesNotCount() throws SQLException {
        log.fill(lane, 2, 5);
        age(lane, 0, 61);
        log.run(
                "update queen_store.queues set delayed_processing_seconds = 60 where id = ?",
                queue);
        assertEquals(List.of(5, 1), pending(1, 100, lane));
        log.run(
                "update queen_store.queues set delayed_processing_seconds = 0,"
                        + " window_buffer_seconds = 60 where id = ?",
                queue);
        assertEquals(List.of(10, 1), pending(1, 100, lane), "the window is over");
        log.run("update queen_store.cursors set committed = 4 where partition_id = ?", lane);
        assertEquals(List.of(0, 0), pending(1, 100, lane), "the next one has begun");
        log.fill(lane, 1, 95);
        assertEquals(List.of(100, 1), pending(1, 1000, lane), "a hundred end it");
    }

    @Test
    void aLaneOfAGroupThatConflatesHoldsOne() throws SQLException {
        log.run("update queen_store.groups set conflation = true where id = ?", group);
        long[] lanes = lanes(3, 5);
        assertEquals(List.of(3, 3), pending(64, 64, lanes));
    }

    @Test
    void aLaneOfAnotherQueueOrOneThatIsGoneHoldsNothing() throws SQLException {
        long foreign = log.lane(log.queue());
        log.fill(foreign, 1, 5);
        assertEquals(List.of(0, 0), pending(1, 100, foreign, Long.MAX_VALUE));
        log.fill(lane, 1, 5);
        log.run("update queen_store.queues set deleted_at = clock_timestamp() where id = ?", queue);
        assertEquals(List.of(0, 0), pending(1, 100, lane));
    }
}
