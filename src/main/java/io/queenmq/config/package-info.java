@NullMarked
package io.queenmq.config;

import org.jspecify.annotations.NullMarked;
