@NullMarked
package io.queenmq.segment;

import org.jspecify.annotations.NullMarked;
