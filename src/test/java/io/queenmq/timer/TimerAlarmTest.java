package io.queenmq.timer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.hint.HintOutbox;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.Await;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** Whom a scheduled message wakes, and who is told of it. */
class TimerAlarmTest {
    private static final Instant NOW = Instant.parse("2026-11-30T10:00:00Z");

    private final HintOutbox outbox = new HintOutbox();
    private Instant now = NOW;
    private final Clock clock =
            new Clock() {
                @Override
                public Instant now() {
                    return now;
                }

                @Override
                public long nanos() {
                    return System.nanoTime();
                }
            };
    private final TimerAlarm alarm = new TimerAlarm(outbox, clock);

    @Test
    void whatHasPassedIsJudgedByTheClockOfTheDatabase() throws InterruptedException {
        alarm.scheduled(NOW.plusSeconds(60));
        alarm.scheduled(NOW.plusSeconds(61));
        assertEquals(
                "t:" + NOW.plusSeconds(60).toEpochMilli(),
                outbox.takeAll(),
                "the earlier of two: whoever has not looked tells of all");
        look(NOW.plusSeconds(50));
        alarm.scheduled(NOW.plusSeconds(70));
        assertEquals("", outbox.takeAll());
        look(NOW.plusSeconds(62));
        alarm.scheduled(NOW.plusSeconds(70));
        assertEquals("t:" + NOW.plusSeconds(70).toEpochMilli(), outbox.takeAll());
    }

    /** At which the database's clock shows this, and a timer is due. */
    private void look(Instant readAt) throws InterruptedException {
        alarm.await(0, readAt, clock.nanos(), readAt, Duration.ZERO);
    }

    @Test
    void othersAreToldOfATimeOnlyIfTheyKnowOfNoneAsEarly() throws InterruptedException {
        look(NOW);
        alarm.scheduled(NOW.plusSeconds(60));
        assertEquals("t:" + NOW.plusSeconds(60).toEpochMilli(), outbox.takeAll());
        alarm.scheduled(NOW.plusSeconds(60));
        alarm.scheduled(NOW.plusSeconds(61));
        assertEquals("", outbox.takeAll());
        alarm.scheduled(NOW.plusSeconds(59));
        assertEquals("t:" + NOW.plusSeconds(59).toEpochMilli(), outbox.takeAll());
        alarm.heard(NOW.plusSeconds(10).toEpochMilli());
        alarm.scheduled(NOW.plusSeconds(11));
        assertEquals("", outbox.takeAll(), "whoever told us told all");
        now = NOW.plusSeconds(10);
        alarm.scheduled(NOW.plusSeconds(90));
        assertEquals(
                "t:" + NOW.plusSeconds(90).toEpochMilli(),
                outbox.takeAll(),
                "what was told has passed");
    }

    @Test
    void aSleeperIsWokenByAnEarlierTimerAndByNobodyElse() throws Exception {
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            alarm.looking();
            AtomicReference<Thread> thread = new AtomicReference<>();
            AtomicBoolean told = new AtomicBoolean();
            Future<Boolean> sleeper =
                    threads.submit(
                            () -> {
                                thread.set(Thread.currentThread());
                                alarm.await(
                                        0,
                                        NOW,
                                        clock.nanos(),
                                        NOW.plus(Duration.ofHours(2)),
                                        Duration.ofHours(1));
                                return told.get();
                            });
            awaitAsleep(thread);
            alarm.heard(NOW.plus(Duration.ofHours(3)).toEpochMilli());
            awaitAsleep(thread);
            told.set(true);
            alarm.scheduled(NOW);
            assertTrue(sleeper.get(), "it was woken by the earlier one");
        }
    }

    private static void awaitAsleep(AtomicReference<Thread> thread) {
        Await.until(
                "a sleeper",
                () ->
                        thread.get() != null
                                && thread.get().getState() == Thread.State.TIMED_WAITING);
    }

    @Test
    void whatIsToldWhileTheSweeperLooksIsNotForgotten() throws InterruptedException {
        long asked = alarm.looking();
        alarm.scheduled(NOW);
        alarm.await(asked, NOW, clock.nanos(), null, Duration.ofHours(1));
        asked = alarm.looking();
        alarm.look();
        assertEquals(asked + 1, alarm.looking(), "another one looks");
        alarm.await(asked, NOW, clock.nanos(), null, Duration.ofHours(1));
    }
}
