package io.queenmq.pop;

import java.time.Duration;
import java.util.UUID;

/**
 * One pop.
 *
 * @param group consumer group; {@link #QUEUE_MODE} without one
 * @param batch most messages over all lanes, at least 1
 * @param lanes most lanes to claim; 0 = no cap; ignored when pinned to one lane
 * @param autoAck commit the cursor with the claim, take no lease
 * @param patience how long to wait for a first message; zero = one try
 * @param leaseSeconds length of the lease; 0 = that of each queue
 * @param startAt where an unregistered group begins
 */
public record PopRequest(
        UUID tenant,
        PopScope scope,
        String group,
        int batch,
        int lanes,
        boolean autoAck,
        Duration patience,
        int leaseSeconds,
        StartAt startAt) {
    /** The reserved group of pops and acks without one. */
    public static final String QUEUE_MODE = "__QUEUE_MODE__";
}
