package io.queenmq.ack;

import static io.queenmq.testkit.LogFixture.Item.completed;
import static io.queenmq.testkit.LogFixture.Item.dlq;
import static io.queenmq.testkit.LogFixture.Item.failed;
import static io.queenmq.testkit.LogFixture.Item.retry;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Acked;
import io.queenmq.testkit.LogFixture.Claim;
import io.queenmq.testkit.LogFixture.Item;
import io.queenmq.testkit.LogFixture.Job;
import io.queenmq.testkit.LogFixture.Unit;
import io.queenmq.testkit.TestDatabase;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The contract's example throughout: a batch of offsets 10 to 19, the cursor at 9. */
class AckProceduresTest {
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
        TestDatabase.rows(connection, "set statement_timeout = '20s'");
        log = new LogFixture(connection);
        queue = log.queue();
        group = log.group(queue);
        lane = log.lane(queue);
        log.fill(lane, 5, 6);
        log.cursor(lane, group, 9);
    }

    @AfterEach
    void close() throws SQLException {
        connection.close();
    }

    private UUID lease() throws SQLException {
        List<Claim> claims = log.claimLeased(Job.of(10), group, lane);
        assertEquals(10, claims.getFirst().from());
        return leaseOf(claims);
    }

    private static UUID leaseOf(List<Claim> claims) {
        assertEquals("leased", claims.getFirst().verdict());
        UUID lease = claims.getFirst().leaseId();
        assertNotNull(lease);
        return lease;
    }

    private static List<String> verdicts(List<Acked> acked) {
        return acked.stream().map(Acked::verdict).toList();
    }

    private static List<Boolean> released(List<Acked> acked) {
        return acked.stream().map(Acked::released).toList();
    }

    private static Item[] all(int from, int to) {
        List<Item> items = new ArrayList<>();
        for (int i = from; i <= to; i++) {
            items.add(completed("m" + i));
        }
        return items.toArray(Item[]::new);
    }

    private @Nullable Object[] cursor() throws SQLException {
        return log.rows(
                        "select committed, batch_end, lease_id, prev_lease, prev_committed,"
                                + " retry_count, attempt_count from queen_store.cursors where"
                                + " partition_id = ? and group_id = ?",
                        lane,
                        group)
                .getFirst();
    }

    // Whole batches.

    @Test
    void aWholeBatchReleasesTheLeaseAndResetsTheCounters() throws SQLException {
        UUID lease = lease();
        log.run("update queen_store.cursors set retry_count = 2 where partition_id = ?", lane);
        assertEquals("released", log.ackBatch(group, lane, lease, 19));
        @Nullable Object[] row = cursor();
        assertEquals(19L, row[0]);
        assertNull(row[1]);
        assertNull(row[2]);
        assertEquals(lease, row[3]);
        assertEquals(9L, row[4]);
        assertEquals(0, row[5]);
        assertEquals(0, row[6]);
    }

    @Test
    void aRepeatedBatchAckIsANoop() throws SQLException {
        UUID lease = lease();
        assertEquals("released", log.ackBatch(group, lane, lease, 19));
        assertEquals("noop", log.ackBatch(group, lane, lease, 19));
        UUID next = leaseOf(log.claimLeased(Job.of(10), group, lane));
        assertEquals("noop", log.ackBatch(group, lane, lease, 19));
        assertEquals("released", log.ackBatch(group, lane, next, 29));
        assertEquals("lost", log.ackBatch(group, lane, lease, 19));
    }

    @Test
    void aBatchAckWithoutTheLeaseOrWithAnotherEndIsLost() throws SQLException {
        UUID lease = lease();
        assertEquals("lost", log.ackBatch(group, lane, UUID.randomUUID(), 19));
        assertEquals("lost", log.ackBatch(group, lane, lease, 18));
        log.expire(lane, group);
        assertEquals("lost", log.ackBatch(group, lane, lease, 19));
        assertEquals(9, log.committed(lane, group));
    }

    @Test
    void aBatchAckAfterDeletionOrANewGenerationIsLost() throws SQLException {
        UUID lease = lease();
        log.run("update queen_store.groups set generation = 2 where id = ?", group);
        assertEquals("lost", log.ackBatch(group, lane, lease, 19));
        log.run("update queen_store.groups set generation = 1 where id = ?", group);
        log.run("update queen_store.queues set deleted_at = now() where id = ?", queue);
        assertEquals("lost", log.ackBatch(group, lane, lease, 19));
    }

    @Test
    void manyBatchesGoInOneCallAndALockedOneIsBusy() throws SQLException {
        UUID lease = lease();
        long other = log.lane(queue);
        log.cursor(other, group, -1);
        log.fill(other, 1, 4);
        UUID otherLease = leaseOf(log.claimLeased(Job.of(4), group, other));
        try (Connection holder = database.connect()) {
            holder.setAutoCommit(false);
            new LogFixture(holder)
                    .rows(
                            "select from queen_store.cursors where partition_id = ? for no key update",
                            lane);
            assertEquals(
                    List.of("busy", "released", "noop"),
                    log.ackBatches(
                            group,
                            new long[] {lane, other, other},
                            new UUID[] {lease, otherLease, otherLease},
                            new Long[] {19L, 3L, 3L}));
            holder.rollback();
        }
        assertEquals("released", log.ackBatch(group, lane, lease, 19));
    }

    @Test
    void theFirstAckStampsTheGroupAndNoLaterOneTouchesIt() throws SQLException {
        UUID lease = lease();
        log.ackBatch(group, lane, lease, 19);
        List<@Nullable Object[]> stamped = stamp();
        assertNotNull(stamped.getFirst()[0]);
        log.ackBatch(group, lane, leaseOf(log.claimLeased(Job.of(5), group, lane)), 24);
        log.ack(lane, "g", null, completed("m25"));
        assertEquals(stamped.getFirst()[1], stamp().getFirst()[1]);
    }

    private List<@Nullable Object[]> stamp() throws SQLException {
        return log.rows(
                "select consumed_at, xmin::text from queen_store.groups where id = ?", group);
    }

    // The table of resolutions.

    @Test
    void completedToTheEndReleases() throws SQLException {
        UUID lease = lease();
        log.run("update queen_store.cursors set retry_count = 1 where partition_id = ?", lane);
        List<Acked> acked = log.ack(lane, "g", lease, all(10, 19));
        assertTrue(acked.stream().allMatch(a -> a.verdict().equals("done") && a.released()));
        assertEquals(19, acked.getFirst().committed());
        assertEquals(29, acked.getFirst().last());
        @Nullable Object[] row = cursor();
        assertEquals(lease, row[3]);
        assertEquals(9L, row[4]);
        assertEquals(0, row[5]);
    }

    @Test
    void theLastOfABatchAloneCompletesItImplicitly() throws SQLException {
        List<Acked> acked = log.ack(lane, "g", lease(), completed("m19"));
        assertEquals(new Acked("done", true, false, 19, 29), acked.getFirst());
    }

    @Test
    void completedShortOfTheEndKeepsTheLease() throws SQLException {
        UUID lease = lease();
        List<Acked> acked = log.ack(lane, "g", lease, completed("m12"), completed("m14"));
        assertEquals(List.of(false, false), released(acked));
        assertEquals(14, log.committed(lane, group));
        assertEquals("held", log.claimLeased(Job.of(1), group, lane).getFirst().verdict());
        assertEquals(List.of(true), released(log.ack(lane, "g", lease, completed("m19"))));
        assertEquals(14L, cursor()[4]);
    }

    @Test
    void retryCommitsThePrefixAndRedeliversTheTailForFree() throws SQLException {
        UUID lease = lease();
        List<Acked> acked =
                log.ack(lane, "g", lease, completed("m11"), retry("m13"), completed("m15"));
        assertEquals(List.of("done", "done", "done"), verdicts(acked));
        assertEquals(List.of(true, true, true), released(acked));
        @Nullable Object[] row = cursor();
        assertEquals(11L, row[0]);
        assertEquals(0, row[5]);
        assertEquals(12, log.claimLeased(Job.of(10), group, lane).getFirst().from());
    }

    @Test
    void failedChargesTheBudgetOncePerCall() throws SQLException {
        List<Acked> acked = log.ack(lane, "g", lease(), failed("m13", "a"), failed("m14", "b"));
        assertEquals(List.of("done", "done"), verdicts(acked));
        assertEquals(List.of(true, true), released(acked));
        @Nullable Object[] row = cursor();
        assertEquals(9L, row[0]);
        assertEquals(1, row[5]);
        Claim again = log.claimLeased(Job.of(10), group, lane).getFirst();
        assertEquals(10, again.from());
        assertEquals(2, again.attempt());
    }

    @Test
    void theFourthFailureOfThreeAllowedIsFiled() throws SQLException {
        for (int i = 0; i < 3; i++) {
            assertFalse(log.ack(lane, "g", lease(), failed("m10", "no")).getFirst().deadLettered());
        }
        List<Acked> acked = log.ack(lane, "g", lease(), completed("m12"), failed("m10", "poison"));
        assertEquals(List.of(false, true), acked.stream().map(Acked::deadLettered).toList());
        assertEquals(10, log.committed(lane, group));
        @Nullable Object[] letter = letter(10);
        assertEquals("poison", letter[0]);
        assertEquals(3, letter[1]);
        assertEquals("m10", letter[2]);
        assertEquals("{}", text(letter[3]));
        assertEquals(0, cursor()[5]);
        assertEquals(11, log.claimLeased(Job.of(1), group, lane).getFirst().from());
    }

    @Test
    void aPoisonMessageCostsOnlyItself() throws SQLException {
        int delivered = 0;
        while (log.committed(lane, group) < 19) {
            List<Claim> claims =
                    log.claimLeased(Job.of((int) (19 - log.committed(lane, group))), group, lane);
            delivered++;
            List<Item> items = new ArrayList<>();
            for (long i = claims.getFirst().from(); i <= 19; i++) {
                items.add(i == 13 ? failed("m13", "bad") : completed("m" + i));
            }
            log.ack(lane, "g", leaseOf(claims), items.toArray(Item[]::new));
        }
        assertEquals(5, delivered);
        assertEquals(1, letters());
    }

    @Test
    void exhaustedWithoutADeadLetterQueueIsDropped() throws SQLException {
        log.run(
                "update queen_store.queues set retry_limit = 0, dead_letter_queue = false,"
                        + " dlq_after_max_retries = false where id = ?",
                queue);
        List<Acked> acked = log.ack(lane, "g", lease(), failed("m12", "x"));
        assertEquals(new Acked("done", true, false, 12, 29), acked.getFirst());
        assertEquals(0, letters());
        assertEquals(0, cursor()[5]);
    }

    @Test
    void eitherDeadLetterOptionIsEnough() throws SQLException {
        log.run(
                "update queen_store.queues set retry_limit = 0, dead_letter_queue = false where id ="
                        + " ?",
                queue);
        assertTrue(log.ack(lane, "g", lease(), failed("m10", "x")).getFirst().deadLettered());
    }

    @Test
    void dlqFilesAtOnceAndOnlyItsOwnItemSaysSo() throws SQLException {
        List<Acked> acked =
                log.ack(lane, "g", lease(), completed("m11"), dlq("m12", "bad"), completed("m14"));
        assertEquals(List.of(false, true, false), acked.stream().map(Acked::deadLettered).toList());
        assertEquals(List.of(true, true, true), released(acked));
        assertEquals(12, log.committed(lane, group));
        assertEquals("bad", letter(12)[0]);
        assertEquals(0, letter(12)[1]);
    }

    @Test
    void atOneOffsetDlqBeatsFailedAndFailedBeatsRetry() throws SQLException {
        List<Acked> acked =
                log.ack(lane, "g", lease(), retry("m10"), failed("m10", "f"), dlq("m10", "d"));
        assertEquals(List.of(false, false, true), acked.stream().map(Acked::deadLettered).toList());
        assertEquals("d", letter(10)[0]);
        log.ack(
                lane,
                "g",
                leaseOf(log.claimLeased(Job.of(5), group, lane)),
                retry("m11"),
                failed("m11", null));
        assertEquals(1, cursor()[5]);
    }

    @Test
    void theReasonIsThatOfThePoisonElseTheFirstOfTheCallElseFixed() throws SQLException {
        log.run("update queen_store.queues set retry_limit = 0 where id = ?", queue);
        log.ack(lane, "g", lease(), failed("m15", "later"), failed("m10", "own"));
        assertEquals("own", letter(10)[0]);
        log.ack(
                lane,
                "g",
                leaseOf(log.claimLeased(Job.of(9), group, lane)),
                failed("m15", "first"),
                failed("m11", ""));
        assertEquals("first", letter(11)[0]);
        log.ack(lane, "g", leaseOf(log.claimLeased(Job.of(9), group, lane)), failed("m12", null));
        assertEquals("Retries exhausted", letter(12)[0]);
    }

    @Test
    void aDeadLetterWhosePayloadIsGoneIsFiledWithoutIt() throws SQLException {
        UUID lease = lease();
        log.run("update queen_store.segments set frames = null where partition_id = ?", lane);
        assertTrue(log.ack(lane, "g", lease, dlq("m12", "gone")).getFirst().deadLettered());
        assertNull(letter(12)[3]);
        assertEquals(12, log.committed(lane, group));
    }

    @Test
    void aRepeatedIdResolvesToTheLowestOffsetOfTheBatch() throws SQLException {
        log.run("update queen_store.queues set dedup_window_seconds = 0 where id = ?", queue);
        long twice = log.lane(queue);
        log.cursor(twice, group, -1);
        log.append(twice, "a", "b");
        log.append(twice, "a", "c");
        UUID lease = leaseOf(log.claimLeased(Job.of(4), group, twice));
        assertEquals(0, log.ack(twice, "g", lease, completed("a")).getFirst().committed());
        assertEquals(2, log.ack(twice, "g", lease, completed("a")).getFirst().committed());
    }

    @Test
    void anAckOfALongRunningHandlerStillResolvesInItsBatch() throws SQLException {
        log.run("update queen_store.queues set dedup_window_seconds = 0 where id = ?", queue);
        log.run(
                "update queen_store.segments set created_at = created_at - interval '1 day' where"
                        + " partition_id = ?",
                lane);
        assertEquals(List.of("done"), verdicts(log.ack(lane, "g", lease(), completed("m19"))));
    }

    // Without a lease.

    @Test
    void withoutALeaseACompletedAckStillResolvesInTheLeasedBatch() throws SQLException {
        UUID lease = lease();
        assertEquals(List.of("unresolvable"), verdicts(log.ack(lane, "g", null, completed("m25"))));
        List<Acked> acked = log.ack(lane, "g", null, completed("m19"));
        assertEquals(new Acked("done", true, false, 19, 29), acked.getFirst());
        assertEquals("noop", log.ackBatch(group, lane, lease, 19));
    }

    @Test
    void withoutALeaseAnExpiredBatchStillCounts() throws SQLException {
        lease();
        log.expire(lane, group);
        assertEquals(List.of(true), released(log.ack(lane, "g", null, failed("m12", "late"))));
        assertEquals(1, cursor()[5]);
    }

    @Test
    void withoutABatchCompletedMovesTheCursorAndAFailureIsNotSwallowed() throws SQLException {
        List<Acked> acked =
                log.ack(lane, "g", null, completed("m12"), failed("m14", "x"), completed("m16"));
        assertEquals(List.of("done", "no_leased_batch", "done"), verdicts(acked));
        assertEquals(List.of(false, false, false), released(acked));
        @Nullable Object[] row = cursor();
        assertEquals(12L, row[0]);
        assertEquals(0, row[5]);
        assertEquals(0, letters());
    }

    // Acks that cannot act.

    @Test
    void belowTheCursorCompletedIsANoopAndAFailureIsStale() throws SQLException {
        UUID lease = lease();
        assertEquals(
                List.of("noop", "stale", "stale", "stale"),
                verdicts(
                        log.ack(
                                lane,
                                "g",
                                lease,
                                completed("m3"),
                                failed("m3", "x"),
                                retry("m4"),
                                dlq("m5", "x"))));
        assertEquals(0, letters());
        assertEquals(lease, cursor()[2]);
    }

    @Test
    void whatWasNeverPushedOrLiesBeyondTheBatchIsUnresolvable() throws SQLException {
        UUID lease = lease();
        List<Acked> acked =
                log.ack(lane, "g", lease, completed("m19"), completed("nope"), completed("m20"));
        assertEquals(List.of("done", "unresolvable", "unresolvable"), verdicts(acked));
        assertEquals(List.of(true, false, false), released(acked));
    }

    @Test
    void anOldIdBehindTheCursorIsUnresolvable() throws SQLException {
        log.run("update queen_store.queues set dedup_window_seconds = 0 where id = ?", queue);
        log.run(
                "update queen_store.segments set created_at = created_at - interval '901 seconds'"
                        + " where partition_id = ?",
                lane);
        assertEquals(
                List.of("unresolvable"), verdicts(log.ack(lane, "g", lease(), completed("m3"))));
        log.run("update queen_store.queues set dedup_window_seconds = 3600 where id = ?", queue);
        assertEquals(List.of("noop"), verdicts(log.ack(lane, "g", null, completed("m3"))));
    }

    @Test
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
    void anAckWithTheLeaseAcknowledgedLastRepeatsItselfWithoutEffect() throws SQLException {
        UUID lease = lease();
        log.ack(lane, "g", lease, completed("m11"), dlq("m12", "bad"));
        assertEquals(
                List.of("noop", "noop"),
                verdicts(log.ack(lane, "g", lease, completed("m11"), dlq("m12", "bad"))));
        assertEquals(1, letters());
        assertEquals(12, log.committed(lane, group));
        assertEquals(
                List.of("stale", "noop"),
                verdicts(log.ack(lane, "g", lease, failed("m11", "x"), failed("m15", "x"))));
        assertEquals(0, cursor()[5]);
    }

    @Test
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
    void theLaneMustBeTheTenantsOwn() throws SQLException {
        Unit foreign = new Unit(UUID.randomUUID(), lane, "g", lease());
        assertEquals(
                List.of("not_owned"), verdicts(log.ack(List.of(foreign), true, completed("m19"))));
        Unit unknown = new Unit(LogFixture.TENANT, 999_999_999L, "g", null);
        assertEquals(
                List.of("not_owned"), verdicts(log.ack(List.of(unknown), true, completed("m19"))));
    }

    @Test
    void aGroupThatNeverPoppedTheLaneIsNotFound() throws SQLException {
        assertEquals(
                List.of("consumer_not_found"),
                verdicts(log.ack(lane, "stranger", null, completed("m19"))));
        log.group(queue, "idle", "all", null);
        assertEquals(
                List.of("consumer_not_found"),
                verdicts(log.ack(lane, "idle", null, completed("m19"))));
        UUID lease = lease();
        log.run("update queen_store.groups set generation = 2 where id = ?", group);
        assertEquals(
                List.of("consumer_not_found"),
                verdicts(log.ack(lane, "g", lease, completed("m19"))));
        log.run("update queen_store.queues set deleted_at = now() where id = ?", queue);
        assertEquals(
                List.of("consumer_not_found"),
                verdicts(log.ack(lane, "g", lease, completed("m19"))));
    }

    // Several units, several connections.

    @Test
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
            while (thread.isAlive()
                    && log.rows("select from pg_locks where pid = ? and not granted", pid)
                            .isEmpty()) {
                Thread.onSpinWait();
            }
            holder.commit();
            thread.join();
            assertEquals(List.of("invalid_lease"), verdicts(acked));
            assertEquals(9, log.committed(lane, group));
        }
    }

    @Test
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

    private void takeOver(LogFixture taker, int raced) {
        try {
            while (!taker.claimLeased(Job.of(10), raced, lane)
                    .getFirst()
                    .verdict()
                    .equals("leased")) {
                Thread.onSpinWait();
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    // Storage.

    @Test
    void cursorUpdatesStayHeapOnly() throws SQLException {
        log.rows("select pg_stat_force_next_flush()");
        long[] before = updates();
        for (int i = 0; i < 400; i++) {
            log.run(
                    "update queen_store.cursors set committed = 9, lease_id = null, batch_end ="
                            + " null, lease_expires_at = null where partition_id = ?",
                    lane);
            UUID lease = lease();
            if (i % 2 == 0) {
                log.ackBatch(group, lane, lease, 19);
            } else {
                log.ack(lane, "g", lease, completed("m19"));
            }
        }
        log.rows("select pg_stat_force_next_flush()");
        long[] after = updates();
        long all = after[0] - before[0];
        long hot = after[1] - before[1];
        assertTrue(all >= 1_200, "updates " + all);
        assertTrue(hot * 10 >= all * 9, hot + " of " + all + " heap-only");
    }

    private long[] updates() throws SQLException {
        @Nullable Object[] row =
                log.rows(
                                "select n_tup_upd, n_tup_hot_upd from pg_stat_user_tables where relid ="
                                        + " 'queen_store.cursors'::regclass")
                        .getFirst();
        return new long[] {number(row[0]), number(row[1])};
    }

    private static long number(@Nullable Object value) {
        assertNotNull(value);
        return (Long) value;
    }

    private @Nullable Object[] letter(long offset) throws SQLException {
        List<@Nullable Object[]> letters =
                log.rows(
                        "select error, retry_count, transaction_id, payload from"
                                + " queen_store.dead_letters where partition_id = ? and \"offset\" = ?",
                        lane,
                        offset);
        assertEquals(1, letters.size());
        return letters.getFirst();
    }

    private int letters() throws SQLException {
        return log.rows("select from queen_store.dead_letters where partition_id = ?", lane).size();
    }

    private static String text(@Nullable Object bytes) {
        assertNotNull(bytes);
        return new String((byte[]) bytes, StandardCharsets.UTF_8);
    }
}
