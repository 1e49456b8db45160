/**
 * Acknowledging: moving cursors past what was consumed, whole batches without a search, and filing
 * what is given up as dead letters.
 */
@NullMarked
package io.queenmq.ack;

import org.jspecify.annotations.NullMarked;
