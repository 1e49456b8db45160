package io.queenmq.queue;

/**
 * A lane that exists.
 *
 * @param number never reused: another lane of the same name has another one
 * @param lastOffset an offset that the lane had reached when it was looked up, -1 = none
 * @param created whether this very call made it
 */
public record Lane(LaneName name, int queueId, long number, long lastOffset, boolean created) {}
