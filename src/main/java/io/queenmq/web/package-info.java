/** Listener, router, bodies and JSON: all that edge rooms know of HTTP. */
@NullMarked
package io.queenmq.web;

import org.jspecify.annotations.NullMarked;
