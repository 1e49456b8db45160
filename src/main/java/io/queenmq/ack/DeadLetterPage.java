package io.queenmq.ack;

import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Part of the list of dead letters.
 *
 * @param next behind which the next part begins; null = there is none
 * @param nextOffset how many rows of that it passes over
 * @param complete whether the part is full or the last; else it ends where so many rows had been
 *     looked at, and what the filters let through goes on behind it
 * @param total how many there are in all, page and offset aside
 * @param capped whether there were too many to look at all: there may be more
 */
public record DeadLetterPage(
        List<DeadLetter> letters,
        DeadLetterFilter.@Nullable Place next,
        int nextOffset,
        boolean complete,
        long total,
        boolean capped) {}
