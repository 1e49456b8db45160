package io.queenmq.pop;

import io.queenmq.model.Names;
import java.time.Duration;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * One pop.
 *
 * @param group consumer group; {@link #QUEUE_MODE} without one
 * @param batch most messages over all lanes, at least 1
 * @param lanes most lanes to claim; 0 = no cap, {@link #UNSAID} = one, or as many as the batch
 *     where the group conflates; ignored when pinned to one lane
 * @param autoAck commit the cursor with the claim, take no lease
 * @param patience how long to wait for a first message; zero = one try
 * @param leaseSeconds length of the lease; 0 = that of each queue
 * @param startAt where an unregistered group begins
 * @param conflation whether an unregistered group conflates; null = no, and a group that does is no
 *     conflict
 * @param left what the broker is to choose, were it to agree; null = the request asks for no choice
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
        StartAt startAt,
        @Nullable Boolean conflation,
        @Nullable Left left) {
    /** Group of a pop that names none. */
    public static final String QUEUE_MODE = Names.QUEUE_MODE;

    /** The request names no number of lanes. */
    public static final int UNSAID = -1;

    /** Most messages, so most lanes, in one answer of a group that conflates. */
    private static final int CONFLATED_MAX = 64;

    /** What a request leaves to the broker: it has no number of its own for it. */
    public record Left(boolean batch, boolean lanes) {}

    /** A pop that says nothing about conflation and leaves nothing to the broker. */
    public PopRequest(
            UUID tenant,
            PopScope scope,
            String group,
            int batch,
            int lanes,
            boolean autoAck,
            Duration patience,
            int leaseSeconds,
            StartAt startAt) {
        this(
                tenant,
                scope,
                group,
                batch,
                lanes,
                autoAck,
                patience,
                leaseSeconds,
                startAt,
                null,
                null);
    }

    /** The same with other numbers. */
    PopRequest served(int otherBatch, int otherLanes) {
        return new PopRequest(
                tenant,
                scope,
                group,
                otherBatch,
                otherLanes,
                autoAck,
                patience,
                leaseSeconds,
                startAt,
                conflation,
                left);
    }

    /** Whether a group registered by this pop conflates. */
    boolean asksConflation() {
        return Boolean.TRUE.equals(conflation);
    }

    /** Most lanes that one answer may span; 0 = no cap. */
    int laneLimit(boolean conflates) {
        if (!conflates) {
            return lanes == UNSAID ? 1 : lanes;
        }
        int wanted = lanes == UNSAID ? batch : lanes;
        return wanted <= 0 ? CONFLATED_MAX : Math.min(wanted, CONFLATED_MAX);
    }
}
