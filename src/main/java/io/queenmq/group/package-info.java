@NullMarked
package io.queenmq.group;

import org.jspecify.annotations.NullMarked;
