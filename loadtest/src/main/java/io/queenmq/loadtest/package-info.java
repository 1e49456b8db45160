/** Load generator, per-lane verifier and bare-function baseline for a running broker. */
@NullMarked
package io.queenmq.loadtest;

import org.jspecify.annotations.NullMarked;
