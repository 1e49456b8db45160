@NullMarked
package io.queenmq;

import org.jspecify.annotations.NullMarked;
