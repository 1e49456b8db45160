@NullMarked
package io.queenmq.model;

import org.jspecify.annotations.NullMarked;
