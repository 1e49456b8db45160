package io.queenmq.insight;

import java.time.Instant;

/** A time that somebody looks back at, both ends included. */
public record Window(Instant from, Instant to) {}
