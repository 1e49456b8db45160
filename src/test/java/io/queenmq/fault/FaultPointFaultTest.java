package io.queenmq.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Lines;
import io.queenmq.testkit.PostgresLink;
import io.queenmq.testkit.TcpProxy;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Goal: whatever happens at whatever step of a call to the database, what clients were told is
 * true. Method: a broker under a small load reaches its database and its clients over links that
 * read along. The first call of one procedure stops at one point; there something breaks; then the
 * work has to go on by itself. In the end all that was accepted is stored once and in its place,
 * nothing came again after its ack was confirmed, nothing was skipped, no retry was charged, and no
 * invariant is broken.
 */
final class FaultPointFaultTest {
    private static final int LANES = 4;

    /** A pattern of names of cases; all of them take some ten minutes. */
    private static final String WANTED = "queen.test.faults";

    private static final String IN_EVERY_BUILD =
            "link cut|committed broker killed another"
                    + "|^(append|claim leased|ack batches|transact) committed";

    /** Where a call stands when the fault comes. */
    enum Point {
        NOT_ARRIVED,
        COMMITTED,
        NOT_ANSWERED
    }

    /** What breaks. */
    enum Fault {
        BROKER_KILLED_AND_RESTARTED,
        BROKER_KILLED_ANOTHER_TAKES_OVER,
        LINK_CUT,
        LINK_MUTE,
        POSTGRES_KILLED
    }

    record Case(String procedure, Point point, Fault fault) {
        @Override
        public String toString() {
            return (procedure + " " + point + " " + fault)
                    .replace('_', ' ')
                    .toLowerCase(Locale.ROOT);
        }
    }

    private static final String WAITING = "append_waiting";

    private static final List<String> PROCEDURES =
            List.of(
                    "ensure_lanes",
                    "append",
                    WAITING,
                    "register_group",
                    "claim_first",
                    "claim_leased",
                    "claim_auto",
                    "ack_batches",
                    "ack_messages",
                    "extend_lease",
                    "transact");

    private static final String REPEATED = "repeated by its caller: the same once more";
    private static final String NOTHING_LEFT = "repeated by its caller: nothing left to delete";
    private static final String STORES_NOTHING = "looks at sessions, stores nothing";
    private static final String JOB =
            "a step of a job: the next one goes on from what is stored, see EpochPropertyTest,"
                    + " EpochDropProceduresTest, JobRunnerTest";

    private static final String REPORT = "a number that people look back at: may be told twice";

    private static final String TIMERS = "TimerFaultTest; a claim ends by itself";

    /** Of the others that change something, why no case is needed. */
    private static final Map<String, String> ELSEWHERE =
            Map.ofEntries(
                    Map.entry("configure_queue", REPEATED),
                    Map.entry("seek_lane", REPEATED),
                    Map.entry("seek_queue", REPEATED),
                    Map.entry("update_subscription", REPEATED),
                    Map.entry("delete_queue", NOTHING_LEFT),
                    Map.entry("delete_group", NOTHING_LEFT),
                    Map.entry("delete_dead_letter", NOTHING_LEFT),
                    Map.entry("delete_dead_letters", NOTHING_LEFT),
                    Map.entry("replay_dead_letter", "LostReplayHttpTest"),
                    Map.entry("release_lease", "PopTroubleTest; without it the lease runs out"),
                    Map.entry("oldest_writer", STORES_NOTHING),
                    Map.entry("safe_instant", STORES_NOTHING),
                    Map.entry("add_trace", "a note: its caller may repeat it"),
                    Map.entry("build_epoch", JOB),
                    Map.entry("cancel_reclaim", REPEATED),
                    Map.entry("change_timers", REPEATED),
                    Map.entry("claim_job", JOB),
                    Map.entry("claim_timers", TIMERS),
                    Map.entry("clean_deleted_queue", JOB),
                    Map.entry("drop_counts", JOB),
                    Map.entry("drop_epoch", JOB),
                    Map.entry("epoch_work", JOB),
                    Map.entry("evacuate", JOB),
                    Map.entry("expire", JOB),
                    Map.entry("fail_timers", TIMERS),
                    Map.entry("fire_timers", TIMERS),
                    Map.entry("flush_counts", "sums that a walk mends, see CountHttpTest"),
                    Map.entry("fold_counts", JOB),
                    Map.entry("keep_job", JOB),
                    Map.entry("note_liveness", JOB),
                    Map.entry("note_purge", JOB),
                    Map.entry("note_reclaim", JOB),
                    Map.entry("order_purge", REPEATED),
                    Map.entry("order_reclaim", "repeated it says that one is open: it is this"),
                    Map.entry("purge_others", JOB),
                    Map.entry("purge_queues", JOB),
                    Map.entry("purge_segments", JOB),
                    Map.entry("purge_timers", JOB),
                    Map.entry("measure_tenant", "a measurement: the next one is as good"),
                    Map.entry("set_job", REPEATED),
                    Map.entry("end_lane_holder", STORES_NOTHING),
                    Map.entry("register_broker", REPORT),
                    Map.entry("report_broker", REPORT),
                    Map.entry("report_queues", REPORT),
                    Map.entry("sweep_buckets", JOB),
                    Map.entry("open_epoch", JOB),
                    Map.entry("prune_kv", JOB),
                    Map.entry("record_usage", JOB),
                    Map.entry("register_jobs", JOB),
                    Map.entry("release_job", JOB),
                    Map.entry("release_timers", TIMERS),
                    Map.entry("remove_idle_lanes", JOB),
                    Map.entry("remove_old_traces", JOB),
                    Map.entry("run_kv", "versions tell its caller whether to repeat it"),
                    Map.entry("seal_epochs", JOB),
                    Map.entry("set_kv_quota", REPEATED),
                    Map.entry("set_switches", REPEATED),
                    Map.entry("settle_counts", JOB),
                    Map.entry("settle_epoch", JOB),
                    Map.entry("sweep_bundles", JOB),
                    Map.entry("sweep_cursors", JOB),
                    Map.entry("sweep_epoch", JOB),
                    Map.entry("sweep_history", JOB),
                    Map.entry("sweep_leases", JOB));

    private static PostgresProcess postgres;
    private static PostgresLink link;
    private static TcpProxy front;
    private static BrokerProcess broker;
    private static BrokerProcess another;
    private static int runs;

    static Stream<Case> cases() {
        List<Case> cases = new ArrayList<>();
        for (String procedure : PROCEDURES) {
            for (Point point : Point.values()) {
                for (Fault fault : Fault.values()) {
                    // A client that is never answered gives up: for the broker as if it was cut.
                    if (point != Point.NOT_ANSWERED || fault != Fault.LINK_MUTE) {
                        cases.add(new Case(procedure, point, fault));
                    }
                }
            }
        }
        Pattern wanted = Pattern.compile(System.getProperty(WANTED, IN_EVERY_BUILD));
        return cases.stream().filter(tried -> wanted.matcher(tried.toString()).find());
    }

    @BeforeAll
    static void start() throws IOException, InterruptedException {
        postgres = PostgresProcess.start();
        link = new PostgresLink("127.0.0.1", postgres.port());
        broker = BrokerProcess.start(link.port(), Map.of("QUEEN_STMT_TIMEOUT_MS", "1000"));
        front = new TcpProxy("127.0.0.1", broker.port());
        another = BrokerProcess.start(postgres.port());
    }

    @AfterAll
    static void stop() throws IOException {
        front.close();
        another.close();
        broker.close();
        link.close();
        postgres.close();
    }

    @BeforeEach
    void awaitBrokers() {
        broker.awaitReady();
        another.awaitReady();
    }

    /** A new procedure gets its cases, or a reason. */
    @Test
    void everyProcedureOfTheBrokerThatChangesSomethingIsTried() throws IOException, SQLException {
        StringBuilder sources = new StringBuilder();
        try (Stream<Path> files = Files.walk(Path.of("src/main/java"))) {
            for (Path file : files.filter(f -> f.toString().endsWith("Procedures.java")).toList()) {
                sources.append(Files.readString(file));
            }
        }
        Set<String> untried = new TreeSet<>();
        try (Connection connection = postgres.connect()) {
            for (String procedure :
                    Lines.lines(
                            connection,
                            """
                            select distinct p.proname
                            from pg_proc p
                            where p.pronamespace = 'queen_store'::regnamespace
                              and p.provolatile = 'v'
                            """)) {
                boolean called =
                        Pattern.compile("\\bqueen_store\\." + procedure + "\\b")
                                        .matcher(sources)
                                        .find()
                                || sources.indexOf("\"" + procedure + "\"") >= 0;
                if (called && !PROCEDURES.contains(procedure)) {
                    untried.add(procedure);
                }
            }
        }
        assertEquals(new TreeSet<>(ELSEWHERE.keySet()), untried);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("cases")
    @Contract({"push-12", "push-22", "pop-claim-9", "retry-2", "error-3"})
    void keepsItsWord(Case tried) throws IOException, InterruptedException, SQLException {
        String queue = "faulty-" + runs++;
        URI through = URI.create("http://127.0.0.1:" + front.port());
        URI[] brokers =
                tried.fault() == Fault.BROKER_KILLED_ANOTHER_TAKES_OVER
                        ? new URI[] {through, another.url()}
                        : new URI[] {through};
        PostgresLink.Halt halt =
                link.haltAt(
                        tried.procedure(),
                        tried.point() == Point.NOT_ARRIVED
                                ? PostgresLink.Point.REQUEST
                                : PostgresLink.Point.ANSWER);
        try (Workload workload = new Workload(queue, LANES, brokers)) {
            workload.start(2, 1);
            workload.consume(Consumer.Manner.STEP_BY_STEP);
            workload.consume(Consumer.Manner.AT_MOST_ONCE);
            workload.consume(Consumer.Manner.COPYING);
            if (tried.procedure().equals(WAITING)) {
                awaitWaiting(queue, workload, halt);
            }
            halt.awaitReached();
            if (tried.point() == Point.NOT_ANSWERED) {
                front.holdAnswers();
                halt.pass();
                front.awaitAllHeld();
            }
            strike(tried.fault(), halt, tried.point() == Point.NOT_ANSWERED);
            Books books = workload.books();
            books.awaitAccepted(100);
            workload.finish();
            Stored.awaitAcknowledged(postgres, workload);
            assertEquals(Set.of(), books.violations());
            assertTrue(
                    books.unheard() <= Consumer.HEARD_AT_ONCE * (1 + books.troubles()),
                    () -> books.unheard() + " messages were not heard of");
            Stored.assertExactly(postgres, queue, LANES, books);
            Stored.assertSound(postgres, queue);
            Stored.assertExactly(postgres, Consumer.copyOf(queue), LANES, books);
            Stored.assertSound(postgres, Consumer.copyOf(queue));
        } finally {
            halt.cut();
            front.letGo();
        }
    }

    /** An application holds a lane until the broker is about to wait for it. */
    private static void awaitWaiting(String queue, Workload workload, PostgresLink.Halt halt)
            throws InterruptedException, SQLException {
        workload.books().awaitProgressOfAllLanesBut(-1);
        PostgresLink.Halt waiting = link.haltAt(WAITING, PostgresLink.Point.REQUEST);
        try (Connection application = postgres.connect()) {
            application.setAutoCommit(false);
            Lines.lines(
                    application,
                    """
                    select 1
                    from queen_store.partitions p
                    join queen_store.queues q on q.id = p.queue_id
                    where q.name = '%s' and p.name = '%s'
                    for no key update of p
                    """
                            .formatted(queue, Workload.laneName(0)));
            Await.until("a call that waits", () -> halt.isReached() || waiting.isReached());
            application.rollback();
        } finally {
            waiting.pass();
        }
    }

    private static void strike(Fault fault, PostgresLink.Halt halt, boolean inFront)
            throws IOException {
        switch (fault) {
            case BROKER_KILLED_AND_RESTARTED, BROKER_KILLED_ANOTHER_TAKES_OVER -> {
                broker.kill();
                halt.cut();
                front.cut();
                front.letGo();
                broker.relaunch();
            }
            case LINK_CUT -> {
                if (inFront) {
                    front.cut();
                    front.letGo();
                } else {
                    halt.cut();
                }
            }
            case LINK_MUTE -> halt.swallow();
            case POSTGRES_KILLED -> {
                postgres.kill();
                halt.cut();
                front.letGo();
                postgres.restart();
            }
        }
    }
}
