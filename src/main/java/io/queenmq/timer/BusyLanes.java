package io.queenmq.timer;

import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;

/**
 * Lanes that somebody held when their timers were due. A push holds one for a millisecond, and then
 * waiting is the surest way in; an application may hold one for hours, and is asked again and
 * again, ever less often, without a wait. For one sweeper's thread.
 */
final class BusyLanes {
    private record Name(UUID tenant, String queue, String partition) {
        static Name of(LaneBatch lane) {
            return new Name(lane.tenant(), lane.queue(), lane.partition());
        }
    }

    /** How often in a row, and when last. */
    private record Busy(int times, long atNanos) {}

    /** What was held as often in a row, each time as long as it could be waited for, is held on. */
    private static final int WAITS = 3;

    private static final long REMEMBERED_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final TimersConfig config;
    private final Clock clock;
    private final Map<Name, Busy> lanes = new HashMap<>();

    BusyLanes(TimersConfig config, Clock clock) {
        this.config = config;
        this.clock = clock;
    }

    boolean mayBeWaitedFor(LaneBatch lane) {
        return times(lane) < WAITS;
    }

    /** How long its timers are left alone if it is busy now. */
    Duration pause(LaneBatch lane) {
        Duration pause = config.busyPause();
        for (int i = times(lane); i > 0 && pause.compareTo(config.busyPauseMax()) < 0; i--) {
            pause = pause.multipliedBy(2);
        }
        return pause.compareTo(config.busyPauseMax()) < 0 ? pause : config.busyPauseMax();
    }

    void busy(LaneBatch lane) {
        long now = clock.nanos();
        lanes.values().removeIf(busy -> now - busy.atNanos() > REMEMBERED_NANOS);
        lanes.put(Name.of(lane), new Busy(times(lane) + 1, now));
    }

    void fired(LaneBatch lane) {
        lanes.remove(Name.of(lane));
    }

    private int times(LaneBatch lane) {
        Busy busy = lanes.get(Name.of(lane));
        return busy == null ? 0 : busy.times();
    }
}
