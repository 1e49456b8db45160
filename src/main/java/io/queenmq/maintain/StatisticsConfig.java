package io.queenmq.maintain;

import java.time.Duration;

/**
 * Settings of the statistics.
 *
 * @param interval from one telling of a broker what it has counted to the next, the same on all of
 *     them; also from one adding up to the next
 * @param recountInterval from one walk over all lanes, which proves the sums, to the next
 * @param usageInterval from one measurement of keys and timers to the next, at least
 */
public record StatisticsConfig(
        Duration interval, Duration recountInterval, Duration usageInterval) {
    public static final StatisticsConfig DEFAULT =
            new StatisticsConfig(
                    Duration.ofSeconds(10), Duration.ofMinutes(10), Duration.ofMinutes(5));
}
