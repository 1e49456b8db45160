package io.queenmq.maintain;

import java.time.Duration;

/**
 * Settings of the background jobs.
 *
 * @param retentionInterval from one look for expired messages to the next
 * @param lease after that long without a word of the broker that runs a job another may take it
 *     over; longer than any step takes
 * @param slice a job with more to do gives way to the others after that long
 * @param epochs of the tables that the log is made of
 */
public record MaintainConfig(
        Duration retentionInterval, Duration lease, Duration slice, EpochConfig epochs) {

    public static final MaintainConfig DEFAULT =
            new MaintainConfig(
                    Duration.ofSeconds(5),
                    Duration.ofSeconds(60),
                    Duration.ofSeconds(2),
                    EpochConfig.DEFAULT);
}
