package io.queenmq.trace;

import java.time.Instant;
import java.util.List;

/**
 * Part of the names that notes have.
 *
 * @param total names there are, counted to {@link Traces#COUNTED_MAX}
 */
public record TraceNames(List<Name> names, long total) {
    /**
     * A name.
     *
     * @param traces notes that have it
     * @param messages that these are about
     * @param complete whether both are the whole number: counting has a bound
     */
    public record Name(
            String name, long traces, long messages, Instant lastSeen, boolean complete) {}
}
