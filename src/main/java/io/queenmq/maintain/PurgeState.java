package io.queenmq.maintain;

import java.time.Instant;
import java.util.Optional;

/**
 * How the purge of a tenant stands.
 *
 * @param left what is next to be removed: timers, queues, lanes, segments, others or nothing
 * @param queues removed so far, like those that follow
 * @param segments those that queues deleted earlier had left behind included
 * @param doneAt when nothing was left; empty = it is not
 */
public record PurgeState(
        String left,
        long queues,
        long timers,
        long segments,
        long others,
        Instant orderedAt,
        Optional<Instant> doneAt) {}
