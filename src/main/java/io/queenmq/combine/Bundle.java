package io.queenmq.combine;

import java.util.ArrayList;
import java.util.List;

/**
 * The works of one key that one call serves, oldest first. Its key is in nobody else's hands until
 * the bundle is done or goes back.
 */
public final class Bundle<K, W extends Work<K>> {
    /** What shall become of a bundle when its call returns. */
    enum Outcome {
        DONE,
        BUSY,
        AGAIN,
        SUSPECT,
        HELD
    }

    private final Combiner<K, W> combiner;
    final KeyQueue<K, W> home;
    final List<W> works = new ArrayList<>(1);

    /** One work of a call that failed: tried by itself. */
    final boolean suspect;

    /** Has its call to itself, which counts against the one flusher that such calls may hold. */
    boolean ownCall;

    /** Shares its call with whatever else was due. */
    boolean inCommonCall;

    int items;
    long bytes;
    Outcome outcome = Outcome.DONE;

    Bundle(Combiner<K, W> combiner, KeyQueue<K, W> home, boolean suspect) {
        this.combiner = combiner;
        this.home = home;
        this.suspect = suspect;
    }

    public K key() {
        return home.key;
    }

    /**
     * Its works; whoever holds the bundle removes those that are answered before it gives the
     * bundle back.
     */
    public List<W> works() {
        return works;
    }

    /** Messages of all works it was made of. */
    public int items() {
        return items;
    }

    /**
     * Somebody else has the key: the works go back to the head of it, and are tried alone once that
     * has happened several times.
     */
    public void busy() {
        end(Outcome.BUSY);
    }

    /** The works that are left go back to the head of their key, to be served again at once. */
    public void again() {
        end(Outcome.AGAIN);
    }

    /** Every work is answered: what a bundle is when its call returns and nothing else was said. */
    public void release() {
        end(Outcome.DONE);
    }

    /**
     * The key stays held after the call, while another thread sees to it: that one must end with
     * {@link #busy}, {@link #again} or {@link #release}.
     */
    public void hold() {
        outcome = Outcome.HELD;
    }

    private void end(Outcome end) {
        if (outcome == Outcome.HELD) {
            combiner.release(this, end);
        } else {
            outcome = end;
        }
    }
}
