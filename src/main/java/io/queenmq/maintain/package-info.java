/** Jobs of the whole cluster, each run by one broker at a time: what keeps the storage small. */
@NullMarked
package io.queenmq.maintain;

import org.jspecify.annotations.NullMarked;
