@NullMarked
package io.queenmq.testkit;

import org.jspecify.annotations.NullMarked;
