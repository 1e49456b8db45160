@NullMarked
package io.queenmq.pop;

import org.jspecify.annotations.NullMarked;
