/**
 * Storing messages: split by lane, batched across callers, deduplicated, never in doubt for long.
 */
@NullMarked
package io.queenmq.push;

import org.jspecify.annotations.NullMarked;
