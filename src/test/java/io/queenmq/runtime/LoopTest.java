package io.queenmq.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.LogCapture;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class LoopTest {
    private final Metrics metrics = new Metrics();

    private Loop start(Duration pause, Loop.Step step) {
        return Loop.start("test", pause, step, metrics, Clock.SYSTEM);
    }

    @Test
    void survivesWhateverIsThrown() throws InterruptedException {
        double before = failures();
        AtomicInteger runs = new AtomicInteger();
        CountDownLatch fourth = new CountDownLatch(1);
        try (Loop loop =
                start(
                        Duration.ZERO,
                        () -> {
                            switch (runs.incrementAndGet()) {
                                case 1 -> throw new IllegalStateException("first");
                                case 2 -> throw new StackOverflowError("second");
                                case 3 -> throw new InterruptedException("third, not ours");
                                default -> fourth.countDown();
                            }
                        })) {
            fourth.await();
            assertEquals("test", loop.name());
        }
        assertEquals(2, failures() - before);
    }

    /** A person on call reads an outage once, and not a stack per loop. */
    @Test
    void aRefusalThatMayPassIsALineAndAnOutageIsToldOnce() throws InterruptedException {
        try (LogCapture log = new LogCapture()) {
            String all =
                    logged(
                            log,
                            new QueenException(
                                    Failure.DATABASE_AWAY,
                                    "the database cannot be reached",
                                    new IllegalStateException(
                                            "outer", new IllegalStateException("refused\nmore"))),
                            new QueenException(Failure.DATABASE_AWAY, "still"));
            String lines =
                    String.join("\n", all.lines().filter(l -> l.contains("loop=test")).toList());
            assertEquals(
                    """
                    WARNING background loop failed, it goes on loop=test\
                     error=the database cannot be reached: refused
                    FINE background loop failed again, it goes on loop=test times=2 error=still"""
                            .replace(" background", " io.queenmq.runtime.Loop background"),
                    lines);
            assertFalse(all.contains("\tat "), all);
        }
        try (LogCapture log = new LogCapture()) {
            StartRefused refused =
                    new StartRefused("it does not start", new IllegalStateException());
            String all = logged(log, refused, refused);
            assertTrue(all.contains("it goes on loop=test error=it does not start\n"), all);
            assertTrue(all.contains("loop=test times=2 error=it does not start\n"), all);
            assertFalse(all.contains("\tat "), all);
        }
        try (LogCapture log = new LogCapture()) {
            String all = logged(log, new IllegalStateException("a bug"));
            assertTrue(all.contains("WARNING io.queenmq.runtime.Loop background loop failed"), all);
            assertTrue(all.contains("\tat io.queenmq.runtime.LoopTest"), all);
        }
    }

    /** Whatever else fails before it: without its stack nobody finds it. */
    @Test
    void eachKindOfFailureIsToldInFullOnceUntilTheNextSuccess() throws InterruptedException {
        QueenException away = new QueenException(Failure.DATABASE_AWAY, "away");
        try (LogCapture log = new LogCapture()) {
            String all =
                    logged(
                            log,
                            away,
                            new IllegalStateException("a bug"),
                            away,
                            new IllegalStateException("a bug"),
                            new QueenException(Failure.INTERNAL, "another"),
                            new QueenException(Failure.INTERNAL, "another"));
            assertEquals(
                    List.of(
                            "WARNING failed, it goes on loop=test error=away: away",
                            "WARNING failed, it goes on loop=test",
                            "java.lang.IllegalStateException: a bug",
                            "FINE failed again, it goes on loop=test times=3 error=away",
                            "WARNING failed again, it goes on loop=test times=4"
                                    + " error=java.lang.IllegalStateException: a bug",
                            "WARNING failed, it goes on loop=test",
                            new QueenException(Failure.INTERNAL, "another").toString(),
                            "WARNING failed again, it goes on loop=test times=6 error="
                                    + new QueenException(Failure.INTERNAL, "another")),
                    all.replace("io.queenmq.runtime.Loop background loop ", "")
                            .lines()
                            .filter(line -> !line.startsWith("\t"))
                            .toList());
        }
    }

    private String logged(LogCapture log, Exception... failures) throws InterruptedException {
        AtomicInteger runs = new AtomicInteger();
        CountDownLatch over = new CountDownLatch(1);
        try (Loop loop =
                start(
                        Duration.ZERO,
                        () -> {
                            int run = runs.getAndIncrement();
                            if (run < failures.length) {
                                throw failures[run];
                            }
                            over.countDown();
                        })) {
            over.await();
            assertEquals("test", loop.name());
        }
        return log.text();
    }

    private double failures() {
        return metrics.counter(
                        "queen_runtime_loop_failures_total",
                        "Runs of a background loop that failed.",
                        "loop",
                        "test")
                .count();
    }

    @Test
    void runsAtOnceWhenWoken() throws InterruptedException {
        SynchronousQueue<Integer> runs = new SynchronousQueue<>();
        try (Loop loop = start(Duration.ofDays(1), () -> runs.put(1))) {
            for (int i = 0; i < 3; i++) {
                runs.take();
                loop.wake();
            }
        }
    }

    private static Clock hand(AtomicLong nanos) {
        return new Clock() {
            @Override
            public Instant now() {
                return Instant.EPOCH;
            }

            @Override
            public long nanos() {
                return nanos.get();
            }
        };
    }

    /** Ten periods, and never less than two minutes. */
    @ParameterizedTest
    @CsvSource({"1, 120", "60, 600"})
    void aRunThatDoesNotEndIsOverdueAfterTenPeriods(int periodSeconds, int mostSeconds)
            throws InterruptedException {
        AtomicLong nanos = new AtomicLong();
        CountDownLatch stuck = new CountDownLatch(1);
        try (Loop loop =
                Loop.start(
                        "test",
                        Duration.ofSeconds(periodSeconds),
                        stuck::await,
                        metrics,
                        hand(nanos))) {
            nanos.set(TimeUnit.SECONDS.toNanos(mostSeconds));
            assertEquals(0, overdue());
            nanos.incrementAndGet();
            assertEquals(1, overdue());
            stuck.countDown();
            Await.until("the end of the run", () -> overdue() == 0);
            assertEquals(Duration.ZERO, loop.sinceSuccess());
        }
    }

    /** Readiness finds out by itself that the database is away; a full pool is overload. */
    @ParameterizedTest
    @EnumSource(
            value = Failure.class,
            names = {"DATABASE_AWAY", "OUTCOME_UNKNOWN", "OVERLOADED", "DEADLINE", "INTERNAL"})
    void whatFailsForAReasonOfItsOwnIsOverdue(Failure failure) throws InterruptedException {
        AtomicLong nanos = new AtomicLong();
        SynchronousQueue<Integer> runs = new SynchronousQueue<>();
        try (Loop loop =
                Loop.start(
                        "test",
                        Duration.ZERO,
                        () -> {
                            runs.put(1);
                            nanos.addAndGet(TimeUnit.HOURS.toNanos(1));
                            throw new QueenException(failure, "on purpose");
                        },
                        metrics,
                        hand(nanos))) {
            runs.take();
            runs.take();
            runs.take();
            boolean own = failure == Failure.DEADLINE || failure == Failure.INTERNAL;
            Await.until(
                    "the run after it: the one before has been judged",
                    () -> overdue() == (own ? 1 : 0));
            assertEquals("test", loop.name());
        }
    }

    /**
     * A run that waits for the end of an outage by itself is not to be taken for one that hangs.
     */
    @Test
    void aStandingStepThatWaitsOutAnOutageIsNotOverdueAndHasNotSucceeded()
            throws InterruptedException {
        AtomicLong nanos = new AtomicLong();
        SynchronousQueue<String> steps = new SynchronousQueue<>();
        try (Loop loop =
                Loop.startStanding(
                        "test",
                        Duration.ZERO,
                        signs -> {
                            steps.put("begins");
                            signs.waitsOut();
                            steps.put("waits");
                            steps.put("goes on");
                        },
                        metrics,
                        hand(nanos))) {
            nanos.set(TimeUnit.HOURS.toNanos(1));
            steps.take();
            steps.take();
            assertEquals(0, overdue());
            assertEquals(Duration.ofHours(1), loop.sinceSuccess());
            nanos.addAndGet(TimeUnit.HOURS.toNanos(1));
            assertEquals(1, overdue());
        }
    }

    /** A sweeper without timers sleeps for an hour, if its settings say so. */
    @Test
    void aStandingStepMaySayNothingForAsLongAsItsSettingsSay() throws InterruptedException {
        AtomicLong nanos = new AtomicLong();
        SynchronousQueue<String> steps = new SynchronousQueue<>();
        try (Loop loop =
                Loop.startStanding(
                        "test",
                        Duration.ZERO,
                        Duration.ofHours(1),
                        signs -> {
                            steps.put("begins");
                            signs.run();
                            steps.put("sleeps");
                            steps.put("goes on");
                        },
                        metrics,
                        hand(nanos))) {
            steps.take();
            steps.take();
            nanos.addAndGet(TimeUnit.HOURS.toNanos(9));
            assertEquals(0, overdue());
            assertEquals(Duration.ofHours(9), loop.sinceSuccess());
            nanos.addAndGet(TimeUnit.HOURS.toNanos(2));
            assertEquals(1, overdue());
        }
    }

    private double overdue() {
        return metrics.value("queen_runtime_overdue", "work", "test");
    }

    @Test
    void aStandingStepSucceedsWheneverItSaysSo() throws InterruptedException {
        AtomicLong nanos = new AtomicLong();
        SynchronousQueue<String> steps = new SynchronousQueue<>();
        try (Loop loop =
                Loop.startStanding(
                        "test",
                        Duration.ZERO,
                        atWork -> {
                            steps.put("begins");
                            atWork.run();
                            steps.put("works");
                            steps.put("goes on");
                        },
                        metrics,
                        hand(nanos))) {
            nanos.set(60_000_000_000L);
            assertEquals("begins", steps.take());
            assertEquals("works", steps.take());
            assertEquals(Duration.ZERO, loop.sinceSuccess());
        }
    }

    @Test
    void closeInterruptsTheRunUnderWay() throws InterruptedException {
        CountDownLatch began = new CountDownLatch(1);
        Loop loop =
                start(
                        Duration.ZERO,
                        () -> {
                            began.countDown();
                            new CountDownLatch(1).await();
                        });
        began.await();
        loop.close();
        assertTrue(loop.sinceSuccess().compareTo(Duration.ZERO) >= 0);
    }
}
