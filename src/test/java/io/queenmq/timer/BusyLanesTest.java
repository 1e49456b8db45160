package io.queenmq.timer;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

/** How long a lane that others hold is waited for, and its timers are left alone. */
class BusyLanesTest {
    private final AtomicLong nanos = new AtomicLong();

    private final Clock clock =
            new Clock() {
                @Override
                public Instant now() {
                    return Instant.EPOCH.plusNanos(nanos.get());
                }

                @Override
                public long nanos() {
                    return nanos.get();
                }
            };

    private final BusyLanes lanes = new BusyLanes(TimersConfig.DEFAULT, clock);

    private static LaneBatch lane(String partition) {
        return new LaneBatch(new UUID(0, 1), "q", partition, false, 1, List.of(), List.of());
    }

    @Test
    void whatWasWaitedForThreeTimesInVainIsOnlyAskedForAWhileAndThenWaitedForAgain() {
        LaneBatch held = lane("held");
        for (int i = 0; i < 3; i++) {
            assertTrue(lanes.mayBeWaitedFor(held), i + " waits");
            lanes.waitedInVain(held);
        }
        assertFalse(lanes.mayBeWaitedFor(held));
        assertTrue(lanes.mayBeWaitedFor(lane("free")));
        nanos.addAndGet(Duration.ofMillis(2_001).toNanos());
        assertTrue(lanes.mayBeWaitedFor(held));
        assertEquals(TimersConfig.DEFAULT.busyPause(), lanes.pause(held));
    }

    @Test
    void pausesDoubleUpToABoundAndBeginAnewOnceItFires() {
        LaneBatch held = lane("held");
        for (int ms : new int[] {20, 40, 80, 160, 320, 320, 320}) {
            assertEquals(Duration.ofMillis(ms), lanes.pause(held));
            lanes.waitedInVain(held);
        }
        lanes.fired(held);
        assertEquals(Duration.ofMillis(20), lanes.pause(held));
        assertTrue(lanes.mayBeWaitedFor(held));
    }
}
