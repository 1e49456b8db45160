/**
 * Taking messages. A {@link io.queenmq.pop.Source} names lanes that may have some, a claim takes
 * what is there under a lease or for good, and a poll that finds nothing parks.
 */
@NullMarked
package io.queenmq.pop;

import org.jspecify.annotations.NullMarked;
