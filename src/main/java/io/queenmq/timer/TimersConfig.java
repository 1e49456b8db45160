package io.queenmq.timer;

import java.time.Duration;

/**
 * Bounds of timers.
 *
 * @param payloadBytesMax longest payload of one
 * @param horizon how far ahead one may be scheduled
 * @param operationsMax most operations of one request
 * @param fires whether this broker delivers what is due, whoever scheduled it
 * @param idleSleepMax longest time from one look for due timers to the next, while other brokers
 *     and the SQL API can be heard; how late one may be that nobody has told of
 * @param deafSleepMax the same while nobody can be heard
 * @param lease how long a claim lasts; so late may a timer be whose broker was killed as it
 *     delivered it
 * @param claimBatch most timers of one commit
 * @param cycleMax most timers from one look at the clock to the next
 * @param dueMax how far due timers are counted
 * @param fireBytesMax most bytes of payload of one commit
 * @param attemptsMax how often a timer may fail for a reason of its own
 * @param pauseMin pause after the first such failure; doubles with each
 * @param pauseMax longest such pause
 * @param parallelism sweepers at work at once
 * @param isolates whether timers are tried one by one where one of a commit cannot be stored; else
 *     all of them are charged an attempt
 * @param fireRate messages of one tenant a second; 0 = as many as are due
 * @param busyPause pause of timers whose lane was held by somebody else; doubles with each time
 * @param busyPauseMax longest such pause
 * @param busyWait how long one commit's lanes that are held are waited for, all together
 */
public record TimersConfig(
        int payloadBytesMax,
        Duration horizon,
        int operationsMax,
        boolean fires,
        Duration idleSleepMax,
        Duration deafSleepMax,
        Duration lease,
        int claimBatch,
        int cycleMax,
        int dueMax,
        int fireBytesMax,
        int attemptsMax,
        Duration pauseMin,
        Duration pauseMax,
        int parallelism,
        boolean isolates,
        int fireRate,
        Duration busyPause,
        Duration busyPauseMax,
        Duration busyWait) {

    /** A transaction holds the lanes of others, and so its timers are few. */
    private static final int RIDERS_MAX = 256;

    public static final TimersConfig DEFAULT =
            new TimersConfig(
                    1 << 20,
                    Duration.ofDays(90),
                    256,
                    true,
                    Duration.ofSeconds(30),
                    Duration.ofSeconds(1),
                    Duration.ofSeconds(30),
                    200,
                    5_000,
                    2_000,
                    8 << 20,
                    5,
                    Duration.ofSeconds(1),
                    Duration.ofSeconds(60),
                    1,
                    true,
                    0,
                    Duration.ofMillis(20),
                    Duration.ofMillis(320),
                    Duration.ofMillis(50));

    /** Most operations of one transaction. */
    public int ridersMax() {
        return Math.min(operationsMax, RIDERS_MAX);
    }
}
