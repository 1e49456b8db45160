package io.queenmq.ack;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Claim;
import io.queenmq.testkit.LogFixture.Job;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Timestamp;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class LeaseProceduresTest {
    private static TestDatabase database;

    private Connection connection;
    private LogFixture log;
    private int queue;
    private int group;
    private long lane;

    @BeforeAll
    static void create() {
        database = TestDatabase.migrated();
    }

    @AfterAll
    static void drop() {
        database.close();
    }

    @BeforeEach
    void setUp() throws SQLException {
        connection = database.connect();
        log = new LogFixture(connection);
        queue = log.queue();
        group = log.group(queue);
        lane = lane();
    }

    @AfterEach
    void close() throws SQLException {
        connection.close();
    }

    private long lane() throws SQLException {
        long made = log.lane(queue);
        log.cursor(made, group, -1);
        log.fill(made, 1, 4);
        return made;
    }

    private UUID lease(Job job, long... lanes) throws SQLException {
        UUID lease = log.claimLeased(job, group, lanes).getFirst().leaseId();
        assertNotNull(lease);
        return lease;
    }

    private List<Instant> extend(UUID tenant, UUID lease, int seconds) throws SQLException {
        return extend(log, tenant, lease, seconds);
    }

    private static List<Instant> extend(LogFixture on, UUID tenant, UUID lease, int seconds)
            throws SQLException {
        List<Instant> expiries = new ArrayList<>();
        for (@Nullable Object[] row :
                on.rows(
                        "select lease_expires_at from queen_store.extend_lease(?, ?, ?)",
                        tenant,
                        lease,
                        seconds)) {
            Timestamp expiry = (Timestamp) row[0];
            assertNotNull(expiry);
            expiries.add(expiry.toInstant());
        }
        return expiries;
    }

    private Instant now() throws SQLException {
        return ((Timestamp) log.value("select clock_timestamp()")).toInstant();
    }

    @Test
    void prolongsALeaseOfOneLane() throws SQLException {
        UUID lease = lease(Job.of(2), lane);
        Instant before = now();
        List<Instant> expiries = extend(LogFixture.TENANT, lease, 600);
        assertEquals(1, expiries.size());
        assertTrue(!expiries.getFirst().isBefore(before.plusSeconds(600)));
        assertEquals(
                Timestamp.from(expiries.getFirst()),
                log.value(
                        "select lease_expires_at from queen_store.cursors where partition_id = ?",
                        lane));
    }

    @Test
    @Contract("lease-1")
    void neverShortensALease() throws SQLException {
        Claim claim = log.claimLeased(Job.of(2), group, lane).getFirst();
        UUID lease = claim.leaseId();
        assertNotNull(lease);
        assertEquals(claim.expiresAt(), extend(LogFixture.TENANT, lease, 1).getFirst());
        assertEquals(claim.expiresAt(), extend(LogFixture.TENANT, lease, -5).getFirst());
    }

    @Test
    @Contract("lease-3")
    void neverRevivesAnExpiredLease() throws SQLException {
        UUID lease = lease(Job.of(2), lane);
        log.expire(lane, group);
        assertEquals(List.of(), extend(LogFixture.TENANT, lease, 600));
        assertEquals("leased", log.claimLeased(Job.of(2), group, lane).getFirst().verdict());
        assertEquals(List.of(), extend(LogFixture.TENANT, lease, 600));
    }

    @Test
    @Contract("lease-1")
    void prolongsAllLanesOfOnePopAndTheirRow() throws SQLException {
        long second = lane();
        long third = lane();
        UUID lease = lease(Job.several(100, 0), lane, second, third);
        log.expire(third, group);
        Instant before = now();
        assertEquals(2, extend(LogFixture.TENANT, lease, 600).size());
        Timestamp raised =
                (Timestamp)
                        log.value(
                                "select expires_at from queen_store.leases where lease_id = ?",
                                lease);
        assertTrue(!raised.toInstant().isBefore(before.plusSeconds(600)));
        assertEquals("released", log.ackBatch(group, lane, lease, 3));
        assertEquals(1, extend(LogFixture.TENANT, lease, 700).size());
    }

    @Test
    @Contract("lease-5")
    void anUnknownOrReleasedOrForeignLeaseProlongsNothing() throws SQLException {
        UUID lease = lease(Job.of(4), lane);
        assertEquals(List.of(), extend(UUID.randomUUID(), lease, 60));
        assertEquals(List.of(), extend(LogFixture.TENANT, UUID.randomUUID(), 60));
        log.ackBatch(group, lane, lease, 3);
        assertEquals(List.of(), extend(LogFixture.TENANT, lease, 60));
    }

    @Test
    @Contract("configure-14")
    void aNewGenerationOrADeletedQueueProlongsNothing() throws SQLException {
        UUID lease = lease(Job.of(4), lane);
        log.run("update queen_store.groups set generation = 2 where id = ?", group);
        assertEquals(List.of(), extend(LogFixture.TENANT, lease, 60));
        log.run("update queen_store.groups set generation = 1 where id = ?", group);
        log.run("update queen_store.queues set deleted_at = now() where id = ?", queue);
        assertEquals(List.of(), extend(LogFixture.TENANT, lease, 60));
    }

    @Test
    @Contract("model-6")
    void otherGroupsOfTheLaneAreLeftAlone() throws SQLException {
        int second = log.group(queue, "second", "all", null);
        log.cursor(lane, second, -1);
        UUID lease = lease(Job.of(2), lane);
        Claim theirs = log.claimLeased(Job.of(2), second, lane).getFirst();
        assertEquals(1, extend(LogFixture.TENANT, lease, 600).size());
        assertEquals(
                theirs.expiresAt(),
                log.claimLeased(Job.of(2), second, lane).getFirst().expiresAt());
    }

    @Test
    void anExtensionThatWaitedForAnAckFindsNothingLeft() throws Exception {
        UUID lease = lease(Job.of(4), lane);
        try (Connection holder = database.connect();
                Connection waiter = database.connect()) {
            holder.setAutoCommit(false);
            assertEquals("released", new LogFixture(holder).ackBatch(group, lane, lease, 3));
            LogFixture waiting = new LogFixture(waiter);
            TestDatabase.rows(waiter, "set statement_timeout = '20s'");
            int pid = (int) waiting.value("select pg_backend_pid()");
            List<Instant> expiries = new ArrayList<>();
            Thread thread =
                    Thread.ofVirtual()
                            .start(
                                    () -> {
                                        try {
                                            expiries.addAll(
                                                    extend(waiting, LogFixture.TENANT, lease, 60));
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
            assertEquals(List.of(), expiries);
        }
    }

    private int sweep(int limit) throws SQLException {
        return (int) log.value("select queen_store.sweep_leases(?)", limit);
    }

    /** As if a pop of several lanes had got it, and it had run out so many minutes ago. */
    private UUID expired(int key, int minutes) throws SQLException {
        UUID lease = new UUID(0x7000L, 0x8000_0000_0000_0000L | key);
        log.run(
                "insert into queen_store.leases values (?, array[?::bigint], array[?::integer],"
                        + " clock_timestamp() - make_interval(mins => ?))",
                lease,
                lane,
                group,
                minutes);
        return lease;
    }

    private boolean isListed(UUID lease) throws SQLException {
        return !log.rows("select from queen_store.leases where lease_id = ?", lease).isEmpty();
    }

    @Test
    void rowsOfLeasesThatRanOutLongAgoAreSweptInTheOrderOfTheirIds() throws SQLException {
        UUID third = expired(3, 11);
        UUID first = expired(1, 11);
        UUID second = expired(2, 60);
        assertEquals(2, sweep(2));
        assertFalse(isListed(first));
        assertFalse(isListed(second));
        assertTrue(isListed(third));
        assertEquals(1, sweep(2));
        assertFalse(isListed(third));
        assertEquals(0, sweep(2));
    }

    @Test
    void rowsOfLeasesThatLiveOrHaveJustRunOutStay() throws SQLException {
        UUID live = lease(Job.several(2, 2), lane);
        UUID recent = expired(4, 9);
        UUID old = expired(5, 11);
        assertEquals(1, sweep(9), "they do not stand in the way");
        assertTrue(isListed(live));
        assertTrue(isListed(recent));
        assertFalse(isListed(old));
    }

    @Test
    void aRowThatSomebodyHoldsIsLeftForTheNextSweep() throws SQLException {
        UUID held = expired(6, 11);
        UUID free = expired(7, 11);
        try (Connection other = database.connect()) {
            other.setAutoCommit(false);
            new LogFixture(other)
                    .rows("select from queen_store.leases where lease_id = ? for update", held);
            assertEquals(1, sweep(9));
            assertFalse(isListed(free));
            other.rollback();
        }
        assertEquals(1, sweep(9));
        assertFalse(isListed(held));
    }
}
