package io.queenmq.db;

import io.queenmq.model.QueenException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What to do when the answer to a call was lost with its connection. First the old server process
 * is ended, so that nothing is decided behind our back; then the call is repeated, in a form that
 * finds out by itself whether it took effect before, until it is decided.
 */
public final class LostAnswer {
    private static final long FIRST_PAUSE_MS = 20;
    private static final long PAUSE_MAX_MS = 1_000;
    private static final Duration DECIDE_PATIENCE = Duration.ofSeconds(1);
    private static final Duration END_STEP = Duration.ofSeconds(5);

    private LostAnswer() {}

    /**
     * For a call that is not repeated: ends the old server process, if it can be reached in a
     * moment, so that whoever looks from now on sees what was decided.
     *
     * @return whether it is such a failure; else nothing has been done
     */
    public static boolean decide(Database database, QueenException failure) {
        if (!(failure.getCause() instanceof ConnectionLost lost)) {
            return false;
        }
        try {
            database.endBackend(lost.backend(), DECIDE_PATIENCE);
        } catch (QueenException e) {
            // Neither can a process that is out of our reach be ended: the first failure counts.
            failure.addSuppressed(e);
        }
        return true;
    }

    /**
     * Returns when there is nothing left to ask.
     *
     * @param lost whom the connection was to
     * @param done asked before every attempt
     * @param again repeats the call; may throw a refusal, which decides nothing
     */
    public static void settle(Database database, Backend lost, BooleanSupplier done, Runnable again)
            throws InterruptedException {
        @Nullable Backend backend = lost;
        long pauseMs = FIRST_PAUSE_MS;
        while (!done.getAsBoolean()) {
            try {
                if (backend == null || database.endBackend(backend, END_STEP)) {
                    backend = null;
                    again.run();
                }
            } catch (QueenException e) {
                if (e.getCause() instanceof ConnectionLost anew) {
                    backend = backend == null ? anew.backend() : backend;
                }
            }
            if (!done.getAsBoolean()) {
                TimeUnit.MILLISECONDS.sleep(pauseMs);
                pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS);
            }
        }
    }
}
