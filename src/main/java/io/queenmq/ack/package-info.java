@NullMarked
package io.queenmq.ack;

import org.jspecify.annotations.NullMarked;
