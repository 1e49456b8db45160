@NullMarked
package io.queenmq.combine;

import org.jspecify.annotations.NullMarked;
