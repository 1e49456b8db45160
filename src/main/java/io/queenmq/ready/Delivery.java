package io.queenmq.ready;

import java.time.Instant;
import java.util.List;
import java.util.UUID;

/**
 * What a pop delivered of one lane under a lease: an ack of exactly this needs no search by key.
 *
 * @param batchEnd last offset of the leased batch, all of which was delivered
 * @param keys of the messages, in offset order
 */
public record Delivery(
        UUID tenant,
        int queueId,
        int groupId,
        String group,
        long lane,
        UUID leaseId,
        Instant leaseExpiresAt,
        long batchEnd,
        List<Keys> keys) {

    /** 16 bytes per message of a segment, of which {@code count} from {@code first} on count. */
    public record Keys(byte[] segment, int first, int count) {}

    /** Who wants to know; called before the answer leaves, from the thread of the pop. */
    @FunctionalInterface
    public interface Listener {
        void delivered(Delivery delivery);
    }
}
