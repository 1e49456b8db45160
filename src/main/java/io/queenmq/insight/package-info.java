/**
 * What administrators and dashboards are told about the broker: questions to the database that
 * change nothing, on connections of their own.
 */
@NullMarked
package io.queenmq.insight;

import org.jspecify.annotations.NullMarked;
