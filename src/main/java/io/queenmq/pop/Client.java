package io.queenmq.pop;

/** The other end of a pop: a parked poll whose client has gone must not take a lease. */
public interface Client {
    /** A client that never leaves, for callers inside the process. */
    Client PRESENT =
            new Client() {
                @Override
                public boolean isGone() {
                    return false;
                }

                @Override
                public void onGone(Runnable action) {}
            };

    boolean isGone();

    /**
     * Runs {@code action} once when the client leaves, at once if it has left already; called from
     * the poll's thread before it parks, at most once per request.
     */
    void onGone(Runnable action);
}
