package io.queenmq.combine;

import io.queenmq.model.QueenException;
import java.util.List;

/**
 * The calls that a {@link Combiner} makes, on its own threads.
 *
 * <p>A call answers the works of every bundle, or says what shall become of the bundle with {@link
 * Bundle#busy}, {@link Bundle#again} or {@link Bundle#hold}; a bundle it says nothing about is
 * done. An exception means that nothing of the call took effect and no work was answered.
 */
public interface Flush<K, W extends Work<K>> {

    /**
     * One call for all bundles, of distinct keys. It must not wait for what others hold: such a
     * bundle is {@link Bundle#busy}.
     */
    void together(List<Bundle<K, W>> bundles);

    /**
     * One bundle whose key was busy several times over. It may wait a moment for its turn; called
     * on threads of their own, which therefore stop nobody else.
     */
    void alone(Bundle<K, W> bundle);

    /** Answers the works of a bundle that nothing was done for. */
    void failed(Bundle<K, W> bundle, QueenException failure);
}
