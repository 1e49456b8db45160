package io.queenmq.maintain;

import java.time.Duration;

/**
 * Work of the whole cluster that comes back. Which broker does it is decided by a row of {@code
 * queen_store.jobs}; but a lease can run out under a broker that does not notice, so every step is
 * right whoever else is at the same work. Called by one thread of a broker, with a failure as an
 * exception.
 */
interface Job {
    /** Key of its row, and its name in metrics and logs. */
    String name();

    /** From the start of a run to that of the next. */
    Duration period();

    /**
     * Whether a run would find something to do: a cheap look that writes nothing. Without work no
     * broker claims the job, and an idle cluster writes no row.
     */
    boolean hasWork();

    /**
     * Does a bounded part of it, one or a few autocommit calls of well under a second.
     *
     * @return whether there is more to do now; false where the rest has to wait
     */
    boolean step();
}
