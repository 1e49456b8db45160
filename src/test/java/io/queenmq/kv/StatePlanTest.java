package io.queenmq.kv;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.PlanScene;
import io.queenmq.testkit.PlanScene.Call;
import java.sql.SQLException;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Goal: keys and timers are reached by their names, and by their times, however many there are.
 * Method: 50,000 of each, one in ten over or due.
 */
class StatePlanTest {
    private static final String TENANT = "'00000000-0000-0000-0000-000000000001'";

    private static final List<Call> CALLS =
            List.of(
                    new Call("queen.kv_get('n', 'k4713')", 100),
                    new Call("queen.kv_list('n', 'k47', null, 50)", 400),
                    new Call("queen_store.list_namespaces(" + TENANT + ", 100, 1000)", 2_000),
                    new Call("queen_store.kv_backlog(clock_timestamp(), 100, null)", 200),
                    new Call("queen_store.prune_kv(clock_timestamp(), 100, null)", 2_000),
                    new Call("queen.kv_put('n', 'k4711', '2', null)", 200),
                    new Call("queen.kv_incr('n', 'k4714', 1, null)", 200),
                    new Call("queen.kv_delete('n', 'k4716')", 200),
                    new Call(
                            "queen.timer_schedule('q', 'k4714', '1', p_delay => interval '1 day')",
                            300),
                    new Call("queen.timer_cancel('q', 'k4716')", 300),
                    new Call("queen.timer_get('q', 'k4712')", 100),
                    new Call("queen.timer_list('q', 'k4', 50)", 400),
                    new Call("queen_store.count_timers(" + TENANT + ", 'q', 'k47')", 300),
                    new Call("queen_store.probe_timers(100, null, null)", 800),
                    new Call(
                            "queen_store.claim_timers(100, 1048576, 60000, null, null, null, null)",
                            20_000));

    @Test
    void aCallReadsWhatItIsAbout() throws SQLException {
        try (PlanScene scene = new PlanScene("kv", "timers")) {
            scene.vacuum();
            scene.plan(CALLS);
            scene.run("delete from queen_store.kv");
            scene.run("delete from queen_store.timers");
            scene.run(
                    """
                    insert into queen_store.kv (
                        tenant_id, namespace, key, value, version, expires_at, created_at, updated_at)
                    select '00000000-0000-0000-0000-000000000001', 'n', 'k' || i, '1', i,
                           case when i % 10 = 0 then clock_timestamp() end, clock_timestamp(),
                           clock_timestamp()
                    from generate_series(1, 50000) i
                    """);
            scene.run(
                    """
                    insert into queen_store.timers (
                        tenant_id, queue, timer_key, partition, deliver_at, transaction_id,
                        message_id, payload)
                    select '00000000-0000-0000-0000-000000000001',
                           case when i % 2 = 0 then 'q' else 'q' || i end, 'k' || i, 'p',
                           clock_timestamp() + case when i % 10 = 0 then interval '0'
                                                    else interval '1 day' end,
                           't' || i, gen_random_uuid(), '1'
                    from generate_series(1, 50000) i
                    """);
            assertEquals("", scene.findings(CALLS));
        }
    }
}
