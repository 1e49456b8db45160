package io.queenmq.queue;

import java.time.Duration;

/**
 * Settings of the queue room.
 *
 * @param defaultMode what a configure call without a mode does
 * @param cacheRefresh after that long the options of a queue are read again
 * @param queuesMax queues whose options are kept
 * @param laneCacheBytes memory for the names of lanes
 * @param provisionRoomMax lanes whose creation may wait
 */
public record QueueConfig(
        Queues.Mode defaultMode,
        Duration cacheRefresh,
        int queuesMax,
        long laneCacheBytes,
        int provisionRoomMax) {

    public static QueueConfig defaults() {
        return new QueueConfig(
                Queues.Mode.REPLACE, Duration.ofSeconds(60), 100_000, 128L << 20, 1_000_000);
    }
}
