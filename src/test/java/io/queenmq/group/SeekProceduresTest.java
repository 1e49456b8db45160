package io.queenmq.group;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Claim;
import io.queenmq.testkit.LogFixture.Item;
import io.queenmq.testkit.LogFixture.Job;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class SeekProceduresTest extends SeekScene {

    // A whole queue.

    @Test
    void aQueueGoesToTheBeginning() throws SQLException {
        log.cursor(lane, group, 9);
        Moved moved = seekQueue("beginning", null);
        assertEquals(new Moved("moved", 1, null, null, null), moved);
        assertEquals(-1L, effective(lane));
        assertEquals(List.of(lane), lanesWithWork());
        assertEquals(0, next(lane));
    }

    @Test
    void aQueueGoesToTheFirstMessageCreatedAtOrAfterAnInstant() throws SQLException {
        log.cursor(lane, group, 9);
        seekQueue("instant", createdAt(lane, 5));
        // Messages of one segment share their time: offset 4 was created with 5.
        assertEquals(3L, effective(lane));
        assertEquals(4, next(lane));
        seekQueue("instant", createdAt(lane, 5).plusNanos(1_000));
        assertEquals(5L, effective(lane));
        assertEquals(6, next(lane));
    }

    @Test
    void anInstantBeforeWhatIsRetainedIsTheOldestRetained() throws SQLException {
        log.run("update queen_store.partitions set log_start = 4 where id = ?", lane);
        seekQueue("instant", Instant.EPOCH);
        assertEquals(3L, effective(lane));
        assertEquals(4, next(lane));
    }

    @Test
    void anInstantBehindTheNewestMessageIsTheEnd() throws SQLException {
        seekQueue("instant", Instant.now().plusSeconds(60));
        assertEquals(9L, effective(lane));
        assertEquals(List.of(), lanesWithWork());
        assertEquals(-1, next(lane));
        log.append(lane, "before that instant");
        assertEquals(10, next(lane));
    }

    @Test
    void aQueueGoesToItsEndInOneRow() throws SQLException {
        log.cursor(lane, group, 1);
        long another = lane("another");
        log.fill(another, 1, 3);
        Moved moved = seekQueue("end", null);
        assertEquals(2, moved.lanes());
        assertNotNull(moved.from());
        assertNull(moved.pid());
        assertEquals(9L, effective(lane));
        assertEquals(2L, effective(another));
        assertEquals(List.of(), lanesWithWork());
        assertEquals(
                1,
                log.rows("select from queen_store.cursors where group_id = ?", group).size(),
                "no cursor was written");
        log.append(another, "x");
        assertEquals(List.of(another), lanesWithWork());
        assertEquals(3, next(another));
    }

    @Test
    @Contract("seek-8")
    void theEndSkipsNothingOfATransactionStillOpen() throws SQLException {
        try (Connection open = database.connect()) {
            open.setAutoCommit(false);
            LogFixture pushing = new LogFixture(open);
            pushing.run("set application_name = 'slow shop'");
            pushing.append(lane, "late");
            log.rows("select pg_sleep(1.1)");
            Moved moved = seekQueue("end", null);
            assertEquals(
                    pushing.value("select pg_backend_pid()"), moved.pid(), "who holds it back");
            assertEquals("slow shop", moved.application());
            open.commit();
        }
        assertEquals(10, next(lane), "the message committed after the seek");
    }

    @Test
    @Contract("seek-1")
    void aLaneMadeLaterBeginsWhereTheSeekSays() throws SQLException {
        // An instant to come is the end: what is pushed after the seek is never skipped.
        seekQueue("instant", Instant.now().plusSeconds(3600));
        long later = lane("later");
        log.append(later, "early");
        assertEquals(-1L, effective(later));
        assertEquals(List.of(later), lanesWithWork());
        seekQueue("instant", Instant.now().minusSeconds(3600));
        long last = lane("last");
        log.append(last, "a");
        assertEquals(-1L, effective(last));
        assertEquals(0, next(last));
    }

    @Test
    void aLeaseOfBeforeIsNoLongerHonoured() throws SQLException {
        log.cursor(lane, group, -1);
        UUID lease = lease(lane);
        seekQueue("beginning", null);
        assertEquals("lost", log.ackBatch(group, lane, lease, 1));
        for (int status = 0; status <= 3; status++) {
            assertEquals(
                    "invalid_lease",
                    log.ack(lane, "g", lease, new Item(1, "m0", status, "e")).getFirst().verdict());
        }
        assertEquals(
                List.of(),
                log.rows(
                        "select partition_id from queen_store.extend_lease(?, ?, 60)",
                        LogFixture.TENANT,
                        lease));
        assertEquals(0, next(lane), "free at once, without waiting for the lease");
        assertEquals(
                List.of(),
                log.rows("select from queen_store.dead_letters where queue_id = ?", queue));
    }

    @Test
    void countersOfBeforeAreForgotten() throws SQLException {
        log.cursor(lane, group, -1);
        log.ack(lane, "g", lease(lane), Item.failed("m0", "e"));
        lease(lane);
        seekQueue("beginning", null);
        Claim claim = log.claimFirst(Job.of(2), group, null, null, lane).getFirst();
        assertEquals(1, claim.attempt());
        @Nullable Object[] row =
                log.rows(
                                "select retry_count, epoch, generation from queen_store.cursors"
                                        + " where partition_id = ? and group_id = ?",
                                lane,
                                group)
                        .getFirst();
        assertEquals(0, row[0]);
        assertEquals(0, row[1]);
        assertEquals(generation(), row[2]);
    }

    @Test
    void otherGroupsStayWhereTheyAre() throws SQLException {
        int other = log.group(queue, "other", "all", null);
        log.cursor(lane, other, 7);
        seekQueue("beginning", null);
        assertEquals(7L, log.value("select queen_store.effective_cursor(?, ?)", lane, other));
    }

    @Test
    void anUnregisteredGroupIsLeftForItsFirstPopToRegister() throws SQLException {
        assertEquals("moved", seekQueue(log, "fresh", "instant", createdAt(lane, 8)).verdict());
        @Nullable Object[] row =
                log.rows(
                                "select start_rule, conflation, seek_rule from queen_store.groups"
                                        + " where queue_id = ? and name = 'fresh'",
                                queue)
                        .getFirst();
        assertNull(row[0]);
        assertNull(row[1]);
        assertEquals("instant", row[2]);
        @Nullable Object[] registered =
                log.rows(
                                "select verdict, group_id, start_rule, conflation from"
                                        + " queen_store.register_group(?, ?, 'fresh', 'all', null,"
                                        + " false, true)",
                                LogFixture.TENANT,
                                name)
                        .getFirst();
        assertEquals("ready", registered[0]);
        assertEquals("all", registered[2]);
        assertEquals(true, registered[3]);
        group = (Integer) Objects.requireNonNull(registered[1]);
        assertEquals(7L, effective(lane), "what the seek placed wins over the subscription");
    }

    @Test
    @Contract("seek-5")
    void aQueueWithoutLanesOrThatIsNoneIsNotFound() throws SQLException {
        name = "nowhere";
        assertEquals("not_found", seekQueue("end", null).verdict());
        name = "bare-" + UUID.randomUUID();
        queue = log.queue(name);
        assertEquals("not_found", seekQueue("end", null).verdict());
        assertEquals(
                List.of(), log.rows("select from queen_store.groups where queue_id = ?", queue));
    }

    @Test
    void theViewOfCursorsSaysTheSame() throws SQLException {
        long another = lane("another");
        log.append(another, "a", "b");
        log.cursor(lane, group, 9);
        seekQueue("instant", createdAt(lane, 6));
        assertEquals(
                List.of("another -1 1 false", "p 5 9 false"),
                log
                        .rows(
                                "select partition || ' ' || committed || ' ' || last_offset || ' '"
                                        + " || touched from queen.cursors where queue = ? and"
                                        + " consumer_group = 'g' order by partition",
                                name)
                        .stream()
                        .map(row -> String.valueOf(row[0]))
                        .toList());
        assertEquals(
                List.of(),
                log.rows("select from queen.leases where queue = ?", name),
                "no lease of an older generation");
    }

    // One lane.

    @Test
    void aLaneGoesToAnOffset() throws SQLException {
        assertEquals("4", seekLane("p", "offset", null, 5L));
        assertEquals(5, next(lane));
    }

    @Test
    void anOffsetIsKeptWithinWhatIsRetained() throws SQLException {
        log.run("update queen_store.partitions set log_start = 4 where id = ?", lane);
        assertEquals("3", seekLane("p", "offset", null, 0L));
        assertEquals(4, next(lane));
        assertEquals("9", seekLane("p", "offset", null, Long.MAX_VALUE));
        assertEquals(-1, next(lane));
        assertEquals("9", seekLane("p", "offset", null, 10L));
    }

    @Test
    void aNegativeOffsetIsRefused() {
        SQLException refused =
                assertThrows(SQLException.class, () -> seekLane("p", "offset", null, -1L));
        assertEquals("QN400", refused.getSQLState());
        assertEquals(
                "QN400",
                assertThrows(SQLException.class, () -> seekLane("p", "offset", null, null))
                        .getSQLState());
    }

    @Test
    void aLaneGoesToItsEndItsBeginningAndAnInstant() throws SQLException {
        assertEquals("9", seekLane("p", "end", null, null));
        assertEquals("-1", seekLane("p", "beginning", null, null));
        assertEquals("3", seekLane("p", "instant", createdAt(lane, 5), null));
        assertEquals("9", seekLane("p", "instant", Instant.now().plusSeconds(5), null));
        assertEquals("-1", seekLane("p", "instant", Instant.EPOCH, null));
    }

    @Test
    void theLeaseAndTheCountersOfTheLaneGo() throws SQLException {
        log.cursor(lane, group, -1);
        log.ack(lane, "g", lease(lane), Item.failed("m0", "e"));
        UUID lease = lease(lane);
        log.run("update queen_store.cursors set epoch = 1 where partition_id = ?", lane);
        seekLane("p", "offset", null, 3L);
        @Nullable Object[] row =
                log.rows(
                                "select committed, epoch, retry_count, attempt_count, lease_id,"
                                        + " prev_lease, batch_end from queen_store.cursors where"
                                        + " partition_id = ? and group_id = ?",
                                lane,
                                group)
                        .getFirst();
        assertEquals(Arrays.asList(2L, 0, 0, 0, null, null, null), Arrays.asList(row));
        assertEquals("lost", log.ackBatch(group, lane, lease, 1));
        assertEquals(
                "invalid_lease",
                log.ack(lane, "g", lease, Item.completed("m0")).getFirst().verdict());
        assertEquals(2L, log.committed(lane, group));
        assertEquals(3, next(lane));
    }

    @Test
    void otherLanesStayWhereTheyAre() throws SQLException {
        long other = lane("other");
        log.append(other, "a", "b");
        log.cursor(other, group, 0);
        int before = generation();
        seekLane("p", "end", null, null);
        assertEquals(before, generation());
        assertEquals(0L, effective(other));
    }

    @Test
    void aLaneOfAnUnregisteredGroupGetsItsCursorAndNothingElse() throws SQLException {
        assertEquals("4", seekLane(log, "fresh", "p", "offset", null, 5L));
        long other = lane("other");
        log.append(other, "a");
        group =
                (int)
                        log.value(
                                "select id from queen_store.groups where queue_id = ? and name ="
                                        + " 'fresh' and start_rule is null",
                                queue);
        assertEquals(4L, effective(lane));
        assertNull(effective(other));
    }

    @Test
    void whatIsNotThereIsSaid() throws SQLException {
        assertEquals("unknown_partition", seekLane("none", "end", null, null));
        name = "nowhere";
        assertEquals("unknown_queue", seekLane("p", "end", null, null));
    }

    // Subscription.

    @Test
    void aSubscriptionMovesOnlyLanesNotTouchedYet() throws SQLException {
        long untouched = lane("untouched");
        log.fill(untouched, 3, 1);
        log.cursor(lane, group, 6);
        assertTrue(subscribe("g", createdAt(untouched, 2)).contains(queue));
        assertEquals(6L, effective(lane));
        assertEquals(1L, effective(untouched));
        assertEquals(2, next(untouched));
    }

    @Test
    @Contract("seek-6")
    void aSubscriptionMovesNothingThatASeekHasPlaced() throws SQLException {
        seekQueue("instant", createdAt(lane, 4));
        assertTrue(subscribe("g", Instant.now().plusSeconds(60)).contains(queue));
        assertEquals(3L, effective(lane));
        // Until the group is deleted: then there is no seek any more.
        delete(log, name, "g", false);
        assertEquals(9L, effective(lane));
    }

    @Test
    void aSubscriptionIsOfEveryQueueOfARegisteredGroup() throws SQLException {
        int second = log.queue();
        log.group(second, "g", "all", null);
        int third = log.queue();
        log.group(third, "g", null, null);
        String mine = "only-" + UUID.randomUUID();
        log.group(second, mine, "all", null);
        assertEquals(List.of(second), subscribe(mine, Instant.EPOCH));
        List<Integer> queues = subscribe("g", Instant.EPOCH);
        assertTrue(queues.containsAll(List.of(queue, second)));
        assertFalse(queues.contains(third), "never registered");
        assertEquals(List.of(), subscribe("nobody", Instant.EPOCH));
    }

    private List<Integer> subscribe(String groupName, Instant at) throws SQLException {
        return log
                .rows(
                        "select queue_id from queen_store.update_subscription(?, ?,"
                                + " ?::text::timestamptz) order by queue_id",
                        LogFixture.TENANT,
                        groupName,
                        at.toString())
                .stream()
                .map(row -> (Integer) Objects.requireNonNull(row[0]))
                .toList();
    }
}
