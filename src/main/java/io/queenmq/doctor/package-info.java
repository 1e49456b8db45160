/** Looks at a PostgreSQL server, as it is and as it is set up, and says what to do about it. */
@NullMarked
package io.queenmq.doctor;

import org.jspecify.annotations.NullMarked;
