package io.queenmq.http;

import io.queenmq.cipher.PayloadCipher;
import io.queenmq.model.Ids;
import io.queenmq.model.Slice;
import io.queenmq.pop.Chosen;
import io.queenmq.pop.Conflation;
import io.queenmq.pop.PopResult;
import io.queenmq.segment.Frame;
import io.queenmq.segment.FrameReader;
import io.queenmq.segment.MessageKey;
import io.queenmq.web.JsonBuffer;
import java.util.Base64;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** The answer to a pop, rendered straight from the stored segments. Pure. */
final class PopJson {
    private static final byte[] ID = JsonBuffer.ascii("{\"id\":");
    private static final byte[] TRANSACTION_ID = JsonBuffer.ascii(",\"transactionId\":");
    private static final byte[] TRACE_ID = JsonBuffer.ascii(",\"traceId\":");
    private static final byte[] DATA = JsonBuffer.ascii(",\"data\":");
    private static final byte[] PRODUCER = JsonBuffer.ascii(",\"producerSub\":");
    private static final int FIELDS_BYTES = 320;
    private static final int HEAD_BYTES = 512;

    private PopJson() {}

    /** About how many bytes the answer will take. */
    static long size(PopResult result, String group) {
        long bytes = HEAD_BYTES;
        for (PopResult.Lane lane : result.lanes()) {
            int perMessage =
                    FIELDS_BYTES
                            + lane.partition().length()
                            + lane.queue().length()
                            + group.length();
            for (PopResult.Batch batch : lane.batches()) {
                int stored = Math.max(1, batch.keys().length / MessageKey.BYTES);
                bytes += (long) batch.count() * perMessage;
                bytes += (long) batch.frames().length * batch.count() / stored;
            }
        }
        return bytes;
    }

    /**
     * All messages, lane by lane.
     *
     * @param queue queue that was asked for; null = found by labels, then each message names its
     *     own
     */
    static JsonBuffer write(
            PopResult result,
            @Nullable String queue,
            String group,
            PayloadCipher cipher,
            long size) {
        JsonBuffer json = new JsonBuffer((int) Math.min(size, Integer.MAX_VALUE - 16));
        PopResult.Lane first = result.lanes().getFirst();
        json.raw("{\"success\":true,\"queue\":").string(queue == null ? "" : queue);
        json.raw(",\"partition\":").string(first.partition());
        json.raw(",\"partitionId\":").uuid(Ids.partitionId(first.partitionNumber()));
        lease(json.raw(",\"leaseId\":"), result.leaseId());
        json.raw(",\"consumerGroup\":").string(group).raw(",\"messages\":[");
        boolean comma = false;
        for (PopResult.Lane lane : result.lanes()) {
            byte[] tail = tail(lane, result.leaseId(), queue == null, group);
            for (PopResult.Batch batch : lane.batches()) {
                byte[] createdAt =
                        new JsonBuffer(64)
                                .raw(",\"createdAt\":")
                                .instant(batch.createdAt())
                                .toBytes();
                FrameReader reader =
                        new FrameReader(
                                lane.partitionNumber(),
                                batch.baseOffset(),
                                batch.createdAt().toEpochMilli(),
                                batch.keys(),
                                batch.frames(),
                                batch.first(),
                                batch.count());
                while (reader.next()) {
                    if (comma) {
                        json.raw(',');
                    }
                    comma = true;
                    message(json, reader, cipher);
                    json.raw(createdAt).raw(tail);
                }
            }
        }
        json.raw("],\"partitionsClaimed\":").number(result.lanes().size());
        Chosen chosen = result.chosen();
        if (chosen != null) {
            json.raw(",\"autopilot\":{\"partitions\":").number(chosen.lanes());
            json.raw(",\"batch\":").number(chosen.batch());
            json.raw(",\"waitMs\":").number(chosen.waitMillis()).raw('}');
        }
        return conflation(json, result.conflation()).raw('}');
    }

    /** No messages, but something to say. */
    static JsonBuffer empty(PopResult result, @Nullable String queue, String group) {
        JsonBuffer json = new JsonBuffer(HEAD_BYTES);
        json.raw("{\"success\":true,\"queue\":").string(queue == null ? "" : queue);
        json.raw(",\"partition\":\"\",\"partitionId\":\"\",\"leaseId\":\"\"");
        json.raw(",\"consumerGroup\":").string(group);
        json.raw(",\"messages\":[],\"partitionsClaimed\":0");
        json.raw(result.paused() ? ",\"paused\":true" : "");
        return conflation(json, result.conflation()).raw('}');
    }

    /** The keys are there only when they are true. */
    private static JsonBuffer conflation(JsonBuffer json, Conflation conflation) {
        json.raw(conflation.applied() ? ",\"conflation\":true" : "");
        return json.raw(conflation.conflict() ? ",\"conflationConflict\":true" : "");
    }

    private static void message(JsonBuffer json, FrameReader reader, PayloadCipher cipher) {
        int flags = reader.flags();
        json.raw(ID).uuid(reader.messageId()).raw(TRANSACTION_ID);
        if ((flags & Frame.TRANSACTION_ID) == 0) {
            json.uuid(reader.key().uuid());
        } else {
            json.string(reader.transactionId());
        }
        json.raw(TRACE_ID).uuid(reader.traceId()).raw(DATA);
        Slice payload = cipher.open(reader.payload());
        if ((flags & Frame.NOT_JSON) == 0) {
            json.raw(payload);
        } else {
            json.raw('"').raw(Base64.getEncoder().encode(payload.copy())).raw('"');
        }
        json.raw(PRODUCER).string(reader.producer());
    }

    /** What all messages of a lane say alike. */
    private static byte[] tail(
            PopResult.Lane lane, @Nullable UUID leaseId, boolean nameQueue, String group) {
        JsonBuffer json = new JsonBuffer(FIELDS_BYTES);
        json.raw(",\"partitionId\":").uuid(Ids.partitionId(lane.partitionNumber()));
        json.raw(",\"partition\":").string(lane.partition());
        lease(json.raw(",\"leaseId\":"), leaseId);
        json.raw(",\"consumerGroup\":").string(group);
        if (nameQueue) {
            json.raw(",\"queue\":").string(lane.queue());
        }
        return json.raw(",\"deliveryAttempt\":").number(lane.attempt()).raw('}').toBytes();
    }

    private static void lease(JsonBuffer json, @Nullable UUID leaseId) {
        if (leaseId == null) {
            json.raw("\"\"");
        } else {
            json.uuid(leaseId);
        }
    }

    /** A refusal in the shape that pops have of their own. */
    static JsonBuffer refusal(String error) {
        return new JsonBuffer(128)
                .raw("{\"success\":false,\"error\":")
                .string(error)
                .raw(",\"messages\":[]}");
    }
}
