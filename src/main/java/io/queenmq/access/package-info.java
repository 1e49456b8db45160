/** Who may do what: tokens are verified here, and routes declare the level they ask for. */
@NullMarked
package io.queenmq.access;

import org.jspecify.annotations.NullMarked;
