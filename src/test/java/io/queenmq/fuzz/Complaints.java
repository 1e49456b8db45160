package io.queenmq.fuzz;

import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.LogRecord;
import java.util.logging.Logger;

/**
 * Collects what the broker complains of: errors in its log, exceptions written there at any level
 * that is on, and threads that ended with one.
 */
final class Complaints extends Handler implements AutoCloseable {
    private static final Logger ROOT = Logger.getLogger("");

    private final ConcurrentLinkedQueue<String> heard = new ConcurrentLinkedQueue<>();
    private final Thread.UncaughtExceptionHandler previous;

    Complaints() {
        previous = Thread.getDefaultUncaughtExceptionHandler();
        Thread.setDefaultUncaughtExceptionHandler(
                (thread, e) -> heard.add(thread.getName() + " ended with " + e));
        ROOT.addHandler(this);
    }

    @Override
    public void publish(LogRecord record) {
        if (record.getThrown() != null || record.getLevel().intValue() >= Level.SEVERE.intValue()) {
            heard.add(
                    record.getLoggerName() + ": " + record.getMessage() + " " + record.getThrown());
        }
    }

    /** Fails if there was any since the last call. */
    void assertNone() {
        String complaints = String.join("\n", heard);
        heard.clear();
        if (!complaints.isEmpty()) {
            throw new AssertionError("the broker complained:\n" + complaints);
        }
    }

    @Override
    public void flush() {}

    @Override
    public void close() {
        ROOT.removeHandler(this);
        Thread.setDefaultUncaughtExceptionHandler(previous);
    }
}
