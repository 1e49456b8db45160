package io.queenmq.push;

import io.queenmq.combine.CombinerConfig;
import java.time.Duration;

/**
 * Settings of the push room.
 *
 * @param deadline after that long a push answers with what it knows; clients give up at 30 s
 * @param grace how much longer it waits for a call that is under way
 * @param lockTimeout how long a call for a single busy lane waits for it
 * @param hydrators lanes at a time whose keys are read back to be remembered; 0 = never
 * @param searchers lanes at a time whose keys are read because a push waits for that
 * @param combiner bounds of the flushers
 */
public record PushConfig(
        Duration deadline,
        Duration grace,
        Duration lockTimeout,
        int hydrators,
        int searchers,
        CombinerConfig combiner) {

    public static PushConfig defaults() {
        return new PushConfig(
                Duration.ofSeconds(25),
                Duration.ofSeconds(3),
                Duration.ofMillis(250),
                2,
                6,
                CombinerConfig.named("push"));
    }
}
