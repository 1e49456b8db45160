@NullMarked
package io.queenmq.web;

import org.jspecify.annotations.NullMarked;
