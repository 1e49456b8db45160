@NullMarked
package io.queenmq.cli;

import org.jspecify.annotations.NullMarked;
