@NullMarked
package io.queenmq.http;

import org.jspecify.annotations.NullMarked;
