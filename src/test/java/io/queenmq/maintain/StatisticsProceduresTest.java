package io.queenmq.maintain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.db.Database;
import io.queenmq.metrics.Metrics;
import io.queenmq.runtime.Clock;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Walks in pages, what waits to be settled, and the bytes of epochs. */
class StatisticsProceduresTest {
    private static final String TENANT = "'00000000-0000-0000-0000-000000000001'";

    private static final class Hand implements Clock {
        long nanos;

        @Override
        public Instant now() {
            return Instant.EPOCH;
        }

        @Override
        public long nanos() {
            return nanos;
        }
    }

    private EpochScene scene;
    private Database database;
    private StatisticsProcedures procedures;

    @BeforeEach
    void open() throws SQLException {
        scene = new EpochScene();
        database = scene.database().pool();
        procedures = new StatisticsProcedures(database);
    }

    @AfterEach
    void close() throws SQLException {
        database.close();
        scene.close();
    }

    private void foldAll() {
        while (procedures.fold(10_000) == 10_000) {
            // The rest.
        }
    }

    private void push(String queue, int lanes, int each) throws SQLException {
        for (int from = 0; from < lanes * each; from += 1_000) {
            scene.line(
                    ("select count(*) from queen.push(array_fill('%s'::text, array[1000]), array("
                                    + "select 'p' || (i %% %d) from generate_series(%d, %d) i), array_fill("
                                    + "'{}'::text, array[1000]))")
                            .formatted(queue, lanes, from, from + 999));
        }
    }

    @Test
    void aWalkInPagesFindsEveryLaneOnce() throws SQLException {
        push("one", 1_000, 1);
        push("two", 500, 4);
        push("three", 1_000, 2);
        // A pop looks at 256 lanes at a time.
        scene.line("select count(*) from queen.pop('three', 'g', 512, null, 0, true, null, 'all')");
        foldAll();
        List<Walked> walked = new ArrayList<>();
        Walk walk = new Walk(procedures, null, walked::add);
        int pages = 1;
        while (walk.step()) {
            pages++;
        }
        assertEquals(3, pages);
        List<String> found = new ArrayList<>();
        for (Walked queue : walked) {
            for (Walked.Sums sums : queue.sums()) {
                found.add(sums.found()[0] + " " + sums.found()[1] + " " + sums.found()[2]);
            }
        }
        assertEquals(
                List.of("1000 1000 1000", "500 2000 500", "1000 2000 1000", "256 1488 744"), found);
        assertEquals(100, new ArrayList<>(walked.getLast().sums()).getLast().oldest().size());
    }

    @Test
    void whatWasWalkedOverIsSettledWhenEveryBrokerHasTold() throws SQLException {
        push("one", 1_000, 1);
        foldAll();
        Hand clock = new Hand();
        try (Metrics metrics = new Metrics()) {
            Unsettled unsettled = new Unsettled(procedures, Duration.ofSeconds(10), metrics, clock);
            Statistics job = new Statistics(procedures, unsettled, Duration.ofSeconds(10));
            assertTrue(job.hasWork(), "a new queue is to be walked over");
            while (job.step()) {
                // Until nothing is left to do now.
            }
            assertFalse(unsettled.hasDue());
            assertEquals("-1", scene.line("select age_seconds from queen.counts"));
            clock.nanos += TimeUnit.SECONDS.toNanos(20);
            assertTrue(unsettled.hasDue());
            while (job.step()) {
                // The same.
            }
            assertEquals(
                    "1000|1000|t",
                    scene.line("select partitions, messages, age_seconds >= 0 from queen.counts"));
            assertFalse(job.hasWork());
        }
    }

    private void countEpochs() {
        EpochWalk walk = new EpochWalk(procedures);
        while (walk.step()) {
            // The next page.
        }
    }

    private static final String HELD =
            "select coalesce(string_agg(e || ':' || messages || ':' || bytes, ' ' order by e), '')"
                    + " from (%s) h (e, messages, bytes)";
    private static final String TOLD =
            HELD.formatted("select epoch, messages, bytes from queen_store.queue_epochs");
    private static final String EXACT =
            HELD.formatted(
                    "select s.epoch, sum(s.end_offset - s.base_offset + 1), sum(octet_length(s.keys)"
                            + " + octet_length(s.frames)) from queen_store.segments s group by 1");

    @Test
    void anEpochIsCountedOnceItIsSealed() throws SQLException {
        push("one", 10, 200);
        scene.rotate();
        // Told when another one is open: it is taken for one of that.
        foldAll();
        push("one", 10, 100);
        foldAll();
        scene.rotate();
        countEpochs();
        assertEquals(scene.line(EXACT), scene.line(TOLD));
        String disk = scene.line("select disk_bytes from queen.counts");
        assertEquals(disk, scene.line("select retained_bytes from queen.counts"));
        assertEquals(
                disk,
                scene.line(
                        "select sum(octet_length(keys) + octet_length(frames))"
                                + " from queen_store.segments"));

        scene.line(
                "update queen_store.queues set max_wait_seconds = 60 where name = 'one' returning 1");
        scene.line(
                "with aged as (update queen_store.segments set created_at = created_at - interval"
                        + " '1 hour' where epoch = 1 returning 1) select count(*) from aged");
        scene.line(
                "with aged as (update queen_store.partitions set oldest_live_at = oldest_live_at"
                        + " - interval '1 hour' returning 1) select count(*) from aged");
        scene.line("select lanes from queen_store.expire(clock_timestamp(), 0, 100)");
        foldAll();
        assertEquals(disk, scene.line("select disk_bytes from queen.counts"));
        assertEquals(
                scene.line(
                        "select sum(octet_length(keys) + octet_length(frames))"
                                + " from queen_store.segments where epoch = 2"),
                scene.line("select retained_bytes from queen.counts"));
    }

    @Test
    void whatMovesToEpochZeroIsCountedThereAndAnEpochThatLeavesNoMore() throws SQLException {
        push("one", 10, 100);
        foldAll();
        scene.rotate();
        countEpochs();
        scene.evacuateAll(1);
        scene.depart(1);
        countEpochs();
        procedures.drop(100);
        assertEquals(scene.line(EXACT), scene.line(TOLD));
        assertTrue(scene.line(TOLD).startsWith("0:1000:"), scene.line(TOLD));
        assertEquals("", scene.line("select coalesce(queen_store.uncounted_epoch()::text, '')"));
        scene.line("select queen_store.delete_queue(" + TENANT + ", 'one')");
        procedures.drop(100);
        assertEquals("", scene.line(TOLD));
    }
}
