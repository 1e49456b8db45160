package io.queenmq.maintain;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.db.Database;
import io.queenmq.metrics.Metrics;
import io.queenmq.testkit.LogFixture;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The job that leads epochs through their lives, on a log whose epochs have room for ten rows. */
class EpochLifeTest {
    private static final EpochConfig CONFIG =
            new EpochConfig(
                    Duration.ofSeconds(1),
                    10,
                    1L << 40,
                    Duration.ofDays(1),
                    5,
                    10,
                    100,
                    4,
                    1 << 20);

    private EpochScene scene;
    private LogFixture log;
    private Database database;
    private Metrics metrics;
    private Epochs epochs;
    private long lane;

    @BeforeEach
    void start() throws SQLException {
        scene = new EpochScene();
        log = scene.log;
        database = scene.database().pool();
        metrics = new Metrics();
        epochs = new Epochs(CONFIG, new EpochProcedures(database, CONFIG), metrics);
        lane = log.lane(log.queue("q"));
    }

    @AfterEach
    void close() throws SQLException {
        database.close();
        metrics.close();
        scene.close();
    }

    /** So many segments, which the statistics know of. */
    private void fill(int segments) throws SQLException {
        log.fill(lane, segments, 1);
        scene.lines("analyze queen_store.segments_" + scene.openEpoch());
    }

    private void runUntilNothingIsLeftToDo() {
        int steps = 0;
        while (epochs.hasWork()) {
            epochs.step();
            assertTrue(++steps < 100, "no end");
        }
    }

    private void die(long below) throws SQLException {
        scene.expire(lane, below);
        log.run(
                "update queen_store.segments set created_at = created_at - interval '3 hours' where"
                        + " end_offset < ?",
                below);
    }

    private double count(String meter) {
        return metrics.counter(meter, "").count();
    }

    @Test
    void withoutWorkThereIsNothingToDo() throws SQLException {
        fill(9);
        assertFalse(epochs.hasWork());
        assertFalse(epochs.step());
        assertEquals(List.of("0|evacuated", "1|open"), scene.states());
    }

    @Test
    void anEpochThatIsFullIsFollowedByAnotherAndSealed() throws SQLException {
        fill(10);
        assertTrue(epochs.hasWork());
        runUntilNothingIsLeftToDo();
        assertEquals(List.of("0|evacuated", "1|sealed", "2|open"), scene.states());
        fill(10);
        runUntilNothingIsLeftToDo();
        assertEquals(List.of("0|evacuated", "1|sealed", "2|sealed", "3|open"), scene.states());
    }

    @Test
    void anEpochWithoutLifeIsDropped() throws SQLException {
        fill(10);
        runUntilNothingIsLeftToDo();
        fill(1);
        die(10);
        runUntilNothingIsLeftToDo();
        assertEquals(List.of("0|evacuated", "2|open"), scene.states());
        assertEquals(List.of("2"), scene.epochsOf(lane));
        assertEquals(1, count("queen_maintain_epochs_dropped_total"));
        assertEquals(0, count("queen_maintain_segments_moved_total"));
        assertEquals(List.of(), scene.violations(lane));
    }

    @Test
    void fewSurvivorsMoveAndAreRemovedWhenTheyDie() throws SQLException {
        fill(70);
        runUntilNothingIsLeftToDo();
        die(64);
        runUntilNothingIsLeftToDo();
        assertEquals(List.of("0|evacuated", "2|open"), scene.states());
        assertEquals(
                "6|64|69",
                scene.line(
                        "select count(*), min(base_offset), max(base_offset) from"
                                + " queen_store.segments where epoch = 0"));
        assertEquals(6, count("queen_maintain_segments_moved_total"));
        assertTrue(count("queen_maintain_segments_moved_bytes_total") > 6 * 16);

        die(70);
        runUntilNothingIsLeftToDo();
        assertEquals("0", scene.line("select count(*) from queen_store.segments"));
        assertEquals(6, count("queen_maintain_segments_removed_total"));
        assertEquals(List.of(), scene.violations(lane));
    }

    @Test
    void manySurvivorsStay() throws SQLException {
        fill(70);
        runUntilNothingIsLeftToDo();
        die(60);
        assertFalse(epochs.hasWork());
        assertEquals(List.of("0|evacuated", "1|sealed", "2|open"), scene.states());
    }

    @Test
    void whenAllEpochsAreInUseTheOldestGivesWayAtLast() throws SQLException {
        for (int i = 0; i < 3; i++) {
            fill(10);
            runUntilNothingIsLeftToDo();
        }
        assertEquals(5, scene.states().size());
        fill(39);
        assertFalse(epochs.hasWork());
        fill(1);
        runUntilNothingIsLeftToDo();
        assertEquals(
                List.of("0|evacuated", "2|sealed", "3|sealed", "4|sealed", "5|open"),
                scene.states());
        assertEquals(
                "70",
                scene.line(
                        "select count(*) from queen.read('q', (select name from"
                                + " queen_store.partitions), 0, 1000)"));
        assertEquals(List.of(), scene.violations(lane));
    }

    @Test
    void aHeldLaneIsWaitedForAndCounted() throws SQLException {
        fill(70);
        runUntilNothingIsLeftToDo();
        die(64);
        Connection holder = scene.begin(Connection.TRANSACTION_READ_COMMITTED);
        lines(
                holder,
                "select from queen_store.partitions where id = " + lane + " for no key update");
        while (epochs.step()) {
            // Until all that is left has to wait.
        }
        assertTrue(epochs.hasWork());
        assertTrue(count("queen_maintain_epoch_delays_total") > 3);
        assertEquals(List.of("0|evacuated", "1|sealed", "2|open"), scene.states());
        holder.commit();
        runUntilNothingIsLeftToDo();
        assertEquals(List.of("0|evacuated", "2|open"), scene.states());
    }

    @Test
    void whoLooksAtTheLogDelaysADetachWhichIsFinalizedBehindIt() throws SQLException {
        fill(10);
        runUntilNothingIsLeftToDo();
        die(10);
        Connection reader = scene.begin(Connection.TRANSACTION_READ_COMMITTED);
        line(reader, "select count(*) from queen_store.segments");
        // Ends the portal of that, and so its snapshot; the lock stays.
        lines(reader, "set application_name = 'browser'");
        while (epochs.step()) {
            // Until all that is left has to wait.
        }
        epochs.step();
        epochs.step();
        assertEquals("1|finalize", scene.departing());
        assertTrue(count("queen_maintain_epoch_delays_total") > 0);
        reader.commit();
        runUntilNothingIsLeftToDo();
        assertEquals(List.of("0|evacuated", "2|open"), scene.states());
        // The connection that was kept waiting is as any other again.
        assertEquals(
                "0",
                database.call("show", session -> line(session.connection(), "show lock_timeout")));
    }
}
