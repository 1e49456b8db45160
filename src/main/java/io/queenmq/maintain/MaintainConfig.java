package io.queenmq.maintain;

import java.time.Duration;

/**
 * Settings of the background jobs.
 *
 * @param retentionInterval from one look for expired messages to the next
 * @param retentionBatchSize lanes that one step of expiry locks
 * @param partitionCleanup whether lanes that nobody uses are removed
 * @param partitionCleanupInterval from one look for such lanes to the next
 * @param partitionCleanupAge how long a lane has not been written then
 * @param historyAge how long the history of what was removed is kept
 * @param traceAge how long notes of applications are kept; zero = for ever
 * @param lease after that long without a word of the broker that runs a job another may take it
 *     over; longer than any step takes
 * @param slice a job with more to do gives way to the others after that long
 * @param epochs of the tables that the log is made of
 * @param statistics how fresh the counts are, and how often they are proved
 */
public record MaintainConfig(
        Duration retentionInterval,
        int retentionBatchSize,
        boolean partitionCleanup,
        Duration partitionCleanupInterval,
        Duration partitionCleanupAge,
        Duration historyAge,
        Duration traceAge,
        Duration lease,
        Duration slice,
        EpochConfig epochs,
        StatisticsConfig statistics) {

    public static final MaintainConfig DEFAULT =
            new MaintainConfig(
                    Duration.ofSeconds(5),
                    200,
                    true,
                    Duration.ofHours(1),
                    Duration.ofDays(30),
                    Duration.ofDays(90),
                    Duration.ZERO,
                    Duration.ofSeconds(60),
                    Duration.ofSeconds(2),
                    EpochConfig.DEFAULT,
                    StatisticsConfig.DEFAULT);

    public MaintainConfig {
        if (retentionBatchSize < 1) {
            throw new IllegalArgumentException(
                    "retentionBatchSize must be at least 1, got " + retentionBatchSize);
        }
    }

    /** The same with another slice. */
    MaintainConfig withSlice(Duration other) {
        return new MaintainConfig(
                retentionInterval,
                retentionBatchSize,
                partitionCleanup,
                partitionCleanupInterval,
                partitionCleanupAge,
                historyAge,
                traceAge,
                lease,
                other,
                epochs,
                statistics);
    }
}
