/**
 * The broker's state machine against a model of it: lanes, deduplication, cursors, leases, retries
 * and dead letters, driven by random operations that a seed repeats.
 */
@NullMarked
package io.queenmq.machine;

import org.jspecify.annotations.NullMarked;
