/** What applications note about messages on their way. */
@NullMarked
package io.queenmq.trace;

import org.jspecify.annotations.NullMarked;
