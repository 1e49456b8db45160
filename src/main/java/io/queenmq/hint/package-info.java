/**
 * What brokers and SQL functions tell each other about lanes; a hint may be lost or superfluous.
 */
@NullMarked
package io.queenmq.hint;

import org.jspecify.annotations.NullMarked;
