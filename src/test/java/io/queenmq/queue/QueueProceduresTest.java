package io.queenmq.queue;

import static io.queenmq.testkit.Lines.line;
import static io.queenmq.testkit.Lines.lines;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class QueueProceduresTest {
    private static final String TENANT = "'00000000-0000-0000-0000-000000000001'";
    private static final String OTHER_TENANT = "'00000000-0000-0000-0000-000000000002'";

    private static TestDatabase database;
    private Connection first;
    private Connection second;

    @BeforeAll
    static void createDatabase() {
        database = TestDatabase.migrated();
    }

    @AfterAll
    static void dropDatabase() {
        database.close();
    }

    @BeforeEach
    void connect() throws SQLException {
        first = database.connect();
        second = database.connect();
        lines(second, "set lock_timeout = '5s'");
    }

    @AfterEach
    void disconnect() throws SQLException {
        first.close();
        second.close();
    }

    @Test
    @Contract("model-2")
    void createsQueueAndLaneWithTheDefaultsOfImplicitCreation() throws SQLException {
        assertEquals("ready|t", verdict(first, "billing.invoice.eu", "a"));

        assertEquals(
                "billing|invoice|60|3600",
                line(
                        first,
                        "select namespace, task, lease_seconds, dedup_window_seconds"
                                + " from queen_store.find_queue(%s, 'billing.invoice.eu')"
                                        .formatted(TENANT)));
    }

    @Test
    void onlyGrowthOfADedupWindowIsNoted() throws SQLException {
        assertEquals("t", neverGrew("{\"dedup_window_seconds\": 7200}"));
        assertEquals("t", neverGrew("{\"dedup_window_seconds\": 60}"));
        assertEquals("t", neverGrew("{\"dedup_window_seconds\": 60, \"retry_limit\": 1}"));
        assertEquals("f", neverGrew("{\"dedup_window_seconds\": 61}"));
        assertEquals("f", neverGrew("{\"dedup_window_seconds\": 0}"));
    }

    /** Whether the queue is still as if its window had never grown. */
    private String neverGrew(String options) throws SQLException {
        line(
                first,
                "select * from queen_store.configure_queue(%s, 'widened', true, '%s')"
                        .formatted(TENANT, options));
        return line(
                first,
                "select dedup_widened_at is null from queen_store.queues where name = 'widened'");
    }

    @Test
    @Contract("model-2")
    void labelsOfANameWithoutDotAreTheNameAndNothing() throws SQLException {
        assertEquals("ready", ensureQueue(first, "plain"));

        assertEquals(
                "plain|",
                line(
                        first,
                        "select namespace, task from queen_store.find_queue(%s, 'plain')"
                                .formatted(TENANT)));
    }

    @Test
    void answersEveryNameInOrderAndCreatesARepeatedOneOnce() throws SQLException {
        assertEquals(
                List.of("1|ready|-1|0|t|1", "2|ready|-1|0|t|0", "3|ready|-1|0|t|1"),
                lines(
                        first,
                        """
                        select ordinal, verdict, last_offset, log_start, created,
                            partition_id - min(partition_id) over ()
                        from queen_store.ensure_lanes(array_fill(%s::uuid, array[3]),
                            array['many', 'many', 'many'], array['b', 'a', 'b'])
                        order by ordinal
                        """
                                .formatted(TENANT)));
    }

    @Test
    @Contract("push-9")
    void aKnownLaneIsNotCreatedAgain() throws SQLException {
        verdict(first, "known", "a");
        String number = number("known", "a");

        assertEquals("ready|f", verdict(second, "known", "a"));
        assertEquals(number, number("known", "a"));
    }

    @Test
    void tenantsDoNotShareAName() throws SQLException {
        verdict(first, "shared", "a");

        assertEquals(
                List.of(),
                lines(
                        first,
                        "select * from queen_store.find_queue(%s, 'shared')"
                                .formatted(OTHER_TENANT)));
    }

    @Test
    void anUncommittedQueueIsBusyAndNobodyWaits() throws SQLException {
        first.setAutoCommit(false);
        verdict(first, "open.queue", "a");

        assertEquals("busy|f", verdict(second, "open.queue", "a"));
        assertEquals("busy|f", verdict(second, "open.queue", "b"));
        assertEquals("busy", ensureQueue(second, "open.queue"));
        assertEquals("ready|t", verdict(second, "another.queue", "a"));

        first.commit();
        assertEquals("ready|f", verdict(second, "open.queue", "a"));
        assertEquals("ready", ensureQueue(second, "open.queue"));
    }

    @Test
    void anUncommittedLaneIsBusyAndItsNeighboursAreNot() throws SQLException {
        verdict(first, "open.lane", "a");
        first.setAutoCommit(false);
        verdict(first, "open.lane", "b");

        assertEquals(
                List.of("ready|f", "busy|f", "ready|t"),
                lines(
                        second,
                        """
                        select verdict, created
                        from queen_store.ensure_lanes(array_fill(%s::uuid, array[3]),
                            array_fill('open.lane'::text, array[3]), array['a', 'b', 'c'])
                        """
                                .formatted(TENANT)));

        first.rollback();
        assertEquals("ready|t", verdict(second, "open.lane", "b"));
    }

    @Test
    void anUncommittedQueueOfConfigureIsBusyToo() throws SQLException {
        first.setAutoCommit(false);
        configure(first, "open.configured", false, "{}");

        assertEquals("busy|f", verdict(second, "open.configured", "a"));
        first.rollback();
        assertEquals("ready|t", verdict(second, "open.configured", "a"));
    }

    @Test
    @Contract("push-9")
    void manyCreatorsOfOneNameMakeItOnce() throws Exception {
        try (ExecutorService creators = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<?>> done = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                done.add(creators.submit(this::createUntilReady));
            }
            for (Future<?> creator : done) {
                creator.get();
            }
        }
        assertEquals(
                "1|1",
                line(
                        first,
                        "select count(distinct q.id), count(p.id) from queen_store.queues q join"
                                + " queen_store.partitions p on p.queue_id = q.id"
                                + " where q.name = 'contended'"));
    }

    private String createUntilReady() throws SQLException {
        try (Connection connection = database.connect()) {
            AtomicReference<String> verdict = new AtomicReference<>("");
            Await.until(
                    "a lane that nobody else is creating",
                    () -> {
                        verdict.set(verdict(connection, "contended", "a"));
                        return !verdict.get().startsWith("busy");
                    });
            return verdict.get();
        }
    }

    @Test
    @Contract("push-9")
    void aNewLaneNeitherWaitsForTheRowOfItsQueueNorTouchesIt() throws SQLException {
        verdict(first, "untouched", "a");
        String version = "select xmin, xmax from queen_store.queues where name = 'untouched'";
        first.setAutoCommit(false);
        lines(first, "select from queen_store.queues where name = 'untouched' for update");
        String before = line(second, version);

        assertEquals("ready|t", verdict(second, "untouched", "b"));
        assertEquals(before, line(second, version));
        first.rollback();
    }

    @Test
    void findsOnlyLanesThatExistAndCreatesNothing() throws SQLException {
        verdict(first, "found", "a");

        assertEquals(
                List.of("2|ready"),
                lines(
                        first,
                        """
                        select ordinal, verdict
                        from queen_store.find_lanes(array_fill(%s::uuid, array[3]),
                            array['found', 'found', 'nowhere'], array['b', 'a', 'a'])
                        """
                                .formatted(TENANT)));
        assertEquals(
                "0", line(first, "select count(*) from queen_store.queues where name = 'nowhere'"));
    }

    @Test
    @Contract("model-3")
    void deleteFreesTheNameAndARecreatedLaneGetsANewNumber() throws SQLException {
        verdict(first, "gone", "a");
        String old = number("gone", "a");

        assertEquals("t", delete("gone"));
        assertEquals("f", delete("gone"));
        assertEquals(
                List.of(),
                lines(first, "select * from queen_store.find_queue(%s, 'gone')".formatted(TENANT)));

        assertEquals("ready|t", verdict(second, "gone", "a"));
        assertNotEquals(old, number("gone", "a"));
    }

    @Test
    @Contract("configure-13")
    void deleteTouchesOneRowHoweverManyLanesThereAre() throws SQLException {
        lines(
                first,
                """
                select queen_store.ensure_lanes(array_fill(%s::uuid, array[200]),
                    array_fill('wide'::text, array[200]),
                    array(select i::text from generate_series(1, 200) i))
                """
                        .formatted(TENANT));
        first.setAutoCommit(false);
        lines(first, "select from queen_store.partitions order by id for update");

        assertEquals(
                "t", line(second, "select queen_store.delete_queue(%s, 'wide')".formatted(TENANT)));
        first.rollback();
        assertEquals(
                "200",
                line(
                        second,
                        "select count(*) from queen_store.partitions p join queen_store.queues q"
                                + " on q.id = p.queue_id"
                                + " where q.name = 'wide' and q.deleted_at is not null"));
    }

    @Test
    @Contract("option-2")
    void configureCreatesWithALeaseOfFiveMinutes() throws SQLException {
        assertEquals("t|3|0||300", configure(first, "made.here", false, "{}"));
    }

    @Test
    @Contract("configure-5")
    void mergeKeepsWhatIsAbsentAndNullMeansTheDefault() throws SQLException {
        configure(first, "merged", false, "{\"retry_limit\": 7, \"priority\": 2, \"task\": \"t\"}");

        assertEquals(
                "f|7|0|t|45",
                configure(first, "merged", true, "{\"priority\": null, \"lease_seconds\": 45}"));
    }

    @Test
    @Contract("configure-5")
    void replaceResetsWhatIsAbsent() throws SQLException {
        configure(first, "replaced", false, "{\"retry_limit\": 7, \"task\": \"t\"}");

        assertEquals("f|3|9||300", configure(first, "replaced", false, "{\"priority\": 9}"));
    }

    @Test
    void mergeIntoANewQueueStartsFromTheDefaults() throws SQLException {
        assertEquals(
                "t|3|0|t|300",
                configure(first, "merged.new", true, "{\"task\": \"t\", \"priority\": null}"));
    }

    @Test
    @Contract("option-2")
    void mergeIntoAnImplicitQueueKeepsItsLease() throws SQLException {
        verdict(first, "implicit", "a");

        assertEquals("f|3|5||60", configure(first, "implicit", true, "{\"priority\": 5}"));
    }

    @Test
    @Contract("configure-12")
    void twoMergesAtOnceLoseNeither() throws Exception {
        configure(first, "raced", false, "{}");

        assertEquals("f|9|4||300", configureBehindAnother("raced"));
    }

    @Test
    @Contract("configure-12")
    void twoCreationsAtOnceMakeOneQueue() throws Exception {
        assertEquals("f|9|4||300", configureBehindAnother("raced.new"));
    }

    /** The second connection merges while the first has not committed its own merge yet. */
    private String configureBehindAnother(String queue) throws Exception {
        first.setAutoCommit(false);
        configure(first, queue, true, "{\"retry_limit\": 9}");
        try (ExecutorService executor = Executors.newVirtualThreadPerTaskExecutor();
                Connection watcher = database.connect()) {
            Future<String> merged =
                    executor.submit(() -> configure(second, queue, true, "{\"priority\": 4}"));
            String blocked =
                    "select pid from pg_stat_activity where wait_event_type = 'Lock'"
                            + " and datname = current_database()";
            Await.until("a blocked session", () -> !lines(watcher, blocked).isEmpty());
            first.commit();
            return merged.get();
        }
    }

    @Test
    void theDefaultsOfConfigureAreThoseOfTheColumnsButForTheLease() throws SQLException {
        String options =
                "select to_jsonb(q) - 'lease_seconds' - 'namespace'"
                        + " from queen_store.find_queue(%s, 'default') q".formatted(TENANT);
        ensureQueue(first, "default");
        String implicit = line(first, options);
        configure(first, "default", false, "{}");

        assertEquals(implicit, line(first, options));
    }

    @Test
    @Contract("option-1")
    void labelsSelectLiveQueuesOfTheTenant() throws SQLException {
        configure(first, "l1", false, "{\"namespace\": \"n\", \"task\": \"a\"}");
        configure(first, "l2", false, "{\"namespace\": \"n\", \"task\": \"b\"}");
        configure(first, "l3", false, "{\"namespace\": \"m\", \"task\": \"a\"}");
        configure(first, "l4", false, "{\"namespace\": \"n\", \"task\": \"a\"}");
        delete("l4");

        assertEquals(List.of("l1", "l2"), labelled("n", ""));
        assertEquals(List.of("l1"), labelled("n", "a"));
        assertEquals(List.of("l1", "l3"), labelled("", "a"));
        assertEquals(List.of(), labelled("N", ""));
    }

    private static String ensureQueue(Connection connection, String queue) throws SQLException {
        return line(
                connection,
                "select verdict from queen_store.ensure_queue(%s, '%s')".formatted(TENANT, queue));
    }

    private static String verdict(Connection connection, String queue, String partition)
            throws SQLException {
        return line(
                connection,
                """
                select verdict, created
                from queen_store.ensure_lanes(array[%s::uuid], array['%s'], array['%s'])
                """
                        .formatted(TENANT, queue, partition));
    }

    private String number(String queue, String partition) throws SQLException {
        return line(
                first,
                """
                select partition_id
                from queen_store.find_lanes(array[%s::uuid], array['%s'], array['%s'])
                """
                        .formatted(TENANT, queue, partition));
    }

    private String delete(String queue) throws SQLException {
        return line(first, "select queen_store.delete_queue(%s, '%s')".formatted(TENANT, queue));
    }

    private static String configure(
            Connection connection, String queue, boolean merge, String options)
            throws SQLException {
        return line(
                connection,
                """
                select created, retry_limit, priority, task, lease_seconds
                from queen_store.configure_queue(%s, '%s', %s, '%s')
                """
                        .formatted(TENANT, queue, merge, options));
    }

    private List<String> labelled(String namespace, String task) throws SQLException {
        return lines(
                first,
                "select name from queen_store.queues_with_labels(%s, '%s', '%s')"
                        .formatted(TENANT, namespace, task));
    }
}
