package io.queenmq.timer;

import io.queenmq.runtime.Clock;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * How many messages of each tenant this broker may deliver: so many a second, and as many at once
 * after a pause. Any thread.
 */
final class FireRates {
    private record Level(double tokens, long atNanos) {}

    private final int perSecond;
    private final Clock clock;

    /** Guards what is below. */
    private final ReentrantLock levelsLock = new ReentrantLock();

    /** Of tenants that have not all of theirs. */
    private final Map<UUID, Level> levels = new HashMap<>();

    /**
     * @param perSecond 0 = as many as are due
     */
    FireRates(int perSecond, Clock clock) {
        this.perSecond = perSecond;
        this.clock = clock;
    }

    /** How many one tenant may have that is not told of otherwise; null = any number. */
    @Nullable Integer most() {
        return perSecond == 0 ? null : perSecond;
    }

    /** How many of theirs tenants have left that have had some. */
    Map<UUID, Integer> left() {
        levelsLock.lock();
        try {
            long now = clock.nanos();
            levels.values().removeIf(level -> tokens(level, now) >= perSecond);
            Map<UUID, Integer> left = HashMap.newHashMap(levels.size());
            levels.forEach(
                    (tenant, level) -> left.put(tenant, (int) Math.max(0, tokens(level, now))));
            return left;
        } finally {
            levelsLock.unlock();
        }
    }

    /** So many of a tenant were delivered. */
    void delivered(UUID tenant, int messages) {
        if (perSecond == 0) {
            return;
        }
        levelsLock.lock();
        try {
            long now = clock.nanos();
            Level last = levels.get(tenant);
            double tokens = last == null ? perSecond : Math.min(perSecond, tokens(last, now));
            levels.put(tenant, new Level(tokens - messages, now));
        } finally {
            levelsLock.unlock();
        }
    }

    private double tokens(Level level, long now) {
        double seconds = (double) (now - level.atNanos()) / TimeUnit.SECONDS.toNanos(1);
        return level.tokens() + seconds * perSecond;
    }
}
