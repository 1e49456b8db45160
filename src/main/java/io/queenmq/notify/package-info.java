/** Carries hints by LISTEN and NOTIFY. */
@NullMarked
package io.queenmq.notify;

import org.jspecify.annotations.NullMarked;
