package io.queenmq.timer;

import io.queenmq.runtime.Clock;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * Lanes that were waited for in vain. A push holds one for a millisecond, and then waiting is the
 * surest way in; an application may hold one for hours, and is waited for some times in a row, then
 * only asked, and after a while waited for again. For one sweeper's thread.
 */
final class BusyLanes {
    /** How often in a row, and when last. */
    private record Vain(int times, long atNanos) {}

    private static final int WAITS = 3;
    private static final long REMEMBERED_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final TimersConfig config;
    private final Clock clock;
    private final Map<LaneBatch.Name, Vain> lanes = new HashMap<>();

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

    void waitedInVain(LaneBatch lane) {
        int times = times(lane);
        long now = clock.nanos();
        lanes.values().removeIf(vain -> now - vain.atNanos() > REMEMBERED_NANOS);
        lanes.put(lane.name(), new Vain(times + 1, now));
    }

    void fired(LaneBatch lane) {
        lanes.remove(lane.name());
    }

    private int times(LaneBatch lane) {
        Vain vain = lanes.get(lane.name());
        return vain == null || clock.nanos() - vain.atNanos() > REMEMBERED_NANOS ? 0 : vain.times();
    }
}
