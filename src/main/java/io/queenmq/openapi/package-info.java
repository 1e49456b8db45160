/**
 * What can be asked of the broker, told to machines and shown to people: an OpenAPI document that
 * is made of what was registered and of what is written of it in {@code resources/openapi}.
 */
@NullMarked
package io.queenmq.openapi;

import org.jspecify.annotations.NullMarked;
