package io.queenmq.segment;

/**
 * A run of messages of one lane as one row stores it. The arrays belong to whoever holds the
 * segment and are not written to any more.
 *
 * @param keys 16 bytes per message
 * @param frames directory of 4-byte end offsets, then the messages
 */
public record Segment(int messageCount, byte[] keys, byte[] frames) {}
