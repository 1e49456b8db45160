package io.queenmq.ready;

import java.time.Duration;

/**
 * Bounds of the ready lanes.
 *
 * @param waitersMax polls parked at once; the next one is refused
 * @param heldRevisit a lane under a lease that another broker gave is looked at again at its
 *     expiry, but after this long at the latest: its release may not have been heard of
 * @param busyRevisit a lane whose row was locked is looked at again after this
 * @param deferredRevisit a lane whose next message is delayed is looked at again when it becomes
 *     visible, but after this long at the latest: the delay may have been lowered
 * @param floor every (queue, group) in use is read from the tables again after this
 * @param idle a (queue, group) without pops for this long is forgotten
 * @param seedPage lanes per page of such a reading
 */
public record ReadyConfig(
        int waitersMax,
        Duration heldRevisit,
        Duration busyRevisit,
        Duration deferredRevisit,
        Duration floor,
        Duration idle,
        int seedPage) {

    public static final ReadyConfig DEFAULT =
            new ReadyConfig(
                    100_000,
                    Duration.ofSeconds(1),
                    Duration.ofMillis(250),
                    Duration.ofSeconds(30),
                    Duration.ofMinutes(10),
                    Duration.ofMinutes(10),
                    10_000);

    public ReadyConfig {
        if (waitersMax < 1 || seedPage < 1) {
            throw new IllegalArgumentException("waitersMax and seedPage must be at least 1");
        }
    }
}
