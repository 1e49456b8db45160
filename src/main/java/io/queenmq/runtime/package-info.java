@NullMarked
package io.queenmq.runtime;

import org.jspecify.annotations.NullMarked;
