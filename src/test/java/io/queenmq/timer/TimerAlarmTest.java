package io.queenmq.timer;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.hint.HintOutbox;
import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
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
    void othersAreToldOfATimeOnlyIfTheyKnowOfNoneAsEarly() {
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
            Future<?> sleeper =
                    threads.submit(
                            () -> {
                                alarm.await(
                                        NOW,
                                        clock.nanos(),
                                        NOW.plus(Duration.ofHours(2)),
                                        Duration.ofHours(1));
                                return null;
                            });
            alarm.heard(NOW.plus(Duration.ofHours(3)).toEpochMilli());
            assertEquals(false, sleeper.isDone());
            alarm.scheduled(NOW);
            sleeper.get();
        }
    }

    @Test
    void whatIsToldWhileTheSweeperLooksIsNotForgotten() throws InterruptedException {
        alarm.looking();
        alarm.scheduled(NOW);
        alarm.await(NOW, clock.nanos(), null, Duration.ofHours(1));
        alarm.looking();
        alarm.look();
        alarm.await(NOW, clock.nanos(), null, Duration.ofHours(1));
    }
}
