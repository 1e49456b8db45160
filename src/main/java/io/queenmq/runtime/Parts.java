package io.queenmq.runtime;

import java.lang.System.Logger;
import java.lang.System.Logger.Level;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * What has been started and must be stopped, in reverse. One part that fails to stop keeps no other
 * from stopping. Used by one thread.
 */
public final class Parts implements AutoCloseable {
    private static final Logger LOG = System.getLogger(Parts.class.getName());

    private record Part(String name, AutoCloseable stop) {}

    private final Deque<Part> started = new ArrayDeque<>();

    /** Keeps a part until the end; returns it. */
    public <T extends AutoCloseable> T own(String name, T part) {
        started.push(new Part(name, part));
        return part;
    }

    @Override
    public void close() {
        while (!started.isEmpty()) {
            Part part = started.pop();
            try {
                part.stop().close();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            } catch (Exception e) {
                LOG.log(Level.ERROR, "part did not stop part=" + part.name(), e);
            }
        }
    }
}
