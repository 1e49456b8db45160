@NullMarked
package io.queenmq.embedded;

import org.jspecify.annotations.NullMarked;
