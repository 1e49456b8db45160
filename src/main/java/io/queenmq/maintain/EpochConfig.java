package io.queenmq.maintain;

import java.time.Duration;

/**
 * When the log goes on to another table, and when an old one is emptied so that it can leave.
 *
 * @param period from one look to the next
 * @param rowsMax segments after which appends go to a new epoch: the index that they write to stays
 *     in memory
 * @param bytesMax bytes after which they do, while at most half of the epochs are in use
 * @param ageMax age after which they do, likewise
 * @param epochsMax epochs in all; a read that does not know where to look probes each
 * @param livePercent an epoch is emptied when at most this share of its rows and bytes is alive
 * @param readMax segments that one step looks at
 * @param moveMax segments that one step moves
 * @param moveBytesMax bytes that one step moves, unless a single segment is larger; their lanes are
 *     locked as long
 */
public record EpochConfig(
        Duration period,
        long rowsMax,
        long bytesMax,
        Duration ageMax,
        int epochsMax,
        int livePercent,
        int readMax,
        int moveMax,
        long moveBytesMax) {

    public static final EpochConfig DEFAULT =
            new EpochConfig(
                    Duration.ofSeconds(10),
                    5_000_000,
                    32L << 30,
                    Duration.ofDays(1),
                    16,
                    10,
                    2_000,
                    1_000,
                    4L << 20);

    public EpochConfig {
        if (rowsMax < 1 || bytesMax < 1 || readMax < 1 || moveMax < 1 || moveBytesMax < 1) {
            throw new IllegalArgumentException("bounds of epochs must be at least 1");
        }
        // Evacuated, leaving, sealed, open and next.
        if (epochsMax < 5) {
            throw new IllegalArgumentException("epochsMax must be at least 5, got " + epochsMax);
        }
        if (livePercent < 0 || livePercent > 100) {
            throw new IllegalArgumentException(
                    "livePercent must be from 0 to 100, got " + livePercent);
        }
    }

    /** The same with other bounds of an epoch. */
    public EpochConfig withBounds(long rows, long bytes, Duration age) {
        return new EpochConfig(
                period, rows, bytes, age, epochsMax, livePercent, readMax, moveMax, moveBytesMax);
    }
}
