@NullMarked
package io.queenmq.maintain;

import org.jspecify.annotations.NullMarked;
