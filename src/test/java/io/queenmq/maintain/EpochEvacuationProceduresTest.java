package io.queenmq.maintain;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.LogFixture.Claim;
import io.queenmq.testkit.LogFixture.Item;
import io.queenmq.testkit.LogFixture.Job;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What of an old epoch moves to epoch 0, and what nobody may notice of it. */
class EpochEvacuationProceduresTest {
    private static final String CONTENT =
            "select base_offset, end_offset, created_at, flush_id, encode(keys, 'hex'),"
                    + " md5(coalesce(frames, '')), pg_column_size(keys), pg_column_size(frames),"
                    + " pg_column_compression(frames) from queen_store.segments where partition_id ="
                    + " %d order by base_offset";

    private EpochScene scene;
    private LogFixture log;
    private int queue;
    private int group;
    private long lane;

    @BeforeEach
    void create() throws SQLException {
        scene = new EpochScene();
        log = scene.log;
        queue = log.queue();
        group = log.group(queue);
        lane = log.lane(queue);
    }

    @AfterEach
    void close() throws SQLException {
        scene.close();
    }

    private int epochOf(long ofLane) throws SQLException {
        return (int)
                log.value("select epoch from queen_store.cursors where partition_id = ?", ofLane);
    }

    private void age(long ofLane, long to, int seconds) throws SQLException {
        log.run(
                "update queen_store.segments set created_at = clock_timestamp() - make_interval(secs =>"
                        + " ?) where partition_id = ? and base_offset <= ?",
                seconds,
                ofLane,
                to);
    }

    @Test
    void aRowMovesAsItIsStored() throws SQLException {
        scene.lines(
                "alter table queen_store.segments_1 alter frames set storage extended, alter frames"
                        + " set compression pglz");
        String large = "{\"text\":\"" + "legible ".repeat(20_000) + "\"}";
        String random = "{\"text\":\"" + UUID.randomUUID().toString().repeat(2) + "\"}";
        String queueName =
                (String) log.value("select name from queen_store.queues where id = ?", queue);
        String laneName =
                (String) log.value("select name from queen_store.partitions where id = ?", lane);
        for (String payload : List.of("{}", large, random)) {
            log.value(
                    "select status from queen.push(?, ?, ?::text, 't' || length(?))",
                    queueName,
                    laneName,
                    payload,
                    payload);
        }
        log.fill(lane, 1, 1_000);
        List<String> before = scene.lines(CONTENT.formatted(lane));
        assertTrue(before.get(1).endsWith("|pglz"), before.get(1));
        scene.rotate();
        scene.evacuateAll(1);

        assertEquals(List.of("0", "0", "0", "0"), scene.epochsOf(lane));
        assertEquals(before, scene.lines(CONTENT.formatted(lane)));
        assertEquals(List.of(), scene.violations(lane));
    }

    @Test
    void whatIsDeadStaysBehindAndKeysMoveWithoutTheirPayload() throws SQLException {
        log.append(lane, "dead");
        log.append(lane, "old");
        log.append(lane, "recent");
        log.append(lane, "live");
        age(lane, 0, 3_700);
        age(lane, 1, 3_500);
        scene.expire(lane, 3);
        long deleted = log.lane(log.queue());
        log.append(deleted, "a");
        log.run(
                "update queen_store.queues set deleted_at = clock_timestamp() where id = (select"
                        + " queue_id from queen_store.partitions where id = ?)",
                deleted);
        long gone = log.lane(queue);
        log.append(gone, "a");
        log.run("delete from queen_store.partitions where id = ?", gone);
        long orphan = log.lane(log.queue());
        log.append(orphan, "a");
        log.run(
                "delete from queen_store.queues where id = (select queue_id from"
                        + " queen_store.partitions where id = ?)",
                orphan);
        // Two rows of before have one and the same time now.
        log.run(
                "update queen_store.segments set created_at = clock_timestamp() - interval '3700 s'"
                        + " where base_offset = 0");
        scene.rotate();
        scene.evacuateAll(1);

        assertEquals(
                List.of("1|t", "2|t", "3|f"),
                scene.lines(
                        "select base_offset, frames is null from queen_store.segments where epoch = 0"
                                + " order by partition_id, base_offset"));
        assertEquals("4", scene.line("select count(*) from queen_store.segments where epoch = 1"));
        assertEquals(
                List.of("duplicate", "duplicate", "queued"),
                List.of(verdict("recent"), verdict("live"), verdict("dead")));
    }

    private String verdict(String transactionId) throws SQLException {
        return (String)
                log.value(
                        "select a.verdict from queen_store.encode_frames(array[?::text],"
                                + " array['\\x7b7d'::bytea], null, null, null) f cross join lateral"
                                + " queen_store.append(array[?::bigint], array[7::bigint],"
                                + " array[1::bigint], array[0::bigint], array[null::bigint], array[1],"
                                + " array[1], array[f.keys], array[f.frames], false) a",
                        transactionId,
                        lane);
    }

    @Test
    void keysStayAsLongAsAcksLookForThem() throws SQLException {
        log.run(
                "update queen_store.queues set dedup_window_seconds = 0, completed_retention_seconds ="
                        + " 0 where id = ?",
                queue);
        log.append(lane, "old");
        log.append(lane, "recent");
        age(lane, 0, 950);
        age(lane, -1, 0);
        log.run(
                "update queen_store.segments set created_at = clock_timestamp() - interval '850 s'"
                        + " where base_offset = 1");
        scene.expire(lane, 2);
        scene.rotate();
        scene.evacuateAll(1);
        assertEquals(List.of("1", "0"), scene.epochsOf(lane));
    }

    @Test
    void aStepHasBoundsAndTheNextGoesOnBehindIt() throws SQLException {
        log.fill(lane, 5, 1);
        long other = log.lane(queue);
        log.fill(other, 3, 1);
        scene.expire(other, 2);
        age(other, 1, 9_999);
        scene.rotate();
        assertEquals("moved||2", scene.evacuate(1, 2));
        assertEquals("1|1", walked());
        // At most 30 bytes: a segment of one message has 16 of keys and some of frames.
        assertEquals("moved||1", scene.evacuate(1, "100, 100, 30, false, clock_timestamp()"));
        assertEquals("1|2", walked());
        assertEquals("moved||1", scene.evacuate(1, "1, 100, 1000000, false, clock_timestamp()"));
        assertEquals("1|3", walked());
        assertEquals("moved||1", scene.evacuate(1, "3, 100, 1000000, false, clock_timestamp()"));
        assertEquals("2|1", walked());
        assertEquals("empty||1", scene.evacuate(1, 100));
        assertEquals("|", walked());
        assertEquals(List.of("0|evacuated", "1|empty", "2|open"), scene.states());
        assertEquals("other||0", scene.evacuate(1, 100));
    }

    private String walked() throws SQLException {
        return scene.line(
                "select walked_partition_id, walked_offset from queen_store.epochs where epoch = 1");
    }

    @Test
    void onlyTheOldestSealedEpochIsEmptied() throws SQLException {
        log.fill(lane, 1, 1);
        scene.build();
        assertTrue(scene.open());
        assertEquals("other||0", scene.evacuate(1, 100));
        assertEquals(1, scene.seal());
        scene.rotate();
        assertEquals("other||0", scene.evacuate(2, 100));
        assertEquals("other||0", scene.evacuate(3, 100));
        assertEquals("other||0", scene.evacuate(0, 100));
        assertEquals("empty||1", scene.evacuate(1, 100));
        assertEquals("empty||0", scene.evacuate(2, 100));
    }

    @Test
    void aLaneThatIsHeldEndsTheStep() throws SQLException {
        long middle = log.lane(queue);
        long last = log.lane(queue);
        for (long each : List.of(lane, middle, last)) {
            log.fill(each, 2, 1);
        }
        scene.rotate();
        assertEquals("moved||3", scene.evacuate(1, 3));
        Connection holder = scene.begin(Connection.TRANSACTION_READ_COMMITTED);
        lines(
                holder,
                "select from queen_store.partitions where id = " + middle + " for no key update");
        assertEquals("held|" + middle + "|0", scene.evacuate(1, 100));
        SQLException waited =
                assertThrows(
                        SQLException.class,
                        () -> scene.evacuate(1, "100, 100, 1000, true, clock_timestamp()"));
        assertEquals("55P03", waited.getSQLState());
        assertEquals(List.of("0", "1"), scene.epochsOf(middle));
        holder.commit();
        lines(
                holder,
                "select from queen_store.partitions where id = " + last + " for no key update");
        assertEquals("held|" + last + "|1", scene.evacuate(1, 100));
        assertEquals(last + "|-1", walked());
        holder.commit();
        assertEquals("empty||2", scene.evacuate(1, "100, 100, 1000, true, clock_timestamp()"));
        assertEquals(List.of("0", "0"), scene.epochsOf(last));
    }

    @Test
    void waitingTakesOneLaneAndPassesOver() throws SQLException {
        long other = log.lane(queue);
        log.fill(lane, 2, 1);
        log.fill(other, 2, 1);
        scene.rotate();
        assertEquals("moved||2", scene.evacuate(1, "100, 100, 1000, true, clock_timestamp()"));
        assertEquals("empty||2", scene.evacuate(1, "100, 100, 1000, true, clock_timestamp()"));
    }

    @Test
    void aCursorWhoseNextMessageMovesLooksEverywhereAgain() throws SQLException {
        log.fill(lane, 4, 1);
        long ahead = log.lane(queue);
        log.fill(ahead, 4, 1);
        long done = log.lane(queue);
        log.fill(done, 1, 1);
        log.claimFirst(Job.auto(2), group, null, null, lane);
        log.claimFirst(Job.auto(4), group, null, null, ahead);
        log.claimFirst(Job.auto(1), group, null, null, done);
        assertEquals(List.of(1, 1, 1), List.of(epochOf(lane), epochOf(ahead), epochOf(done)));
        scene.rotate();
        log.fill(done, 1, 1);
        log.claimAuto(1, group, done);
        assertEquals(2, epochOf(done));
        scene.evacuateAll(1);

        assertEquals(List.of(0, 1, 2), List.of(epochOf(lane), epochOf(ahead), epochOf(done)));
        scene.depart(1);
        log.fill(ahead, 1, 1);
        assertEquals(2, log.claimAuto(1, group, lane).getFirst().from());
        assertEquals(4, log.claimAuto(1, group, ahead).getFirst().from());
        assertEquals(0, epochOf(lane));
        assertEquals(2, epochOf(ahead));
        assertEquals(List.of(), scene.violations(lane));
    }

    @Test
    void aCursorThatIsHeldKeepsItsLaneWhereItIs() throws SQLException {
        log.fill(lane, 3, 1);
        log.claimFirst(Job.auto(1), group, null, null, lane);
        scene.rotate();
        Connection holder = scene.begin(Connection.TRANSACTION_READ_COMMITTED);
        LogFixture held = new LogFixture(holder);
        List<Claim> claims = held.claimLeased(Job.of(1), group, lane);
        assertEquals("held|" + lane + "|0", scene.evacuate(1, 100));
        UUID lease = claims.getFirst().leaseId();
        assertTrue(lease != null);
        assertEquals("released", held.ackBatch(group, lane, lease, 1));
        holder.commit();
        assertEquals("empty||3", scene.evacuate(1, 100));
        assertEquals(0, epochOf(lane));
        assertEquals(2, log.claimAuto(1, group, lane).getFirst().from());
    }

    /**
     * Evacuation cannot see a cursor that is not committed yet, so none may come to name an epoch
     * that can be evacuated meanwhile: the messages moved from there would be passed over.
     */
    @Test
    void aCursorPlacedMeanwhileFindsWhatMoved() throws SQLException {
        log.fill(lane, 3, 1);
        scene.rotate();
        log.fill(lane, 1, 1);
        Connection first = scene.begin(Connection.TRANSACTION_READ_COMMITTED);
        LogFixture meanwhile = new LogFixture(first);
        assertEquals(
                0, meanwhile.claimFirst(Job.auto(1), group, null, null, lane).getFirst().from());
        List<Claim> claims = meanwhile.claimLeased(Job.of(1), group, lane);
        UUID lease = claims.getFirst().leaseId();
        assertTrue(lease != null);
        assertEquals("released", meanwhile.ackBatch(group, lane, lease, 1));
        scene.evacuateAll(1);
        first.commit();
        assertEquals(0, epochOf(lane));
        assertEquals(2, log.claimAuto(1, group, lane).getFirst().from());
        assertEquals(3, log.claimAuto(1, group, lane).getFirst().from());
        assertEquals(2, epochOf(lane));
    }

    /**
     * Such a transaction still sees as open what has been sealed since, and gets its number late.
     */
    @ParameterizedTest
    @ValueSource(
            ints = {Connection.TRANSACTION_REPEATABLE_READ, Connection.TRANSACTION_SERIALIZABLE})
    void aCursorPlacedWithAnOldSnapshotFindsWhatMoved(int isolation) throws SQLException {
        long leased = log.lane(queue);
        long acked = log.lane(queue);
        for (long each : new long[] {lane, leased, acked}) {
            log.fill(each, 4, 1);
        }
        UUID whole = leaseOf(log.claimFirst(Job.of(1), group, null, null, leased));
        UUID partly = leaseOf(log.claimFirst(Job.of(2), group, null, null, acked));
        Connection old = scene.begin(isolation);
        line(old, "select count(*) from pg_class");
        scene.rotate();
        LogFixture behind = new LogFixture(old);
        for (long each : new long[] {lane, leased, acked}) {
            log.fill(each, 1, 1);
        }
        scene.evacuateAll(1);
        assertEquals(0, behind.claimFirst(Job.auto(1), group, null, null, lane).getFirst().from());
        assertEquals("released", behind.ackBatch(group, leased, whole, 0));
        assertEquals(
                "done", behind.ack(acked, "g", partly, Item.completed("m0")).getFirst().verdict());
        old.commit();
        for (long each : new long[] {lane, leased}) {
            assertEquals(List.of(), scene.violations(each));
            assertEquals(1, log.claimAuto(1, group, each).getFirst().from());
        }
        assertEquals(List.of(), scene.violations(acked));
    }

    private static UUID leaseOf(List<Claim> claims) {
        return Objects.requireNonNull(claims.getFirst().leaseId());
    }

    @Test
    void pushesOfALaneThatMovesAreBusyAndReadsSeeAllOfIt() throws SQLException {
        log.fill(lane, 3, 1);
        scene.rotate();
        Connection mover = scene.begin(Connection.TRANSACTION_READ_COMMITTED);
        assertEquals(
                "empty|3",
                line(
                        mover,
                        "select verdict, rows from queen_store.evacuate(1, 100, 100, 100000, false,"
                                + " clock_timestamp())"));
        assertEquals("busy", verdict("x"));
        assertEquals(List.of("1", "1", "1"), scene.epochsOf(lane));
        mover.rollback();
        assertEquals(List.of("0|evacuated", "1|sealed", "2|open"), scene.states());
        assertEquals("queued", verdict("x"));
        scene.evacuateAll(1);
        assertEquals(List.of("0", "0", "0", "2"), scene.epochsOf(lane));
    }

    @Test
    void isWorthItWhenLittleIsAlive() throws SQLException {
        // Of 20 the last 2, whose names are a byte longer.
        log.fill(lane, 20, 1);
        assertEquals("", due(100, 1_000, 16));
        scene.rotate();
        assertEquals("1", due(100, 1_000, 16));
        assertEquals("", due(11, 1_000, 16));
        scene.expire(lane, 18);
        assertEquals("", due(11, 1_000, 16));
        age(lane, 17, 9_999);
        assertEquals("1", due(11, 1_000, 16));
        assertEquals("", due(9, 1_000, 16));
        // Under way it is carried through.
        scene.evacuate(1, 1);
        assertEquals("1", due(0, 1_000, 16));
    }

    @Test
    void isForcedWhenAllEpochsAreInUseAndTheOpenOneHasOutgrownFour() throws SQLException {
        log.fill(lane, 2, 1);
        scene.rotate();
        log.fill(lane, 8, 1);
        scene.lines("analyze queen_store.segments_2");
        assertEquals("1", due(0, 2, 3));
        assertEquals("", due(0, 3, 3));
        assertEquals("", due(0, 2, 4));
    }

    private String due(int percent, long rows, int epochs) throws SQLException {
        return scene.line(
                "select queen_store.evacuation_due("
                        + percent
                        + ", "
                        + rows
                        + ", "
                        + epochs
                        + ", clock_timestamp())");
    }

    @Test
    void whatDiesInEpochZeroIsRemovedInSteps() throws SQLException {
        long other = log.lane(queue);
        log.fill(lane, 6, 1);
        log.fill(other, 2, 1);
        scene.rotate();
        scene.evacuateAll(1);
        log.fill(other, 1, 1);
        assertEquals("f", scene.line("select queen_store.sweep_due(10, clock_timestamp())"));
        scene.expire(lane, 5);
        scene.expire(other, 3);
        assertEquals("f", scene.line("select queen_store.sweep_due(10, clock_timestamp())"));
        age(lane, 4, 9_999);
        age(other, 0, 9_999);
        assertEquals("t", scene.line("select queen_store.sweep_due(75, clock_timestamp())"));
        assertEquals("f", scene.line("select queen_store.sweep_due(76, clock_timestamp())"));
        assertEquals("3|f", sweep(3));
        assertEquals("t", scene.line("select queen_store.sweep_due(100, clock_timestamp())"));
        assertEquals("2|f", sweep(3));
        assertEquals("1|t", sweep(3));
        assertEquals("f", scene.line("select queen_store.sweep_due(1, clock_timestamp())"));
        assertEquals(List.of("0"), scene.epochsOf(lane));
        assertEquals(List.of("0", "2"), scene.epochsOf(other));
        assertEquals("0|t", sweep(3));
    }

    private String sweep(int rows) throws SQLException {
        return scene.line(
                "select rows, done from queen_store.sweep_epoch(" + rows + ", clock_timestamp())");
    }
}
