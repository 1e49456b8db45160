package io.queenmq.testkit;

import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/**
 * Waiting for what another thread, connection or process brings about. The bound is no expectation
 * of speed: it turns what will never come into a failure that says what was waited for.
 */
public final class Await {
    private static final long LIMIT_NANOS = TimeUnit.SECONDS.toNanos(60);
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

    private Await() {}

    /** Looks at the condition again and again until it holds; an exception of it ends the wait. */
    public static void until(String what, Callable<Boolean> condition) {
        long start = System.nanoTime();
        try {
            while (!condition.call()) {
                if (System.nanoTime() - start > LIMIT_NANOS) {
                    throw new AssertionError("waited in vain for: " + what);
                }
                if (Thread.interrupted()) {
                    throw new InterruptedException("while waiting for: " + what);
                }
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        } catch (RuntimeException | Error e) {
            throw e;
        } catch (Exception e) {
            throw new AssertionError("while waiting for: " + what, e);
        }
    }
}
