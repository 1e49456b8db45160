/**
 * Many small requests made into few calls. A {@link io.queenmq.combine.Work} is what one caller
 * wants of one key; the works of a key that one call takes are a {@link io.queenmq.combine.Bundle};
 * a {@link io.queenmq.combine.Flush} makes the calls.
 */
@NullMarked
package io.queenmq.combine;

import org.jspecify.annotations.NullMarked;
