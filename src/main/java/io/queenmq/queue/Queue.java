package io.queenmq.queue;

import java.util.UUID;

/** A queue that existed when it was looked up, at most a refresh interval ago. */
public record Queue(int id, UUID tenant, String name, QueueOptions options) {}
