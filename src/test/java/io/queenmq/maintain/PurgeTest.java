package io.queenmq.maintain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.db.Database;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.testkit.LogFixture;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What the purge of a tenant removes, what it leaves to others, and what it waits for. */
class PurgeTest {
    private static final UUID TENANT = UUID.fromString("aaaaaaaa-0000-4000-8000-000000000001");
    private static final UUID OTHER = UUID.fromString("bbbbbbbb-0000-4000-8000-000000000002");

    private EpochScene scene;
    private LogFixture log;
    private Database database;
    private Metrics metrics;
    private PurgeProcedures procedures;
    private Purge purge;
    private final List<Integer> changed = new ArrayList<>();

    @BeforeEach
    void open() throws SQLException {
        scene = new EpochScene();
        log = scene.log;
        database = scene.database().pool();
        metrics = new Metrics();
        procedures = new PurgeProcedures(database);
        purge = new Purge(procedures, new StorageProcedures(database), changed::add, metrics);
    }

    @AfterEach
    void close() throws SQLException {
        database.close();
        metrics.close();
        scene.close();
    }

    /** Steps until nothing more can be done now. */
    private void run() {
        int steps = 0;
        while (purge.step()) {
            assertTrue(++steps < 1_000, "it goes on for ever");
        }
    }

    private int queue(UUID tenant) throws SQLException {
        int queue = log.queue();
        log.run("update queen_store.queues set tenant_id = ? where id = ?", tenant, queue);
        return queue;
    }

    /** A lane with everything that hangs on one, in as many epochs as there are by then. */
    private long furnish(int queue) throws SQLException {
        long lane = log.lane(queue);
        log.fill(lane, 3, 2);
        log.cursor(lane, log.group(queue), 1);
        log.run(
                "insert into queen_store.dead_letters (queue_id, partition_id, group_name,"
                        + " \"offset\", message_id, transaction_id, key, flags, error)"
                        + " values (?, ?, 'g', 0, gen_random_uuid(), 't', '\\x00', 0, 'e')",
                queue,
                lane);
        log.run(
                "insert into queen_store.queue_parked (queue_id, broker_id, since, parked)"
                        + " values (?, 1, clock_timestamp(), 1)",
                queue);
        return lane;
    }

    private void keep(UUID tenant) throws SQLException {
        for (String sql :
                new String[] {
                    "insert into queen_store.timers (tenant_id, queue, timer_key, partition,"
                            + " deliver_at, transaction_id, message_id, payload) values (?, 'q',"
                            + " 't', 'p', clock_timestamp(), 't', gen_random_uuid(), '1')",
                    "insert into queen_store.kv (tenant_id, namespace, key, value, version,"
                            + " created_at, updated_at) values (?, 'n', 'k', '1', 1,"
                            + " clock_timestamp(), clock_timestamp())",
                    "insert into queen_store.traces values (gen_random_uuid(), ?, 'q', 'p', 1,"
                            + " '\\x00', 't', 'g', 'info', '{}', array['n'], 'w',"
                            + " clock_timestamp())",
                    "insert into queen_store.trace_names values (?, 'n', clock_timestamp(),"
                            + " gen_random_uuid())",
                    "insert into queen_store.retention_history (minute, tenant_id, queue, rule,"
                            + " messages, lanes, steps) values (clock_timestamp(), ?, 'q',"
                            + " 'retention', 1, 1, 1)",
                    "insert into queen_store.kv_quotas (tenant_id, enabled, changed_at)"
                            + " values (?, true, clock_timestamp())",
                    "insert into queen_store.kv_usage values (?, 1, 1, 1, 1, clock_timestamp())"
                }) {
            log.run(sql, tenant);
        }
    }

    /** Tables that know a tenant, each with its number of rows; those without are left out. */
    private List<String> rowsOf(UUID tenant) throws SQLException {
        List<String> rows = new ArrayList<>();
        for (String table :
                scene.lines(
                        "select c.relname from pg_class c join pg_attribute a on a.attrelid ="
                                + " c.oid and a.attname = 'tenant_id' where c.relnamespace ="
                                + " 'queen_store'::regnamespace and c.relkind in ('r', 'p')"
                                + " and c.relname <> 'purges' order by c.relname")) {
            long count =
                    (long)
                            log.value(
                                    "select count(*) from queen_store."
                                            + table
                                            + " where tenant_id = ?",
                                    tenant);
            if (count > 0) {
                rows.add(table + " " + count);
            }
        }
        return rows;
    }

    @Test
    void nothingOfATenantIsLeftInAnyTableAndNothingOfOthersIsTouched() throws SQLException {
        int gone = queue(TENANT);
        furnish(gone);
        scene.rotate();
        int queue = queue(TENANT);
        long lane = furnish(queue);
        long kept = furnish(queue(OTHER));
        scene.rotate();
        log.fill(lane, 2, 2);
        log.fill(kept, 2, 2);
        keep(TENANT);
        keep(OTHER);
        List<String> before = rowsOf(OTHER);
        // Deleted long before, and cleaned up behind: nothing says any more whose messages those
        // are.
        log.run("update queen_store.queues set deleted_at = clock_timestamp() where id = ?", gone);
        for (int left = 1; left > 0; ) {
            left = scene.lines("select * from queen_store.clean_deleted_queue(0, 100)").size();
        }
        assertEquals("3", scene.line("select count(*) from queen_store.segments where epoch = 1"));

        PurgeState state = procedures.order(TENANT, false);
        assertEquals("timers", state.left());
        assertTrue(state.doneAt().isEmpty());
        assertTrue(purge.hasWork());
        run();

        assertEquals(List.of(), rowsOf(TENANT));
        assertEquals(before, rowsOf(OTHER));
        assertEquals(
                List.of(kept + "|5"),
                scene.lines(
                        "select partition_id, count(*) from queen_store.segments group by"
                                + " partition_id"));
        assertEquals(
                "1|1|1|0",
                scene.line(
                        "select (select count(*) from queen_store.partitions), (select count(*)"
                                + " from queen_store.cursors), (select count(*) from"
                                + " queen_store.dead_letters), (select count(*) from"
                                + " queen_store.queue_parked where queue_id = "
                                + queue
                                + ")"));
        assertEquals(
                List.of(), scene.lines("select * from queen_store.lane_violations(" + kept + ")"));
        assertEquals(List.of(queue), changed, "whoever keeps something of it is told");
        assertFalse(purge.hasWork());
        assertEquals(
                "done|nothing|1|1|8",
                scene.line(
                        "select state, left_over, queues_removed, timers_removed,"
                                + " segments_removed from queen.purges"));

        PurgeState done = procedures.order(TENANT, false);
        assertTrue(done.doneAt().isPresent(), done.toString());
        assertEquals(8, done.segments());
        assertEquals(List.of(), scene.lines("select * from queen.purges"), "told once");
        assertTrue(procedures.order(TENANT, false).doneAt().isEmpty(), "it begins anew");
    }

    @Test
    void whatSomebodyHoldsIsWaitedFor() throws SQLException {
        int queue = queue(TENANT);
        long lane = furnish(queue);
        procedures.order(TENANT, false);
        Connection holder = scene.begin(Connection.TRANSACTION_READ_COMMITTED);
        new LogFixture(holder)
                .rows("select from queen_store.partitions where id = ? for update", lane);
        run();
        assertEquals("lanes", scene.line("select left_over from queen.purges"));
        assertEquals("3", scene.line("select count(*) from queen_store.segments"));
        holder.rollback();
        run();
        assertEquals("done", scene.line("select state from queen.purges"));
        assertEquals("0", scene.line("select count(*) from queen_store.segments"));
    }

    /** Its table is no part of the log any more, and its rows are on disk all the same. */
    @Test
    void anEpochThatIsAboutToGoIsWaitedFor() throws SQLException {
        furnish(queue(TENANT));
        scene.rotate();
        log.run("update queen_store.queues set deleted_at = clock_timestamp()");
        scene.evacuateAll(1);
        procedures.order(TENANT, false);
        run();
        assertEquals("segments", scene.line("select left_over from queen.purges"));
        scene.depart(1);
        run();
        assertEquals("done", scene.line("select state from queen.purges"));
    }

    @Test
    void aStepIsBoundedAndTheNextGoesOn() throws SQLException {
        long lane = furnish(queue(TENANT));
        log.fill(lane, 10, 1);
        log.run("delete from queen_store.partitions");
        String behind = "1|" + (lane - 1);
        assertEquals(behind + "|5|f", walk("1, 0"));
        assertEquals(behind + "|5|f", walk("1, " + (lane - 1)));
        assertEquals("2|0|3|f", walk("1, " + (lane - 1)));
        assertEquals("null|null|0|f", walk("2, 0"));
    }

    private String walk(String from) throws SQLException {
        return scene.line(
                "select coalesce(epoch::text, 'null'), coalesce(partition_id::text, 'null'),"
                        + " removed, waits from queen_store.purge_segments("
                        + from
                        + ", 10, 5)");
    }

    @Test
    void theDefaultTenantIsPurgedOnlyWhereThatIsSaid() throws SQLException {
        QueenException refused =
                assertThrows(
                        QueenException.class, () -> procedures.order(LogFixture.TENANT, false));
        assertEquals(Failure.BAD_REQUEST, refused.failure());
        assertEquals("segments", procedures.order(LogFixture.TENANT, true).left());
    }

    @Test
    void aTableThatNoPurgeKnowsStopsItRatherThanBeLeftOut() throws SQLException {
        procedures.order(OTHER, false);
        log.run("create table queen_store.novel (tenant_id uuid)");
        for (Runnable call :
                List.<Runnable>of(() -> procedures.order(TENANT, false), () -> purge.step())) {
            QueenException refused = assertThrows(QueenException.class, call::run);
            assertEquals(Failure.INTERNAL, refused.failure());
            assertTrue(refused.toString().contains("novel"), refused.toString());
        }
    }
}
