package io.queenmq.pop;

/**
 * What a pop that left the choice to the broker was given.
 *
 * @param lanes most lanes of the pop
 * @param batch most messages of the pop
 * @param waitMillis how long a client that does not wait for messages should leave between two pops
 *     that find none
 */
public record Chosen(int lanes, int batch, int waitMillis) {}
