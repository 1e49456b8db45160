package io.queenmq.group;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.Lines;
import io.queenmq.testkit.PlanScene;
import io.queenmq.testkit.PlanScene.Call;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Goal: who deletes a group of many queues reads what waits to be added to the counts once, not
 * once per queue. Method: a group in 500 queues of ten lanes, every second of them not counted yet,
 * while 10,000 changes wait; plans made while the tables were empty, buffers counted.
 */
class GroupDeletePlanTest {
    private static final String TENANT = "'00000000-0000-0000-0000-000000000001'::uuid";
    private static final String DELETE =
            "queen_store.delete_group(" + TENANT + ", null, 'g', false)";

    @Test
    void whatWaitsToBeCountedIsReadOnceHoweverManyQueuesHaveTheGroup() throws SQLException {
        try (PlanScene scene = new PlanScene("partitions")) {
            List<Call> calls = List.of(new Call(DELETE, 25_000));
            scene.vacuum();
            scene.plan(calls);
            scene.run(
                    "insert into queen_store.queues (tenant_id, name) select "
                            + TENANT
                            + ", 'q' || i from generate_series(1, 500) i");
            scene.run(
                    "insert into queen_store.groups (queue_id, name, start_rule) select q.id, 'g',"
                            + " 'all' from queen_store.queues q");
            scene.run(
                    "insert into queen_store.partitions (queue_id, name) select q.id, 'p' || i from"
                            + " queen_store.queues q, generate_series(1, 10) i");
            scene.run(
                    "insert into queen_store.counts (queue_id, group_id, lanes, counted_at) select"
                            + " q.id, 0, 10, clock_timestamp() from queen_store.queues q where"
                            + " q.id % 2 = 0");
            scene.run(
                    "insert into queen_store.count_deltas (queue_id, group_id, stored) select q.id,"
                            + " 0, 1 from queen_store.queues q, generate_series(1, 20)");
            assertEquals("", scene.findings(calls));
            assertEquals(
                    "500|5000",
                    Lines.line(
                            scene.connection(), "select count(*), sum(lane_count) from " + DELETE));
        }
    }
}
