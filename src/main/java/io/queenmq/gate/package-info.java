/** What operators may switch off while the brokers run. */
@NullMarked
package io.queenmq.gate;

import org.jspecify.annotations.NullMarked;
