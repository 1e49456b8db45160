@NullMarked
package io.queenmq.queue;

import org.jspecify.annotations.NullMarked;
