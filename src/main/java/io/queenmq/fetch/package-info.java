/** Reading the log from offsets on: what connectors do instead of popping. */
@NullMarked
package io.queenmq.fetch;

import org.jspecify.annotations.NullMarked;
