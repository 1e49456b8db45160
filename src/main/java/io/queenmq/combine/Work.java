package io.queenmq.combine;

/**
 * What one caller wants done for one key. How its caller learns the outcome is its own affair: a
 * {@link Flush} knows the concrete type and answers it.
 *
 * <p>All values are constant while the work is with a {@link Combiner}.
 */
public interface Work<K> {
    /** What is served one at a time: a lane, say. All works of a key have equal shares. */
    K key();

    /** Outer share of fairness. */
    Object tenant();

    /** Inner share of fairness, within the tenant. */
    Object queue();

    /** Messages it carries, for the bounds of a call. */
    int items();

    /** Memory it holds, for the bounds of a call and of what waits. */
    int bytes();
}
