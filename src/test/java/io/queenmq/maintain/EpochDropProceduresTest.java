package io.queenmq.maintain;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.queenmq.testkit.LogFixture;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How an epoch leaves, whoever still looks at it and whoever was killed on the way. */
class EpochDropProceduresTest {
    private EpochScene scene;
    private LogFixture log;
    private long lane;

    @BeforeEach
    void emptyAnEpoch() throws SQLException {
        scene = new EpochScene();
        log = scene.log;
        lane = log.lane(log.queue());
        log.fill(lane, 3, 1);
        scene.rotate();
        log.fill(lane, 1, 1);
    }

    @AfterEach
    void close() throws SQLException {
        scene.close();
    }

    private String count(Connection connection) throws SQLException {
        return line(connection, "select count(*) from queen_store.segments");
    }

    @Test
    void goesStepByStepWhoeverTakesThem() throws SQLException {
        assertEquals("", scene.departing());
        assertEquals("f", scene.line("select queen_store.drop_epoch(1)"));
        scene.evacuateAll(1);
        assertEquals("1|wait", scene.departing());
        assertEquals("f", scene.line("select queen_store.drop_epoch(1)"));
        scene.depart(1);
        assertEquals("", scene.departing());
        assertEquals("f", scene.line("select queen_store.drop_epoch(1)"));
        assertEquals("", scene.line("select to_regclass('queen_store.segments_1')"));
        assertEquals(List.of("0|evacuated", "2|open"), scene.states());
        assertEquals(List.of("0", "0", "0", "2"), scene.epochsOf(lane));
        assertEquals(List.of(), scene.violations(lane));
        scene.rotate();
        assertEquals(List.of("0|evacuated", "2|sealed", "3|open"), scene.states());
    }

    @Test
    void staysWhileASnapshotIsOlderThanTheMove() throws SQLException {
        Connection old = scene.begin(Connection.TRANSACTION_REPEATABLE_READ);
        lines(old, "set application_name = 'dump'");
        line(old, "select count(*) from queen_store.queues");
        scene.evacuateAll(1);
        scene.seal();
        assertEquals("1|wait", scene.departing());
        scene.awaitWaitsFor(1, "pid \\d+ \\(dump\\), idle in transaction, .* open for \\d+ s");
        // Has not had the log open so far: neither a lock nor a number tells of it.
        assertEquals("4", count(old));
        old.commit();
        assertEquals("1|detach", scene.departing());
        assertEquals("4", count(old));
    }

    @Test
    void aLaterSnapshotHoldsNothingUp() throws SQLException {
        scene.evacuateAll(1);
        scene.seal();
        Connection later = scene.begin(Connection.TRANSACTION_REPEATABLE_READ);
        line(later, "select count(*) from queen_store.queues");
        scene.depart(1);
        assertEquals("4", count(later));
        later.commit();
    }

    @Test
    void aDetachThatWasInterruptedIsFinalized() throws SQLException {
        scene.evacuateAll(1);
        scene.seal();
        Connection reader = scene.begin(Connection.TRANSACTION_READ_COMMITTED);
        lines(reader, "set application_name = 'browser'");
        assertEquals("4", count(reader));
        Connection killed = scene.connect();
        lines(killed, "set lock_timeout = '50ms'");
        SQLException waited =
                assertThrows(
                        SQLException.class,
                        () ->
                                lines(
                                        killed,
                                        "alter table queen_store.segments detach partition"
                                                + " queen_store.segments_1 concurrently"));
        assertEquals("55P03", waited.getSQLState());
        assertEquals("1|finalize", scene.departing());
        assertEquals("f", scene.line("select queen_store.drop_epoch(1)"));
        scene.awaitWaitsFor(1, "pid \\d+ \\(browser\\), idle in transaction, .*");
        // The log goes on meanwhile, for those within and those that come.
        assertEquals("4", count(reader));
        log.fill(lane, 1, 1);
        assertEquals(List.of("0", "0", "0", "2", "2"), scene.epochsOf(lane));
        assertEquals("5", count(reader));

        reader.commit();
        scene.detach(1, "finalize");
        assertEquals("1|drop", scene.departing());
        assertEquals("t", scene.line("select queen_store.drop_epoch(1)"));
        assertEquals("5", count(scene.connection()));
        assertEquals(List.of(), scene.violations(lane));
    }

    @Test
    void whoIsKilledWhileDroppingHasDroppedNothing() throws SQLException {
        scene.evacuateAll(1);
        scene.seal();
        scene.detach(1, "concurrently");
        Connection dropper = scene.begin(Connection.TRANSACTION_READ_COMMITTED);
        assertEquals("t", line(dropper, "select queen_store.drop_epoch(1)"));
        String pid = line(dropper, "select pg_backend_pid()");
        assertEquals("t", scene.line("select pg_terminate_backend(" + pid + ", 30000)"));
        assertEquals("1|drop", scene.departing());
        assertEquals("t", scene.line("select queen_store.drop_epoch(1)"));
        assertEquals("", scene.departing());
    }

    @Test
    void aTableThatSomebodyDroppedByHandIsForgotten() throws SQLException {
        scene.evacuateAll(1);
        scene.seal();
        scene.detach(1, "concurrently");
        scene.lines("drop table queen_store.segments_1");
        assertEquals("1|drop", scene.departing());
        assertEquals("t", scene.line("select queen_store.drop_epoch(1)"));
        assertEquals(List.of("0|evacuated", "2|open"), scene.states());
    }

    @Test
    void theOldestGoesFirst() throws SQLException {
        scene.rotate();
        scene.evacuateAll(1);
        scene.evacuateAll(2);
        scene.depart(1);
        scene.depart(2);
        assertEquals(List.of("0|evacuated", "3|open"), scene.states());
        assertEquals(List.of("0", "0", "0", "0"), scene.epochsOf(lane));
    }
}
