package io.queenmq.pop;

import io.queenmq.combine.CombinerConfig;
import java.time.Duration;

/**
 * Bounds of pops.
 *
 * @param messagesMax most messages in one answer, whatever the batch
 * @param bytesMax most bytes of segments in one answer, or one segment if that is larger
 * @param inlineBytes most bytes of segments that a claim itself returns per pop; the rest is read
 *     after its commit
 * @param lanesMax most lanes in one claim of one pop
 * @param flushers threads that claim, for each kind of claim
 * @param popsPerCall most pops in one claim
 * @param autopilot how it is chosen what pops leave to the broker
 */
public record PopConfig(
        int messagesMax,
        int bytesMax,
        int inlineBytes,
        int lanesMax,
        int flushers,
        int popsPerCall,
        AutopilotConfig autopilot) {

    public static final PopConfig DEFAULT =
            new PopConfig(10_000, 16 << 20, 1 << 20, 64, 2, 32, AutopilotConfig.DEFAULT);

    /** The same with another autopilot. */
    public PopConfig with(AutopilotConfig other) {
        return new PopConfig(
                messagesMax, bytesMax, inlineBytes, lanesMax, flushers, popsPerCall, other);
    }

    /** What one call takes, in the terms of a combiner: keys are pops, items are lanes. */
    CombinerConfig combiner(String name) {
        return new CombinerConfig(
                name,
                flushers,
                1,
                new CombinerConfig.Call(
                        popsPerCall, popsPerCall * lanesMax, Integer.MAX_VALUE, Integer.MAX_VALUE),
                new CombinerConfig.Room(200_000, 1L << 30, 1, 100_000, Duration.ofSeconds(5)),
                Duration.ofSeconds(1));
    }
}
