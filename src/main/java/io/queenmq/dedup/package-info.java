/** What this broker remembers of recent keys, so that most pushes need no look for duplicates. */
@NullMarked
package io.queenmq.dedup;

import org.jspecify.annotations.NullMarked;
