package io.queenmq.ack;

import java.util.List;

/**
 * Part of the list of dead letters.
 *
 * @param total how many there are in all, page and offset aside
 * @param capped whether there were too many to look at all: there may be more
 */
public record DeadLetterPage(List<DeadLetter> letters, long total, boolean capped) {}
