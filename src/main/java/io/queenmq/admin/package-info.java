/** Management routes: what people and dashboards ask and do, beside the messages. */
@NullMarked
package io.queenmq.admin;

import org.jspecify.annotations.NullMarked;
