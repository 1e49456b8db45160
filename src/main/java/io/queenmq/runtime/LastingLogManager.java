package io.queenmq.runtime;

import java.util.logging.LogManager;

/**
 * Logs to the end. The usual one takes all handlers away when the process is told to stop, beside
 * whatever else stops then: what a broker has to say of its own end would be lost. Made by Java's
 * logging itself, which finds it by its name.
 */
public final class LastingLogManager extends LogManager {
    /** Called by Java's logging. */
    public LastingLogManager() {}

    /** Called when the process is told to stop. */
    @Override
    public void reset() {
        // Lines are written as they come: there is nothing to flush.
    }

    /** Takes all handlers away. */
    void clear() {
        super.reset();
    }
}
