@NullMarked
package io.queenmq.push;

import org.jspecify.annotations.NullMarked;
