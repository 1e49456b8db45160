/**
 * Transactions: keys, timers, pushes and acknowledgements that take effect together or not at all.
 */
@NullMarked
package io.queenmq.transact;

import org.jspecify.annotations.NullMarked;
