package io.queenmq.maintain;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.queenmq.db.Database;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import io.queenmq.runtime.Overdue;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Several runners over one database stand for several brokers. */
class JobRunnerTest {
    private final TestDatabase server = TestDatabase.migrated();
    private final Database database = server.pool();
    private final List<String> done = new ArrayList<>();
    private Connection connection;

    @BeforeEach
    void connect() throws SQLException {
        connection = server.connect();
    }

    @AfterEach
    void close() throws SQLException {
        connection.close();
        database.close();
        server.close();
    }

    /** A clock that a test turns forward. */
    private static final class Hand implements Clock {
        private long nanos;

        @Override
        public Instant now() {
            return Instant.EPOCH.plusNanos(nanos);
        }

        @Override
        public long nanos() {
            return nanos;
        }

        void turn(Duration time) {
            nanos += time.toNanos();
        }
    }

    /** A job of a broker: what it does in a step, and what there is to do. */
    private final class Scripted implements Job {
        private final String name;
        private final String broker;
        private final BooleanSupplier work;
        private final BooleanSupplier step;
        private final Duration period;

        Scripted(String name, String broker, BooleanSupplier work, BooleanSupplier step) {
            this(name, broker, Duration.ofSeconds(10), work, step);
        }

        Scripted(
                String name,
                String broker,
                Duration period,
                BooleanSupplier work,
                BooleanSupplier step) {
            this.name = name;
            this.broker = broker;
            this.period = period;
            this.work = work;
            this.step = step;
        }

        @Override
        public String name() {
            return name;
        }

        @Override
        public Duration period() {
            return period;
        }

        @Override
        public boolean hasWork() {
            return work.getAsBoolean();
        }

        @Override
        public boolean step() {
            done.add(name + " by " + broker);
            return step.getAsBoolean();
        }
    }

    private JobRunner broker(Clock clock, Job... jobs) {
        return broker(new Metrics(), clock, jobs);
    }

    private JobRunner broker(Metrics meters, Clock clock, Job... jobs) {
        return new JobRunner(
                List.of(jobs), new JobProcedures(database), MaintainConfig.DEFAULT, meters, clock);
    }

    private Job job(String name, String broker, BooleanSupplier step) {
        return new Scripted(name, broker, () -> true, step);
    }

    private @Nullable Object value(String column) throws SQLException {
        return TestDatabase.rows(
                        connection, "select " + column + " from queen_store.jobs where name = 'j'")
                .getFirst()[0];
    }

    private void run(String sql) {
        try {
            TestDatabase.rows(connection, sql);
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aJobIsRunByOneBrokerAtATimeAndBySomebodyElseWhenItsTimeHasCome() throws SQLException {
        Hand clock = new Hand();
        JobRunner second = broker(clock, job("j", "second", () -> false));
        JobRunner first =
                broker(
                        clock,
                        job(
                                "j",
                                "first",
                                () -> {
                                    second.run();
                                    return false;
                                }));
        first.run();
        assertEquals(List.of("j by first"), done);

        clock.turn(Duration.ofSeconds(12));
        second.run();
        assertEquals(List.of("j by first"), done, "not due yet, by the clock of the database");

        run("update queen_store.jobs set next_due_at = clock_timestamp()");
        clock.turn(Duration.ofSeconds(12));
        second.run();
        assertEquals(List.of("j by first", "j by second"), done);
        assertEquals(2L, value("runs"));
        assertEquals(2L, value("fence"));
    }

    @Test
    void anotherBrokerTakesOverWhenTheLeaseRunsOutAndTheFirstOneChangesNothingThen()
            throws SQLException {
        Hand clock = new Hand();
        List<Object> leases = new ArrayList<>();
        JobRunner second =
                broker(
                        clock,
                        job(
                                "j",
                                "second",
                                () -> {
                                    leases.add(lease());
                                    return false;
                                }));
        Metrics metrics = new Metrics();
        JobRunner first =
                broker(
                        metrics,
                        clock,
                        job(
                                "j",
                                "first",
                                () -> {
                                    // Paused for longer than its lease.
                                    run(
                                            "update queen_store.jobs set lease_until ="
                                                    + " clock_timestamp() - interval '1 ms'");
                                    second.run();
                                    clock.turn(Duration.ofSeconds(30));
                                    return true;
                                }));
        first.run();
        assertEquals(List.of("j by first", "j by second"), done);
        assertEquals(1, leases.size());
        assertEquals(1L, value("runs"), "the run that was overtaken is nobody's");
        assertEquals(2L, value("fence"));
        assertEquals(
                1,
                metrics.counter(
                                "queen_maintain_leases_lost_total",
                                "Runs that another broker took over before they ended.",
                                "job",
                                "j")
                        .count());
    }

    private Object lease() {
        try {
            return List.of(value("holder"), value("lease_until"));
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aLongRunKeepsItsLeaseAndEndsWhenItIsLost() throws SQLException {
        Hand clock = new Hand();
        List<Object> leases = new ArrayList<>();
        MaintainConfig defaults = MaintainConfig.DEFAULT;
        MaintainConfig config =
                new MaintainConfig(
                        defaults.retentionInterval(),
                        defaults.retentionBatchSize(),
                        defaults.partitionCleanup(),
                        defaults.partitionCleanupInterval(),
                        defaults.partitionCleanupAge(),
                        defaults.historyAge(),
                        defaults.traceAge(),
                        Duration.ofSeconds(60),
                        Duration.ofHours(1),
                        defaults.epochs(),
                        defaults.statistics());
        JobRunner runner =
                new JobRunner(
                        List.of(
                                job(
                                        "j",
                                        "first",
                                        () -> {
                                            leases.add(lease());
                                            if (done.size() == 3) {
                                                run(
                                                        "update queen_store.jobs set fence = fence"
                                                                + " + 1");
                                            }
                                            clock.turn(Duration.ofSeconds(21));
                                            return done.size() < 5;
                                        })),
                        new JobProcedures(database),
                        config,
                        new Metrics(),
                        clock);
        runner.run();
        assertEquals(3, done.size());
        assertEquals(3, leases.stream().distinct().count(), "prolonged before each step");
        assertEquals(0L, value("runs"));
    }

    @Test
    void whereThereIsNothingToDoNoRowChanges() throws SQLException {
        Hand clock = new Hand();
        JobRunner runner = broker(clock, new Scripted("j", "first", () -> false, () -> false));
        runner.run();
        Object before = value("xmin::text");
        for (int i = 0; i < 3; i++) {
            clock.turn(Duration.ofSeconds(12));
            runner.run();
            broker(clock, new Scripted("j", "second", () -> false, () -> false)).run();
        }
        assertEquals(List.of(), done);
        assertEquals(before, value("xmin::text"));
        assertEquals(0L, value("fence"));
    }

    @Test
    void aJobThatFailsIsTriedAgainAfterAPauseAndTheOthersGoOn() throws SQLException {
        Hand clock = new Hand();
        JobRunner runner =
                broker(
                        clock,
                        job(
                                "j",
                                "first",
                                () -> {
                                    if (done.stream().filter(d -> d.startsWith("j")).count() < 3) {
                                        throw new IllegalStateException("it is broken");
                                    }
                                    return false;
                                }),
                        job("k", "first", () -> false));
        runner.run();
        assertEquals(List.of("j by first", "k by first"), done);
        assertEquals("java.lang.IllegalStateException: it is broken", value("last_error"));
        assertNull(value("lease_until"));
        runner.run();
        assertEquals(2, done.size(), "no second try without a pause");

        clock.turn(Duration.ofSeconds(12));
        runner.run();
        assertEquals(2L, value("failures"));
        clock.turn(Duration.ofSeconds(23));
        runner.run();
        assertEquals(3L, value("runs"));
        assertEquals(2L, value("failures"));
        assertNull(value("last_error"));
        assertEquals(true, value("last_error_at is not null"));
    }

    /** Readiness follows it: what is the matter with the job itself, not with what is around it. */
    @Test
    void aJobThatFailsForLongIsOverdueUntilItRunsOrIsPaused() throws SQLException {
        Hand clock = new Hand();
        Metrics metrics = new Metrics();
        List<RuntimeException> failures = new ArrayList<>();
        JobRunner runner =
                broker(
                        metrics,
                        clock,
                        job(
                                "j",
                                "first",
                                () -> {
                                    throw failures.getFirst();
                                }));
        failures.add(new QueenException(Failure.DATABASE_AWAY, "away"));
        for (int i = 0; i < 10; i++) {
            runner.run();
            clock.turn(Duration.ofMinutes(6));
        }
        assertEquals(List.of(), Overdue.names(metrics), "an outage is not its fault");

        failures.set(0, new IllegalStateException("it is broken"));
        runner.run();
        clock.turn(Duration.ofMinutes(2));
        assertEquals(List.of(), Overdue.names(metrics), "it may pass");
        clock.turn(Duration.ofMinutes(4));
        runner.run();
        assertEquals(List.of("job j"), Overdue.names(metrics));

        run("update queen_store.jobs set enabled = false");
        clock.turn(Duration.ofMinutes(6));
        runner.run();
        assertEquals(List.of(), Overdue.names(metrics), "an operator knows");
    }

    /** A quarter of an hour without a look is an alarm. */
    @Test
    void howeverSeldomAJobRunsItIsLookedAtEveryFewMinutes() throws SQLException {
        Hand clock = new Hand();
        Metrics metrics = new Metrics();
        JobRunner runner =
                broker(
                        metrics,
                        clock,
                        new Scripted("j", "a", Duration.ofHours(24), () -> true, () -> false),
                        new Scripted("idle", "a", Duration.ofHours(24), () -> false, () -> false));
        for (int i = 0; i < 12; i++) {
            runner.run();
            assertEquals(0, metrics.value("queen_job_last_success_age_seconds"), i + " looks");
            clock.turn(Duration.ofMinutes(7));
        }
        assertEquals(1L, value("runs"), "it ran no more often for that");
    }

    /** However much there is to do: it is at work. */
    @Test
    void aRunnerSaysAfterEachJobThatItIsAtWork() {
        Hand clock = new Hand();
        JobRunner runner =
                broker(
                        clock,
                        job(
                                "j",
                                "first",
                                () -> {
                                    clock.turn(Duration.ofMinutes(1));
                                    return done.size() < 3;
                                }));
        List<Integer> steps = new ArrayList<>();
        runner.run(() -> steps.add(done.size()));
        assertEquals(List.of(1, 2, 3), steps);
    }

    @Test
    void aJobWithMuchToDoGivesWayToTheOthers() throws SQLException {
        Hand clock = new Hand();
        JobRunner runner =
                broker(
                        clock,
                        job(
                                "j",
                                "first",
                                () -> {
                                    clock.turn(Duration.ofMillis(1_500));
                                    return done.size() < 7;
                                }),
                        job("k", "first", () -> done.size() < 6));
        runner.run();
        assertEquals(
                List.of("j", "j", "k", "k", "k", "k", "j"),
                done.stream().map(d -> d.substring(0, 1)).toList());
        assertEquals(2L, value("runs"));
    }

    @Test
    void aStopInTheMidstOfAStepGivesTheLeaseBack() throws SQLException, InterruptedException {
        CountDownLatch started = new CountDownLatch(1);
        CountDownLatch never = new CountDownLatch(1);
        JobRunner runner =
                broker(
                        Clock.SYSTEM,
                        job(
                                "j",
                                "first",
                                () -> {
                                    started.countDown();
                                    try {
                                        never.await();
                                    } catch (InterruptedException e) {
                                        Thread.currentThread().interrupt();
                                        throw new IllegalStateException("cut short", e);
                                    }
                                    return false;
                                }));
        Thread thread =
                Thread.ofVirtual()
                        .start(() -> assertThrows(IllegalStateException.class, runner::run));
        started.await();
        thread.interrupt();
        thread.join();
        assertNull(value("lease_until"));
        assertNull(value("last_error"), "that is no failure");
        assertEquals(1L, value("runs"));
        assertEquals(true, value("next_due_at <= clock_timestamp()"), "what was left is due");
    }

    @Test
    void aPausedJobIsRunByNobodyAndAMissingRowIsMadeAgain() throws SQLException {
        Hand clock = new Hand();
        JobRunner runner = broker(clock, job("j", "first", () -> false));
        new JobProcedures(database).register(List.of(job("j", "first", () -> false)));
        run("update queen_store.jobs set enabled = false");
        runner.run();
        assertEquals(List.of(), done);

        run("delete from queen_store.jobs");
        for (int i = 0; i < 2; i++) {
            clock.turn(Duration.ofSeconds(12));
            runner.run();
        }
        assertEquals(List.of("j by first"), done);
    }
}
