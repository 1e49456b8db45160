package io.queenmq.ack;

import static io.queenmq.testkit.LogFixture.Item.completed;
import static io.queenmq.testkit.LogFixture.Item.dlq;
import static io.queenmq.testkit.LogFixture.Item.failed;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Acked;
import io.queenmq.testkit.LogFixture.Item;
import io.queenmq.testkit.LogFixture.Job;
import io.queenmq.testkit.LogFixture.Unit;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Whose ack counts: leases, owners, locks, races. */
class AckHolderProceduresTest extends AckScene {
    @Test
    @Contract("ack-rule-1")
    void anExpiredLeaseIsInvalidEvenIfNobodyTookTheLane() throws SQLException {
        UUID lease = lease();
        log.expire(lane, group);
        assertEquals(
                List.of("invalid_lease", "invalid_lease"),
                verdicts(log.ack(lane, "g", lease, completed("m19"), completed("m3"))));
        assertEquals(
                List.of("invalid_lease"),
                verdicts(log.ack(lane, "g", UUID.randomUUID(), completed("m19"))));
        assertEquals(9, log.committed(lane, group));
    }

    @Test
    @Contract("ack-rule-12")
    void anAckWithTheLeaseAcknowledgedLastRepeatsItselfWithoutEffect() throws SQLException {
        UUID lease = lease();
        log.ack(lane, "g", lease, completed("m11"), dlq("m12", "bad"));
        assertEquals(
                List.of("noop", "noop"),
                verdicts(log.ack(lane, "g", lease, completed("m11"), dlq("m12", "bad"))));
        assertEquals(1, letters());
        assertEquals(12, log.committed(lane, group));
        assertEquals(
                List.of("stale", "invalid_lease"),
                verdicts(log.ack(lane, "g", lease, failed("m11", "x"), failed("m15", "x"))));
        assertEquals(0, cursor()[5]);
    }

    @Test
    @Contract({"ack-rule-12", "ack-error-5"})
    void whatALeaseGaveBackIsNotItsToAcknowledgeAnyMore() throws SQLException {
        UUID lease = lease();
        log.ack(lane, "g", lease, completed("m10"), failed("m11", "x"));
        List<String> ended = List.of("noop", "invalid_lease", "invalid_lease", "invalid_lease");
        Item[] late = {completed("m10"), completed("m13"), dlq("m14", "poison"), completed("zz")};
        assertEquals(ended, verdicts(log.ack(lane, "g", lease, late)));
        assertEquals("lost", log.ackBatch(group, lane, lease, 19));
        UUID next = leaseOf(log.claimLeased(Job.of(10), group, lane));
        log.ack(lane, "g", next, completed("m11"), completed("m13"));
        assertEquals(ended, verdicts(log.ack(lane, "g", lease, late)), "another one's by now");
        assertEquals(0, letters());
        assertEquals(13, log.committed(lane, group));
    }

    @Test
    @Contract({"ack-rule-12", "ack-error-4"})
    void noLeaseOutlivesASeekOrADeletionNotEvenToRepeatItself() throws SQLException {
        UUID lease = lease();
        assertEquals("released", log.ackBatch(group, lane, lease, 19));
        assertEquals("noop", log.ackBatch(group, lane, lease, 19));
        assertEquals(List.of("noop"), verdicts(log.ack(lane, "g", lease, completed("m19"))));
        log.run("update queen_store.groups set generation = 2 where id = ?", group);
        assertEquals("lost", log.ackBatch(group, lane, lease, 19));
        assertEquals(
                List.of("invalid_lease"), verdicts(log.ack(lane, "g", lease, completed("m19"))));
        assertEquals(
                List.of("consumer_not_found"),
                verdicts(log.ack(lane, "g", null, completed("m20"))));
        log.run("update queen_store.groups set generation = 1 where id = ?", group);
        log.run("update queen_store.queues set deleted_at = now() where id = ?", queue);
        assertEquals("lost", log.ackBatch(group, lane, lease, 19));
        assertEquals(List.of("not_owned"), verdicts(log.ack(lane, "g", lease, completed("m19"))));
    }

    @Test
    @Contract("ack-rule-1")
    void aLateHolderChangesNothing() throws SQLException {
        log.run("update queen_store.queues set retry_limit = 0 where id = ?", queue);
        UUID late = lease();
        log.expire(lane, group);
        UUID now = lease();
        log.ack(lane, "g", now, failed("m10", "poison"));
        assertEquals(
                List.of("invalid_lease"), verdicts(log.ack(lane, "g", late, failed("m10", "x"))));
        assertEquals(
                List.of("invalid_lease"), verdicts(log.ack(lane, "g", late, completed("m10"))));
        assertEquals(1, letters());
        assertEquals(10, log.committed(lane, group));
    }

    @Test
    @Contract("ack-error-7")
    void theLaneMustBeTheTenantsOwn() throws SQLException {
        Unit foreign = new Unit(UUID.randomUUID(), lane, "g", lease());
        assertEquals(
                List.of("not_owned"), verdicts(log.ack(List.of(foreign), true, completed("m19"))));
        Unit unknown = new Unit(LogFixture.TENANT, 999_999_999L, "g", null);
        assertEquals(
                List.of("not_owned"), verdicts(log.ack(List.of(unknown), true, completed("m19"))));
    }

    @Test
    @Contract("ack-error-4")
    void aGroupThatNeverPoppedTheLaneIsNotFound() throws SQLException {
        assertEquals(
                List.of("consumer_not_found"),
                verdicts(log.ack(lane, "stranger", null, completed("m19"))));
        log.group(queue, "idle", "all", null);
        assertEquals(
                List.of("consumer_not_found"),
                verdicts(log.ack(lane, "idle", null, completed("m19"))));
        UUID lease = lease();
        // A seek or a delete of the group: its cursors count as absent, its leases have ended.
        log.run("update queen_store.groups set generation = 2 where id = ?", group);
        assertEquals(
                List.of("consumer_not_found"),
                verdicts(log.ack(lane, "g", null, completed("m19"))));
        assertEquals(
                List.of("invalid_lease"), verdicts(log.ack(lane, "g", lease, completed("m19"))));
        log.run("update queen_store.queues set deleted_at = now() where id = ?", queue);
        assertEquals(
                List.of("not_owned"),
                verdicts(log.ack(lane, "g", lease, completed("m19"))),
                "as if it had never been");
    }

    @Test
    @Contract("ack-4")
    void unitsAreResolvedIndependentlyAndInOrderWhereTheyShareACursor() throws SQLException {
        UUID lease = lease();
        long other = log.lane(queue);
        log.cursor(other, group, -1);
        log.append(other, "a", "b");
        List<Acked> acked =
                log.ack(
                        List.of(
                                new Unit(LogFixture.TENANT, lane, "g", lease),
                                new Unit(LogFixture.TENANT, lane, "g", UUID.randomUUID()),
                                new Unit(LogFixture.TENANT, lane, "g", null),
                                new Unit(LogFixture.TENANT, other, "g", null)),
                        true,
                        new Item(3, "m25", 0, null),
                        new Item(1, "m19", 0, null),
                        new Item(2, "m12", 0, null),
                        new Item(4, "b", 0, null));
        assertEquals(4, acked.size());
        assertEquals(List.of("done", "done", "invalid_lease", "done"), verdicts(acked));
        assertEquals(25, log.committed(lane, group));
        assertEquals(1, log.committed(other, group));
    }

    @Test
    void aLockedCursorIsBusyUnlessTheCallerWaits() throws SQLException {
        UUID lease = lease();
        try (Connection holder = database.connect()) {
            holder.setAutoCommit(false);
            new LogFixture(holder)
                    .rows(
                            "select from queen_store.cursors where partition_id = ? for no key update",
                            lane);
            assertEquals(List.of("busy"), verdicts(log.ack(lane, "g", lease, completed("m19"))));
            log.run("set lock_timeout = '50ms'");
            SQLException timeout = null;
            try {
                log.ack(
                        List.of(new Unit(LogFixture.TENANT, lane, "g", lease)),
                        true,
                        completed("m19"));
            } catch (SQLException e) {
                timeout = e;
            }
            assertNotNull(timeout);
            assertEquals("55P03", timeout.getSQLState());
            holder.rollback();
        }
        assertEquals(List.of("done"), verdicts(log.ack(lane, "g", lease, completed("m19"))));
    }

    @Test
    void anAckThatWaitedSeesThatItsLeaseWasTakenOver() throws Exception {
        UUID lease = lease();
        try (Connection holder = database.connect();
                Connection waiter = database.connect()) {
            LogFixture taking = new LogFixture(holder);
            holder.setAutoCommit(false);
            taking.expire(lane, group);
            assertEquals(
                    "leased", taking.claimLeased(Job.of(10), group, lane).getFirst().verdict());
            LogFixture waiting = new LogFixture(waiter);
            int pid = (int) waiting.value("select pg_backend_pid()");
            List<Acked> acked = new ArrayList<>();
            Thread thread =
                    Thread.ofVirtual()
                            .start(
                                    () -> {
                                        try {
                                            acked.addAll(
                                                    waiting.ack(
                                                            List.of(
                                                                    new Unit(
                                                                            LogFixture.TENANT,
                                                                            lane,
                                                                            "g",
                                                                            lease)),
                                                            true,
                                                            completed("m19")));
                                        } catch (SQLException e) {
                                            throw new IllegalStateException(e);
                                        }
                                    });
            Await.until(
                    "the other session to wait",
                    () ->
                            !thread.isAlive()
                                    || !log.rows(
                                                    "select from pg_locks where pid = ? and not"
                                                            + " granted",
                                                    pid)
                                            .isEmpty());
            holder.commit();
            thread.join();
            assertEquals(List.of("invalid_lease"), verdicts(acked));
            assertEquals(9, log.committed(lane, group));
        }
    }

    @Test
    @Contract("ack-rule-1")
    void ofAnAckAndATakeoverExactlyOneWins() throws Exception {
        try (Connection second = database.connect()) {
            LogFixture taker = new LogFixture(second);
            for (int i = 0; i < 200; i++) {
                String name = "race" + i;
                int raced = log.group(queue, name, "all", null);
                log.cursor(lane, raced, 9);
                UUID lease = leaseOf(log.claimLeased(Job.of(10), raced, lane));
                log.run(
                        "update queen_store.cursors set lease_expires_at = clock_timestamp() +"
                                + " interval '2 ms' where group_id = ?",
                        raced);
                Thread other = Thread.ofVirtual().start(() -> takeOver(taker, raced));
                String verdict = "busy";
                while (verdict.equals("busy")) {
                    verdict = log.ack(lane, name, lease, completed("m19")).getFirst().verdict();
                }
                other.join();
                @Nullable Object[] row =
                        log.rows(
                                        "select committed, attempt_offset from queen_store.cursors"
                                                + " where group_id = ?",
                                        raced)
                                .getFirst();
                boolean acked = verdict.equals("done");
                assertEquals(acked ? "done" : "invalid_lease", verdict);
                assertEquals(acked ? 19L : 9L, row[0]);
                assertEquals(acked ? 20L : 10L, row[1], "first offset that the taker got");
            }
        }
    }
}
