@NullMarked
package io.queenmq.cipher;

import org.jspecify.annotations.NullMarked;
