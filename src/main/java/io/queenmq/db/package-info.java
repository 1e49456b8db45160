@NullMarked
package io.queenmq.db;

import org.jspecify.annotations.NullMarked;
