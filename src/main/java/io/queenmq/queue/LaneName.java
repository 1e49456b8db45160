package io.queenmq.queue;

import java.util.UUID;

/** A lane as clients name it. */
public record LaneName(UUID tenant, String queue, String partition) {}
