package io.queenmq.timer;

import io.queenmq.model.Slice;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Operations of one caller, column by column as the database takes them.
 *
 * @param delaysUs of those that are scheduled from now on
 * @param deliverAts of those that are scheduled for a time of their own
 * @param producer authenticated subject of the caller
 */
record TimerChanges(
        List<TimerOp> ops,
        UUID tenant,
        String[] queues,
        String[] timerKeys,
        Boolean[] cancels,
        @Nullable Long[] delaysUs,
        @Nullable OffsetDateTime[] deliverAts,
        @Nullable String[] partitions,
        @Nullable String[] transactionIds,
        @Nullable UUID[] messageIds,
        byte[] @Nullable [] payloads,
        Boolean[] encrypted,
        Boolean[] dedup,
        @Nullable String producer) {

    /** Columns for so many operations. */
    static TimerChanges of(UUID tenant, @Nullable String producer, List<TimerOp> ops) {
        int count = ops.size();
        return new TimerChanges(
                ops,
                tenant,
                new String[count],
                new String[count],
                new Boolean[count],
                new Long[count],
                new OffsetDateTime[count],
                new String[count],
                new String[count],
                new UUID[count],
                new byte[count][],
                new Boolean[count],
                new Boolean[count],
                producer);
    }

    void cancel(int index) {
        common(index, true);
    }

    /**
     * Puts a schedule at its place.
     *
     * @param payload as it will be stored
     * @param sealed whether that is an envelope
     */
    void schedule(int index, TimerOp.Schedule op, UUID messageId, Slice payload, boolean sealed) {
        common(index, false);
        switch (op.when()) {
            case TimerOp.When.After(var delay) -> delaysUs[index] = delay.toNanos() / 1_000;
            case TimerOp.When.At(Instant instant) ->
                    // Whatever has passed is the same; the database knows no such early times.
                    deliverAts[index] =
                            (instant.isBefore(Instant.EPOCH) ? Instant.EPOCH : instant)
                                    .atOffset(ZoneOffset.UTC);
        }
        partitions[index] = op.partition();
        transactionIds[index] =
                op.transactionId() == null ? messageId.toString() : op.transactionId();
        messageIds[index] = messageId;
        payloads[index] = payload.copy();
        encrypted[index] = sealed;
        dedup[index] = op.dedup();
    }

    private void common(int index, boolean cancel) {
        queues[index] = ops.get(index).queue();
        timerKeys[index] = ops.get(index).timerKey();
        cancels[index] = cancel;
        encrypted[index] = false;
        dedup[index] = false;
    }

    /** What became of one operation, by the words of the database. */
    TimerResult result(
            int index, String status, @Nullable String stored, @Nullable Instant deliverAt) {
        TimerOp op = ops.get(index);
        return switch (status) {
            case "scheduled", "rescheduled" ->
                    new TimerResult.Scheduled(
                            op,
                            status.equals("rescheduled"),
                            required(transactionIds[index]),
                            required(messageIds[index]),
                            required(deliverAt));
            case "cancelled" -> new TimerResult.Cancelled(op, required(stored));
            case "absent" -> new TimerResult.Absent((TimerOp.Cancel) op);
            case "too_late" -> new TimerResult.TooLate(op);
            default -> throw new IllegalStateException("change_timers said " + status);
        };
    }

    private static <T> T required(@Nullable T value) {
        if (value == null) {
            throw new IllegalStateException("a column of a timer is missing");
        }
        return value;
    }
}
