/** Keys and their values: read and written alone, in batches, or as part of a transaction. */
@NullMarked
package io.queenmq.kv;

import org.jspecify.annotations.NullMarked;
