/** Random and damaged input against the codecs and the whole broker; a seed replays a round. */
@NullMarked
package io.queenmq.fuzz;

import org.jspecify.annotations.NullMarked;
