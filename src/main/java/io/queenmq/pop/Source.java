package io.queenmq.pop;

import io.queenmq.ready.Poll;

/**
 * Where one pop gets its candidates, and where it waits for more. Its own thread only. The order of
 * a look is: {@link #leave}, {@link Poll#rearm}, {@link #take}; so a wake after the look began
 * always makes the next wait return at once.
 */
interface Source {
    /** How many lanes one answer may span, in the eyes of SQL: false = one. */
    boolean several();

    /** Lanes that may have messages; each must be claimed. */
    Candidates take(int max);

    /** Waits at the places where news comes in; false = look again at once. */
    boolean park(Poll poll);

    /** Leaves those places. */
    void leave(Poll poll);

    /** The pop ends without a look after it left: wakes that were its own go to others. */
    void pass();

    /** The pop ends: whatever {@link #leave} leaves alone. */
    default void close(Poll poll) {}

    /** When to look again without any news; {@link Long#MAX_VALUE} = never. */
    long revisitNanos();

    /** Whether the last look was hindered by a name that somebody else is creating. */
    boolean isBusy();
}
