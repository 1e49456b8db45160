/**
 * What this broker's commits have changed of queues and groups, told to the database now and then.
 */
@NullMarked
package io.queenmq.count;

import org.jspecify.annotations.NullMarked;
