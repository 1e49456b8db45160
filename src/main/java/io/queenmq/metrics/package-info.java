@NullMarked
package io.queenmq.metrics;

import org.jspecify.annotations.NullMarked;
