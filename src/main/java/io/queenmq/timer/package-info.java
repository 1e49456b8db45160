/** Messages that are scheduled: stored as timers, and delivered when their time has come. */
@NullMarked
package io.queenmq.timer;

import org.jspecify.annotations.NullMarked;
