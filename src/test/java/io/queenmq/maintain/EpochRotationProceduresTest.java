package io.queenmq.maintain;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.LogFixture;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How appends come to another epoch, whoever is at work meanwhile. */
class EpochRotationProceduresTest {
    private static final String PUSH = "select status from queen.push('q', 'p', '{}')";
    private static final String READ = "select count(*) from queen.read('q', 'p')";

    /** All that makes a table what it is, but for its name. */
    private static final String MAKE =
            """
            select string_agg(x, E'\\n' order by x) from (
                select format('%%s %%s %%s %%s %%s', attname, atttypid::regtype, attnotnull, attstorage,
                    attcompression) as x
                from pg_attribute
                where attrelid = 'queen_store.segments_%1$d'::regclass and attnum > 0
                union all
                select format('%%s %%s', c.reloptions, t.reloptions)
                from pg_class c join pg_class t on t.oid = c.reltoastrelid
                where c.oid = 'queen_store.segments_%1$d'::regclass
                union all
                select replace(indexdef, 'segments_%1$d', 'segments_N') from pg_indexes
                where schemaname = 'queen_store' and tablename = 'segments_%1$d'
                union all
                select format('%%s %%s', contype, pg_get_constraintdef(oid)) from pg_constraint
                where conrelid = 'queen_store.segments_%1$d'::regclass) m
            """;

    private EpochScene scene;
    private int queue;
    private long lane;

    @BeforeEach
    void fill() throws SQLException {
        scene = new EpochScene();
        queue = scene.log.queue("q");
        lane = scene.log.lane(queue);
        scene.log.run("update queen_store.partitions set name = 'p' where id = ?", lane);
        assertEquals("queued", scene.line(PUSH));
    }

    @AfterEach
    void close() throws SQLException {
        scene.close();
    }

    @Test
    void aNewTableIsLikeTheOneItFollows() throws SQLException {
        scene.rotate();
        assertEquals(scene.line(MAKE.formatted(1)), scene.line(MAKE.formatted(2)));
        assertEquals(scene.line(MAKE.formatted(0)), scene.line(MAKE.formatted(2)));

        scene.lines(
                "alter table queen_store.segments_2 set (fillfactor = 70, autovacuum_enabled = off,"
                        + " toast.autovacuum_vacuum_scale_factor = 0.5); alter table"
                        + " queen_store.segments_2 alter frames set storage extended, alter frames"
                        + " set compression pglz");
        scene.rotate();
        String make = scene.line(MAKE.formatted(3));
        assertEquals(scene.line(MAKE.formatted(2)), make);
        assertTrue(make.contains("fillfactor=70") && make.contains("factor=0.5"), make);
    }

    @Test
    void appendsGoToTheNewEpochFromItsOpeningOn() throws SQLException {
        scene.build();
        assertEquals("queued", scene.line(PUSH));
        assertTrue(scene.open());
        assertEquals("queued", scene.line(PUSH));
        assertEquals(List.of("1", "1", "2"), scene.epochsOf(lane));
        assertEquals(List.of("0|evacuated", "1|closed", "2|open"), scene.states());
        assertEquals("3", scene.line(READ));
        assertEquals(List.of(), scene.violations(lane));
    }

    /** It has no transaction number, and holds up no vacuum: only its lock tells of it. */
    @Test
    void opensWhenWhoeverHadTheLogOpenBeforeHasEnded() throws SQLException {
        Connection reader = scene.begin(Connection.TRANSACTION_READ_COMMITTED);
        lines(reader, "set application_name = 'report'");
        assertEquals("1", line(reader, READ));
        scene.build();
        assertFalse(scene.open());
        assertFalse(scene.open());
        assertEquals("queued", scene.line(PUSH));
        assertEquals("2", line(reader, READ));
        scene.awaitWaitsFor(2, "pid \\d+ \\(report\\), idle in transaction, .* open for \\d+ s");

        reader.commit();
        assertTrue(scene.open());
        scene.awaitWaitsFor(2, "");
        assertEquals("queued", scene.line(PUSH));
        assertEquals("3", line(reader, READ));
    }

    @Test
    void aTransactionThatWroteBeforeTheTableWasThereGoesOnInTheOldOne() throws SQLException {
        Connection writer = scene.begin(Connection.TRANSACTION_READ_COMMITTED);
        assertEquals("queued", line(writer, PUSH));
        scene.build();
        assertFalse(scene.open());
        assertEquals("queued", line(writer, PUSH));
        writer.commit();
        assertTrue(scene.open());
        assertEquals(List.of("1", "1", "1"), scene.epochsOf(lane));
    }

    @Test
    void aTransactionThatCameWhenTheTableWasThereWritesOnBothSidesOfTheOpening()
            throws SQLException {
        Connection holder = scene.begin(Connection.TRANSACTION_READ_COMMITTED);
        line(holder, READ);
        scene.build();
        assertFalse(scene.open());
        Connection writer = scene.begin(Connection.TRANSACTION_READ_COMMITTED);
        assertEquals("queued", line(writer, PUSH));
        holder.commit();
        assertTrue(scene.open());
        assertEquals("queued", line(writer, PUSH));
        assertEquals(0, scene.seal());

        writer.commit();
        assertEquals(List.of("1", "1", "2"), scene.epochsOf(lane));
        assertEquals(1, scene.seal());
        assertEquals(List.of(), scene.violations(lane));
    }

    @Test
    void aPushWithASnapshotOfBeforeTheOpeningIsToBeRepeated() throws SQLException {
        for (int isolation :
                List.of(
                        Connection.TRANSACTION_REPEATABLE_READ,
                        Connection.TRANSACTION_SERIALIZABLE)) {
            Connection old = scene.begin(isolation);
            line(old, "select 1");
            scene.rotate();
            SQLException refusal = assertThrows(SQLException.class, () -> line(old, PUSH));
            assertEquals("40001", refusal.getSQLState());
            old.rollback();
            assertEquals("queued", line(old, PUSH));
            old.commit();
        }
        assertEquals(List.of("1", "2", "3"), scene.epochsOf(lane));
    }

    @Test
    void aRepeatableReadThatHasPushedKeepsItsEpochOpenUntilItEnds() throws SQLException {
        Connection holder = scene.begin(Connection.TRANSACTION_READ_COMMITTED);
        line(holder, READ);
        scene.build();
        assertFalse(scene.open());
        Connection writer = scene.begin(Connection.TRANSACTION_REPEATABLE_READ);
        assertEquals("queued", line(writer, PUSH));
        holder.commit();
        SQLException waited = assertThrows(SQLException.class, scene::open);
        assertEquals("55P03", waited.getSQLState());
        assertEquals("queued", line(writer, PUSH));

        writer.commit();
        assertTrue(scene.open());
        assertEquals(List.of("1", "1", "1"), scene.epochsOf(lane));
    }

    @Test
    void isSealedWhenEveryWriterThatSawItOpenHasEnded() throws SQLException {
        scene.build();
        Connection opener = scene.begin(Connection.TRANSACTION_READ_COMMITTED);
        assertEquals("t", line(opener, "select queen_store.open_epoch(clock_timestamp())"));
        // Its number is above that of the opening, yet it writes to the old epoch.
        Connection writer = scene.begin(Connection.TRANSACTION_READ_COMMITTED);
        lines(writer, "set application_name = 'slow'");
        assertEquals("queued", line(writer, PUSH));
        opener.commit();

        assertEquals(0, scene.seal());
        assertEquals(0, scene.seal());
        scene.awaitWaitsFor(1, "pid \\d+ \\(slow\\), idle in transaction, .*");
        writer.commit();
        assertEquals(List.of("1", "1"), scene.epochsOf(lane));
        assertEquals(1, scene.seal());
        scene.awaitWaitsFor(1, "");
    }

    @Test
    void aTransactionOlderThanTheClosingDoesNotSayWhenItIsSealed() throws SQLException {
        Connection sealer = scene.begin(Connection.TRANSACTION_READ_COMMITTED);
        line(sealer, "select pg_current_xact_id()");
        scene.build();
        assertTrue(scene.open());
        assertEquals("0", line(sealer, "select queen_store.seal_epochs()"));
        sealer.commit();
        assertEquals(1, scene.seal());
    }

    @Test
    void aPreparedTransactionHoldsTheSealUpAndIsNamed() throws SQLException {
        scene.build();
        Connection opener = scene.begin(Connection.TRANSACTION_READ_COMMITTED);
        assertEquals("t", line(opener, "select queen_store.open_epoch(clock_timestamp())"));
        Connection writer = scene.begin(Connection.TRANSACTION_READ_COMMITTED);
        lines(writer, "set queen.notify = off");
        assertEquals("queued", line(writer, PUSH));
        lines(writer, "prepare transaction 'forgotten'");
        opener.commit();
        assertEquals(0, scene.seal());
        scene.awaitWaitsFor(1, "prepared transaction forgotten, for .*");
        scene.lines("commit prepared 'forgotten'");
        assertEquals(1, scene.seal());
    }

    @Test
    void whoIsKilledWhileBuildingLeavesNothing() throws SQLException {
        Connection builder = scene.begin(Connection.TRANSACTION_READ_COMMITTED);
        assertEquals("2", line(builder, "select queen_store.build_epoch(1, clock_timestamp())"));
        int pid = Integer.parseInt(line(builder, "select pg_backend_pid()"));
        assertEquals("t", scene.line("select pg_terminate_backend(" + pid + ", 30000)"));
        assertEquals("", scene.line("select to_regclass('queen_store.segments_2')"));
        scene.rotate();
        assertEquals("queued", scene.line(PUSH));
        assertEquals(List.of("1", "2"), scene.epochsOf(lane));
    }

    @Test
    void neitherReadsNorPushesWaitForATableBeingBuilt() throws SQLException {
        Connection builder = scene.begin(Connection.TRANSACTION_READ_COMMITTED);
        assertEquals("2", line(builder, "select queen_store.build_epoch(1, clock_timestamp())"));
        scene.lines("set lock_timeout = 1");
        assertEquals("queued", scene.line(PUSH));
        assertEquals("2", scene.line(READ));
        LogFixture log = scene.log;
        assertEquals(
                "leased",
                log.claimFirst(LogFixture.Job.of(1), log.group(queue), null, null, lane)
                        .getFirst()
                        .verdict());
    }

    @Test
    void isBuiltOnce() throws SQLException {
        scene.build();
        assertEquals("", scene.line("select queen_store.build_epoch(1, clock_timestamp())"));
        assertTrue(scene.open());
        assertFalse(scene.open());
        assertEquals("", scene.line("select queen_store.build_epoch(1, clock_timestamp())"));
        assertEquals("3", scene.line("select queen_store.build_epoch(2, clock_timestamp())"));
    }

    @Test
    void isDueByRowsUntilAllEpochsAreInUse() throws SQLException {
        scene.lines("analyze queen_store.segments_1");
        assertEquals("t", due("1, 1000000000, 86400, 3"));
        assertEquals("f", due("2, 1000000000, 86400, 3"));
        assertEquals("f", due("1, 1000000000, 86400, 2"));
        scene.build();
        assertEquals("f", due("1, 1000000000, 86400, 9"));
    }

    @Test
    void isDueByBytesAndAgeWhileHalfOfTheEpochsAreFree() throws SQLException {
        assertEquals("t", due("1000, 1, 86400, 4"));
        assertEquals("f", due("1000, 1, 86400, 3"));
        // Not worth a table as yet, however old.
        assertEquals("f", due("1000, 1000000000, 0, 4"));
        scene.lines("alter table queen_store.segments_1 alter frames set storage external");
        scene.log.run(
                "insert into queen_store.segments select 1, ?, 5, 5, clock_timestamp(), 5, '\\x00',"
                        + " convert_to(repeat('x', 18000000), 'UTF8')",
                lane);
        assertEquals("t", due("1000, 1000000000, 0, 4"));
        assertEquals("f", due("1000, 1000000000, 86400, 4"));
        assertEquals("f", due("1000, 1000000000, 0, 3"));
    }

    private String due(String bounds) throws SQLException {
        return scene.line("select queen_store.rotation_due(" + bounds + ", clock_timestamp())");
    }
}
