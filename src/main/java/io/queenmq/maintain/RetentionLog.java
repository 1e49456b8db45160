package io.queenmq.maintain;

import io.queenmq.runtime.Clock;
import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * Logs what a job removed: a line per round, or per minute of a long one, and none where nothing
 * went. For one thread.
 */
final class RetentionLog {
    private static final Logger LOG = System.getLogger(RetentionLog.class.getName());
    private static final Duration LINE_MAX = Duration.ofMinutes(1);

    private final Clock clock;
    private @Nullable RetentionRun run;
    private long startNanos;

    RetentionLog(Clock clock) {
        this.clock = clock;
    }

    /** What the next step is added to. */
    RetentionRun beforeStep() {
        RetentionRun known = run;
        if (known != null) {
            return known;
        }
        RetentionRun begun = new RetentionRun();
        run = begun;
        startNanos = clock.nanos();
        return begun;
    }

    /**
     * @param more whether the round goes on
     */
    void afterStep(boolean more) {
        Duration elapsed = Duration.ofNanos(clock.nanos() - startNanos);
        if (run != null && (!more || elapsed.compareTo(LINE_MAX) >= 0)) {
            run.line(elapsed).ifPresent(line -> LOG.log(Level.INFO, line));
            run = null;
        }
    }
}
