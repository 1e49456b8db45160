package io.queenmq.web;

/** The connection a request came over: tells a handler that waits whether its client still does. */
public interface Connection {
    /** Whether the client is known to have left; reliable only after {@link #onGone}. */
    boolean isGone();

    /**
     * Runs {@code action} once when the client closes or half-closes the connection, at once if it
     * has already. Called on the thread of the request, before it parks; the action runs on another
     * thread and is forgotten when the request ends.
     */
    void onGone(Runnable action);
}
