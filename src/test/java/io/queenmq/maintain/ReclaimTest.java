package io.queenmq.maintain;

import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.db.Database;
import io.queenmq.metrics.Metrics;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.LogFixture;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Space on demand, on a log that has expired in part; no other broker is there. */
class ReclaimTest {
    private static final Duration AT_ONCE = Duration.ofMillis(300);
    private static final Duration PATIENT = Duration.ofSeconds(60);

    private EpochScene scene;
    private LogFixture log;
    private Database database;
    private Metrics metrics;
    private Reclaim reclaim;
    private long lane;
    private final List<String> progress = new ArrayList<>();

    @BeforeEach
    void start() throws SQLException {
        scene = new EpochScene();
        log = scene.log;
        database = scene.database().pool();
        metrics = new Metrics();
        reclaim = new Reclaim(database, metrics, Clock.SYSTEM);
        lane = log.lane(log.queue("q"));
    }

    @AfterEach
    void close() throws SQLException {
        database.close();
        metrics.close();
        scene.close();
    }

    /** All below that offset has expired, keys too. */
    private void die(long below) throws SQLException {
        scene.expire(lane, below);
        log.run(
                "update queen_store.segments set created_at = created_at - interval '3 hours' where"
                        + " end_offset < ?",
                below);
    }

    private long bytes(int epoch) throws SQLException {
        return Long.parseLong(scene.line("select bytes from queen.epochs where epoch = " + epoch));
    }

    /** No matter when the job was run last. */
    private Reclaim.Outcome run(long bytes, Duration patience) throws SQLException {
        scene.lines("update queen_store.jobs set next_due_at = clock_timestamp()");
        return reclaim.run(bytes, patience, progress::add);
    }

    @Test
    void theOpenEpochIsClosedAndWhatIsAliveInItSurvives() throws SQLException {
        log.fill(lane, 1_000, 1);
        die(990);
        long size = bytes(1);
        ReclaimPlan plan = reclaim.plan(1);
        assertEquals(List.of("open"), plan.steps().stream().map(ReclaimPlan.Step::state).toList());
        assertTrue(plan.survivorBytes() > 0 && plan.survivorBytes() < size / 25, plan.toString());
        assertEquals(List.of("0|evacuated", "1|open"), scene.states(), "a plan changes nothing");

        Reclaim.Outcome outcome = run(size / 2, PATIENT);
        assertEquals(Optional.empty(), outcome.stoppedBy());
        assertTrue(outcome.freedBytes() >= size / 2, outcome.toString());
        assertEquals(List.of("0|evacuated", "2|open"), scene.states());
        assertEquals(
                "10|990|999",
                scene.line(
                        "select count(*), min(base_offset), max(base_offset) from"
                                + " queen_store.segments where epoch = 0"));
        assertEquals(List.of(), scene.violations(lane));
        assertTrue(progress.toString().contains("epoch 1 is sealed"), progress.toString());
        assertTrue(progress.getLast().startsWith("epoch 1 is gone, "), progress.toString());
        assertEquals(
                "epochs|at rest|",
                scene.line("select job, state, holder from queen.jobs"),
                "the lease was given back");
    }

    @Test
    void theOldestGoesFirstAndNoMoreThanItTakes() throws SQLException {
        for (int i = 0; i < 3; i++) {
            log.fill(lane, 300, 1);
            scene.rotate();
        }
        die(500);
        Reclaim.Outcome outcome = run(1, PATIENT);
        assertEquals(Optional.empty(), outcome.stoppedBy());
        assertEquals(List.of("0|evacuated", "2|sealed", "3|sealed", "4|open"), scene.states());
    }

    @Test
    void whatIsAliveIsNoSpace() throws SQLException {
        log.fill(lane, 1_000, 1);
        assertTrue(reclaim.plan(1).isEmpty());
        Reclaim.Outcome outcome = run(1, PATIENT);
        assertTrue(outcome.stoppedBy().orElseThrow().contains("a retention"), outcome.toString());
        assertEquals(0, outcome.freedBytes());
        assertEquals(List.of("0|evacuated", "1|open"), scene.states());
    }

    @Test
    void whatCanBeFreedIsFreedWhereMoreWasAskedFor() throws SQLException {
        log.fill(lane, 1_000, 1);
        die(900);
        Reclaim.Outcome outcome = run(1L << 40, PATIENT);
        assertTrue(outcome.freedBytes() > 0, outcome.toString());
        assertTrue(outcome.stoppedBy().orElseThrow().contains("a retention"), outcome.toString());
        assertEquals(
                "100", scene.line("select count(*) from queen_store.segments where epoch = 0"));
        assertEquals(List.of("0|evacuated", "2|open"), scene.states());
    }

    @Test
    void whoeverHasTheLogOpenIsNamed() throws SQLException {
        log.fill(lane, 1_000, 1);
        die(1_000);
        Connection reader = scene.begin(Connection.TRANSACTION_READ_COMMITTED);
        lines(reader, "set application_name = 'nightly report'");
        lines(reader, "select count(*) from queen_store.segments");
        String pid = lines(reader, "select pg_backend_pid()").getFirst();
        Reclaim.Outcome outcome = run(1, AT_ONCE);
        assertEquals(0, outcome.freedBytes());
        String why = outcome.stoppedBy().orElseThrow();
        assertTrue(why.startsWith("pid " + pid + " (nightly report), idle in transaction"), why);
        assertEquals(List.of("0|evacuated", "1|open", "2|built"), scene.states());

        reader.commit();
        assertEquals(Optional.empty(), run(1, PATIENT).stoppedBy());
        assertEquals(List.of("0|evacuated", "2|open"), scene.states());
    }

    @Test
    void whoeverHoldsALaneOfASurvivorIsNamed() throws SQLException {
        log.fill(lane, 1_000, 1);
        die(990);
        scene.rotate();
        Connection holder = scene.begin(Connection.TRANSACTION_READ_COMMITTED);
        lines(holder, "set application_name = 'outbox'");
        lines(
                holder,
                "select from queen_store.partitions where id = " + lane + " for no key update");
        Reclaim.Outcome outcome = run(1, Duration.ofSeconds(2));
        String why = outcome.stoppedBy().orElseThrow();
        assertTrue(why.contains("(outbox)") && why.contains("holds the lane q/"), why);
        holder.commit();
        assertEquals(Optional.empty(), run(1, PATIENT).stoppedBy());
        assertEquals("10", scene.line("select count(*) from queen_store.segments where epoch = 0"));
        assertEquals(List.of(), scene.violations(lane));
    }

    @Test
    void aSlotThatKeepsTheLogIsNamed() throws SQLException {
        log.fill(lane, 1_000, 1);
        die(1_000);
        scene.line("select 1 from pg_create_physical_replication_slot('forgotten', true)");
        try {
            Reclaim.Outcome outcome = run(1, PATIENT);
            assertEquals(Optional.empty(), outcome.stoppedBy());
            String slot = outcome.slot().orElseThrow();
            assertTrue(slot.contains("slot forgotten, which nobody reads"), slot);
        } finally {
            scene.line("select pg_drop_replication_slot('forgotten') is null");
        }
        assertEquals(Optional.empty(), run(1, AT_ONCE).slot());
    }

    @Test
    void twoNeverDoItAtOnce() throws SQLException {
        log.fill(lane, 1_000, 1);
        die(1_000);
        scene.lines("select queen_store.register_jobs(array['epochs'], array[10000])");
        scene.lines("select queen_store.claim_job('epochs', gen_random_uuid(), 600000)");
        Reclaim.Outcome outcome = run(1, AT_ONCE);
        assertTrue(outcome.stoppedBy().orElseThrow().startsWith("a broker"), outcome.toString());
        assertEquals(List.of("0|evacuated", "1|open"), scene.states());

        scene.lines("update queen_store.jobs set holder = null, lease_until = null");
        scene.lines("update queen_store.jobs set enabled = false");
        outcome = run(1, PATIENT);
        assertTrue(outcome.stoppedBy().orElseThrow().contains("is paused"), outcome.toString());
        assertEquals(List.of("0|evacuated", "1|open"), scene.states());
    }

    @Test
    void anEpochThatABrokerHasBegunToEmptyIsContinued() throws SQLException {
        log.fill(lane, 1_000, 1);
        die(990);
        scene.rotate();
        assertEquals("moved||3", scene.evacuate(1, 3));
        assertFalse(scene.states().contains("1|empty"));
        assertEquals(Optional.empty(), run(1, PATIENT).stoppedBy());
        assertEquals(List.of("0|evacuated", "2|open"), scene.states());
        assertEquals("10", scene.line("select count(*) from queen_store.segments where epoch = 0"));
    }
}
