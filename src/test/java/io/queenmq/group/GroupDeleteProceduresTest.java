package io.queenmq.group;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Item;
import io.queenmq.testkit.LogFixture.Job;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class GroupDeleteProceduresTest extends SeekScene {
    private String register(LogFixture on, String rule) throws SQLException {
        return String.valueOf(
                on.rows(
                                "select verdict || ' ' || coalesce(start_rule, '-') from"
                                        + " queen_store.register_group(?, ?, 'g', ?, null, false)",
                                LogFixture.TENANT,
                                name,
                                rule)
                        .getFirst()[0]);
    }

    @Test
    void theGroupIsForgottenWithAllItsCursors() throws SQLException {
        log.cursor(lane, group, 5);
        long second = lane("second");
        log.append(second, "a");
        log.claimAuto(5, group, lane);
        assertEquals(List.of(2L), delete(log, name, "g", true));
        assertNull(effective(lane));
        assertNull(effective(second));
        assertEquals(List.of(), lanesWithWork());
        @Nullable Object[] row =
                log.rows(
                                "select start_rule, start_at, seek_rule, conflation, consumed_at,"
                                        + " generation from queen_store.groups where id = ?",
                                group)
                        .getFirst();
        for (int i = 0; i < 5; i++) {
            assertNull(row[i]);
        }
        assertEquals(2, row[5]);
        assertEquals(
                List.of(),
                log.rows("select from queen.cursors where queue = ?", name),
                "nothing is shown of it");
    }

    @Test
    void theNextPopIsFirstContactWithItsOwnParameters() throws SQLException {
        log.cursor(lane, group, 5);
        delete(log, name, "g", true);
        assertEquals("ready instant", register(log, "new"));
        assertEquals(9L, effective(lane), "new: from now on");
        delete(log, name, "g", true);
        assertEquals("ready all", register(log, "all"));
        assertEquals(-1L, effective(lane));
        assertEquals(0, next(lane));
    }

    @Test
    void aPinnedPopAfterTheDeletionPlacesTheCursorByItsOwnRule() throws SQLException {
        log.cursor(lane, group, 5);
        delete(log, name, "g", true);
        assertEquals("no_cursor", log.claimLeased(Job.of(1), group, lane).getFirst().verdict());
        assertEquals(0, log.claimFirst(Job.of(1), group, "all", null, lane).getFirst().from());
    }

    @Test
    void withoutARuleNothingIsPlaced() throws SQLException {
        log.cursor(lane, group, 5);
        delete(log, name, "g", true);
        assertEquals(
                "no_cursor",
                log.claimFirst(Job.of(1), group, null, null, lane).getFirst().verdict(),
                "a broker that has not heard of the deletion must register the group anew");
    }

    @Test
    void theRegistrationMayStay() throws SQLException {
        log.cursor(lane, group, 5);
        seekQueue("end", null);
        assertEquals(List.of(1L), delete(log, name, "g", false));
        assertEquals("ready all", register(log, "new"));
        assertEquals(-1L, effective(lane), "the seek has gone, the subscription has not");
    }

    @Test
    @Contract("seek-7")
    void deletingAgainFindsNothing() throws SQLException {
        log.cursor(lane, group, 5);
        assertEquals(List.of(1L), delete(log, name, "g", true));
        assertEquals(List.of(0L), delete(log, name, "g", true));
        assertEquals(List.of(), delete(log, name, "nobody", true));
        assertEquals(List.of(), delete(log, "nowhere", "g", true));
        register(log, "all");
        assertEquals(List.of(1L), delete(log, name, "g", true));
    }

    @Test
    void aGroupThatOnlyPinnedPopsUsedIsDeletedToo() throws SQLException {
        group = log.group(queue, "pinned", null, null);
        log.claimFirst(Job.of(1), group, "all", null, lane);
        assertEquals(-1L, effective(lane));
        assertEquals(List.of(1L), delete(log, name, "pinned", true));
        assertNull(effective(lane));
    }

    @Test
    void allQueuesOfTheTenantAreMeantWithoutOne() throws SQLException {
        String mine = "g-" + UUID.randomUUID();
        int first = log.group(queue, mine, "all", null);
        int second = log.group(log.queue(), mine, "all", null);
        int foreign =
                log.group(
                        (int)
                                log.value(
                                        "insert into queen_store.queues (tenant_id, name) values"
                                                + " (?, 'f') returning id",
                                        UUID.randomUUID()),
                        mine,
                        "all",
                        null);
        assertEquals(List.of(1L, 0L), delete(log, null, mine, true));
        assertEquals(
                List.of(2, 2, 1),
                log
                        .rows(
                                "select generation from queen_store.groups where id = any (?) order"
                                        + " by id",
                                (Object) new Integer[] {first, second, foreign})
                        .stream()
                        .map(row -> row[0])
                        .toList());
    }

    @Test
    void lateAcksOfADeletedGroupChangeNothing() throws SQLException {
        log.cursor(lane, group, -1);
        UUID lease = log.claimLeased(Job.of(2), group, lane).getFirst().leaseId();
        assertNotNull(lease);
        delete(log, name, "g", true);
        assertEquals("lost", log.ackBatch(group, lane, lease, 1));
        assertEquals(
                "invalid_lease",
                log.ack(lane, "g", lease, Item.dlq("m0", "e")).getFirst().verdict());
        assertEquals(
                "consumer_not_found",
                log.ack(lane, "g", null, Item.completed("m0")).getFirst().verdict());
        assertNull(effective(lane));
        assertEquals(
                List.of(),
                log.rows("select from queen_store.dead_letters where queue_id = ?", queue));
        assertNull(
                log.rows("select consumed_at from queen_store.groups where id = ?", group)
                        .getFirst()[0]);
    }

    @Test
    @Contract("dlq-3")
    void itsDeadLettersStay() throws SQLException {
        log.cursor(lane, group, -1);
        UUID lease = log.claimLeased(Job.of(2), group, lane).getFirst().leaseId();
        log.ack(lane, "g", lease, Item.dlq("m0", "e"));
        delete(log, name, "g", true);
        assertEquals(
                1,
                log.rows("select from queen_store.dead_letters where queue_id = ?", queue).size());
    }

    // Races.

    @Test
    void aFirstContactUnderWayIsEarlierAndGoesWithTheDeletion() throws Exception {
        String fresh = "g-" + UUID.randomUUID();
        group = log.group(queue, fresh, null, null);
        try (Connection second = database.connect();
                Connection third = database.connect()) {
            second.setAutoCommit(false);
            new LogFixture(second)
                    .rows(
                            "select from queen_store.register_group(?, ?, ?, 'all', null, false)",
                            LogFixture.TENANT,
                            name,
                            fresh);
            LogFixture deleting = new LogFixture(third);
            CompletableFuture<List<Long>> deleted =
                    beside(() -> delete(deleting, name, fresh, true));
            awaitBlocked();
            second.commit();
            assertEquals(List.of(1L), deleted.get());
        }
        assertNull(effective(lane));
    }

    @Test
    void aFirstContactDuringADeletionComesAgain() throws Exception {
        try (Connection second = database.connect()) {
            second.setAutoCommit(false);
            assertEquals(List.of(1L), delete(new LogFixture(second), name, "g", true));
            // What is committed says that the group is registered: this pop counts as earlier.
            assertEquals("ready all", register(log, "new"));
            second.commit();
        }
        assertEquals("ready instant", register(log, "new"));
    }

    @Test
    void aCursorPlacedWhileTheGroupIsDeletedIsSetAsideWithIt() throws Exception {
        try (Connection second = database.connect()) {
            second.setAutoCommit(false);
            LogFixture claiming = new LogFixture(second);
            UUID lease =
                    claiming.claimFirst(Job.of(2), group, null, null, lane).getFirst().leaseId();
            assertNotNull(lease);
            assertEquals(List.of(1L), delete(log, name, "g", true));
            second.commit();
            assertEquals("lost", log.ackBatch(group, lane, lease, 1));
        }
        assertNull(effective(lane));
    }

    @Test
    void twoDeletionsOfOneGroupAreOneAndARepeat() throws Exception {
        try (Connection second = database.connect();
                Connection third = database.connect()) {
            second.setAutoCommit(false);
            assertEquals(List.of(1L), delete(new LogFixture(second), name, "g", true));
            LogFixture deleting = new LogFixture(third);
            CompletableFuture<List<Long>> again = beside(() -> delete(deleting, name, "g", true));
            awaitBlocked();
            second.commit();
            assertEquals(List.of(0L), again.get());
        }
    }
}
