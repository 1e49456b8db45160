package io.queenmq.pop;

import io.queenmq.ready.Poll;

/**
 * Where one pop gets its candidates, and where it waits for more. Its own thread only. The order of
 * a look is: {@link #leave}, {@link Poll#rearm}, {@link #take}; so a wake after the look began
 * always makes the next wait return at once.
 */
interface Source {
    /**
     * Lanes that may have messages; each must be claimed.
     *
     * @param most most lanes of one claim
     * @param first as many as were asked for; those behind stale ones then come in larger steps
     * @param last the pop will not look again: what there is must do
     */
    Candidates take(int most, boolean first, boolean last);

    /** What the last look found stored with the group, or groups. */
    Conflation conflation();

    /** The queue it looks at, as far as the last look found it; 0 = none, or several. */
    default int queueId() {
        return 0;
    }

    /** The request as the last look serves it: with what it left to the broker. */
    PopRequest request();

    /** The result with what the source has to say of it. */
    default PopResult answer(PopResult result) {
        return result.with(conflation());
    }

    /** How many lanes to take. */
    static int width(int limit, int batch, int most, boolean first) {
        int wanted = first && limit > 0 ? limit : most;
        return Math.clamp(first ? Math.min(wanted, batch) : wanted, 1, most);
    }

    /** Waits at the places where news comes in; false = look again at once. */
    boolean park(Poll poll);

    /** Leaves those places. */
    void leave(Poll poll);

    /** The pop ends without a look after it left: wakes that were its own go to others. */
    void pass();

    /** The pop ends: whatever {@link #leave} leaves alone. */
    default void close(Poll poll) {}

    /** The pop ends, whether it ever waited or not. */
    default void end() {}

    /** When to look again without any news; {@link Long#MAX_VALUE} = never. */
    long revisitNanos();

    /** Whether the last look was hindered by a name that somebody else is creating. */
    boolean isBusy();
}
