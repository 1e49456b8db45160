package io.queenmq.insight;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Lines;
import io.queenmq.testkit.LogFixture;
import io.queenmq.testkit.PlanScene;
import io.queenmq.testkit.PlanScene.Call;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Goal: where a page of messages up to an instant begins is found with a few probes per lane,
 * however much the lanes have taken since, and over however many epochs. Method: a thousand lanes,
 * as many as are looked at, with 60 segments in the fourth of 16 epochs and in the twelfth;
 * instants in the middle of each, before the twelfth and before all; plans made while the tables
 * were empty, buffers counted.
 */
class MessagePagePlanTest {
    private static final int EPOCHS = 16;
    private static final int LANES = 1_000;
    private static final int PER_EPOCH = 60;

    /**
     * Of a lane: 2 for every epoch in which it has nothing, 4 for a segment, of which 6 are looked
     * at to find one of 60; and some of its row.
     */
    private static final int PER_LANE = 70;

    private static final List<Call> CALLS =
            List.of(
                    new Call(lanes(PER_EPOCH / 2), LANES * PER_LANE),
                    new Call(lanes(PER_EPOCH), LANES * PER_LANE),
                    new Call(lanes(PER_EPOCH * 3 / 2), LANES * PER_LANE),
                    new Call(lanes(-1), LANES * PER_LANE),
                    // And then the page, of at most 201 lanes: a probe of all epochs for each.
                    new Call(page(PER_EPOCH / 2), LANES * PER_LANE + 201 * 100));

    private static String at(int minutes) {
        return "(timestamptz '2026-01-01Z' + interval '%d minutes 30 s')".formatted(minutes);
    }

    private static String lanes(int minutes) {
        return "queen_store.last_before(array(select i::bigint from generate_series(1, %d) i), array_fill(%s, array[%d]))"
                .formatted(LANES, at(minutes), LANES);
    }

    private static String page(int minutes) {
        return "queen_store.find_messages('%s', 'q', null, null, null, null, '2000-01-01', %s, null, null, null, 200)"
                .formatted(LogFixture.TENANT, at(minutes));
    }

    @Test
    void theBeginningOfAPageIsFoundWithAFewProbesPerLane() throws SQLException {
        try (PlanScene scene = new PlanScene("partitions", "segments_\\d+")) {
            scene.epochs(EPOCHS);
            scene.vacuum();
            scene.run(
                    "insert into queen_store.queues (id, tenant_id, name) overriding system value"
                            + " values (1, '"
                            + LogFixture.TENANT
                            + "', 'q')");
            fill(scene, 1);
            scene.plan(CALLS);
            scene.run("delete from queen_store.segments");
            scene.run("delete from queen_store.partitions");
            fill(scene, LANES);
            assertEquals("", scene.findings(CALLS));
            assertEquals(
                    "1000|29",
                    Lines.line(
                            scene.connection(),
                            "select count(*), min(\"offset\") from " + lanes(PER_EPOCH / 2 - 1)));
        }
    }

    /** A segment of one message a minute, first those of one epoch, then those of the other. */
    private static void fill(PlanScene scene, int lanes) throws SQLException {
        scene.run(
                """
                insert into queen_store.partitions (
                    id, queue_id, name, last_offset, last_created_at, last_write_at, oldest_live_at)
                overriding system value
                select i, 1, 'p' || i, %1$d, l.at, l.at, '2026-01-01Z'
                from generate_series(1, %2$d) i
                cross join lateral (
                    select timestamptz '2026-01-01Z' + %1$d * interval '1 minute'
                           + i * interval '1 ms' as at) l
                """
                        .formatted(2 * PER_EPOCH - 1, lanes));
        scene.run(
                """
                insert into queen_store.segments (
                    epoch, partition_id, base_offset, end_offset, created_at, flush_id, keys, frames)
                select case when n < %1$d then 4 else 12 end, i, n, n,
                       timestamptz '2026-01-01Z' + n * interval '1 minute' + i * interval '1 ms', 1,
                       queen_store.key_of('t'), '\\x00000003007b7d'
                from generate_series(0, 2 * %1$d - 1) n, generate_series(1, %2$d) i
                """
                        .formatted(PER_EPOCH, lanes));
    }
}
