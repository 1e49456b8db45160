package io.queenmq.ack;

import io.queenmq.combine.CombinerConfig;
import java.time.Duration;

/**
 * Bounds of acks.
 *
 * @param deliveriesBytesMax most bytes of keys remembered of what was delivered and not yet
 *     acknowledged; what is forgotten is looked up by key instead
 * @param batchesPerCall most whole batches in one call
 * @param messagesPerCall most single messages in one call
 * @param flushers threads that acknowledge, for each of the two ways
 * @param patience longest time an ack waits for its turn
 */
public record AckConfig(
        long deliveriesBytesMax,
        int batchesPerCall,
        int messagesPerCall,
        int flushers,
        Duration patience) {

    public static final AckConfig DEFAULT =
            new AckConfig(64L << 20, 512, 5_000, 2, Duration.ofSeconds(25));

    /** What one call takes, in the terms of a combiner: keys are cursors, items are messages. */
    CombinerConfig combiner(String name, int messages) {
        return new CombinerConfig(
                name,
                flushers,
                2,
                new CombinerConfig.Call(batchesPerCall, messages, 16 << 20, 16 << 20),
                new CombinerConfig.Room(5_000_000, 256L << 20, 16, 100_000, Duration.ofSeconds(5)),
                Duration.ofSeconds(1));
    }
}
