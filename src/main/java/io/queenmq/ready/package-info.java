/** Which lanes may have work, per queue and group, and the polls that wait for some. */
@NullMarked
package io.queenmq.ready;

import org.jspecify.annotations.NullMarked;
