package io.queenmq.combine;

import java.util.ArrayDeque;

/** What waits for one key. Guarded by the combiner's lock. */
final class KeyQueue<K, W extends Work<K>> {
    final K key;
    final Object tenant;
    final Object queue;
    final ArrayDeque<W> waiting = new ArrayDeque<>(2);

    /** In a call, or held after one. */
    boolean inFlight;

    /** Stands in one of the rings, or rests. */
    boolean inLine;

    /** Times in a row it was busy. */
    int busy;

    /** How many of the works at its head came from a call that failed: each is tried by itself. */
    int suspects;

    /** While resting: when it may be tried again. */
    long dueNanos;

    /** Items waiting or under way. */
    long items;

    /** Bytes waiting or under way. */
    long bytes;

    KeyQueue(W first) {
        key = first.key();
        tenant = first.tenant();
        queue = first.queue();
    }
}
