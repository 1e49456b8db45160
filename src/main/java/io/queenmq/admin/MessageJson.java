package io.queenmq.admin;

import io.queenmq.cipher.PayloadCipher;
import io.queenmq.insight.MessageReads;
import io.queenmq.insight.MessageReads.Message;
import io.queenmq.insight.MessageReads.Place;
import io.queenmq.model.Failure;
import io.queenmq.model.Ids;
import io.queenmq.model.QueenException;
import io.queenmq.queue.QueueReads;
import io.queenmq.segment.Frame;
import io.queenmq.web.JsonBuffer;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.HexFormat;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Messages that are looked at, on the wire. Pure. */
final class MessageJson {
    private static final Pattern PLACE = Pattern.compile("(\\d{1,17})-(\\d{1,11})-(\\d{1,18})");

    private MessageJson() {}

    /** Where an earlier answer said that the next page begins; null = at the newest. */
    static @Nullable Place place(@Nullable String text) {
        if (text == null) {
            return null;
        }
        Matcher matcher = PLACE.matcher(text);
        if (!matcher.matches()) {
            throw new QueenException(
                    Failure.BAD_REQUEST,
                    "after must be the next of an earlier answer, got " + text);
        }
        return new Place(
                Instant.EPOCH.plus(Long.parseLong(matcher.group(1)), ChronoUnit.MICROS),
                Long.parseLong(matcher.group(2)),
                Long.parseLong(matcher.group(3)));
    }

    /**
     * @param offset messages of the page that are passed over
     */
    static JsonBuffer page(MessageReads.Page page, int limit, int offset, PayloadCipher cipher) {
        JsonBuffer json = new JsonBuffer(4_096).raw("{\"messages\":[");
        List<Message> messages = page.messages();
        List<Message> shown = messages.subList(Math.min(offset, messages.size()), messages.size());
        for (Message message : shown) {
            json.raw(json.endsWith('[') ? "{" : ",{");
            fields(json, message, message.transactionId(), cipher);
            json.raw('}');
        }
        json.raw(']');
        mode(json, page.kinds());
        json.raw(",\"total\":").number(shown.size());
        json.raw(",\"pagination\":{\"limit\":").number(limit);
        json.raw(",\"offset\":").number(offset);
        Place next = page.next();
        json.raw("},\"hasMore\":").bool(next != null || !page.complete()).raw(",\"next\":");
        if (next == null) {
            json.raw("null");
        } else {
            json.raw('"').number(ChronoUnit.MICROS.between(Instant.EPOCH, next.createdAt()));
            json.raw('-').number(next.partitionNumber());
            json.raw('-').number(next.offset()).raw('"');
        }
        json.raw(",\"complete\":").bool(page.complete());
        if (!page.complete()) {
            json.raw(",\"advice\":");
            json.string(
                    next == null
                            ? "Not all partitions were looked at: name one"
                            : "Not all messages were looked at: go on with after");
        }
        return json.raw('}');
    }

    private static void mode(JsonBuffer json, MessageReads.Kinds kinds) {
        boolean unnamed = kinds.unnamed();
        int named = kinds.named();
        json.raw(",\"mode\":{\"hasQueueMode\":").bool(unnamed);
        json.raw(",\"busGroupsCount\":").number(named).raw(",\"type\":");
        json.string(named > 0 ? unnamed ? "hybrid" : "bus" : unnamed ? "queue" : "none");
        json.raw('}');
    }

    private static void fields(
            JsonBuffer json,
            Message message,
            @Nullable String transactionId,
            PayloadCipher cipher) {
        PayloadText data = PayloadText.of(message.payload(), message.flags(), cipher);
        json.raw("\"id\":").uuid(message.id());
        json.raw(",\"transactionId\":").string(transactionId);
        json.raw(",\"txnHash\":").string(HexFormat.of().formatHex(message.key()));
        json.raw(",\"partitionId\":").uuid(Ids.partitionId(message.partitionNumber()));
        json.raw(",\"queuePath\":").string(message.queue() + '/' + message.partition());
        json.raw(",\"queue\":").string(message.queue());
        json.raw(",\"partition\":").string(message.partition());
        json.raw(",\"namespace\":").string(message.namespace());
        json.raw(",\"task\":").string(message.task());
        json.raw(",\"offset\":").number(message.offset());
        json.raw(",\"status\":").string(message.status());
        json.raw(",\"queueStatus\":").string(message.queueStatus());
        json.raw(",\"busStatus\":{\"consumedBy\":").number(message.groupsPassed());
        json.raw(",\"totalGroups\":").number(message.groupsTotal());
        json.raw("},\"traceId\":").uuid(message.traceId());
        json.raw(",\"producerSub\":").string(message.producer());
        json.raw(",\"payloadAvailable\":true,\"segment\":{\"seq\":").number(message.baseOffset());
        json.raw(",\"frameIdx\":").number(message.offset() - message.baseOffset());
        json.raw("},\"createdAt\":").millis(message.createdAt());
        json.raw(",\"leaseExpiresAt\":").millis(message.leaseExpiresAt());
        json.raw(",\"data\":").raw(data.json()).raw(",\"payload\":").raw(data.json());
        json.raw(",\"isEncrypted\":");
        json.bool(data.opened() || (message.flags() & Frame.ENCRYPTED) != 0);
        if (message.omitted()) {
            json.raw(",\"dataOmitted\":true");
        }
    }

    /**
     * @param queue null = it has been deleted since
     */
    static JsonBuffer detail(
            Message message,
            String transactionId,
            int occurrences,
            List<MessageReads.Group> groups,
            QueueReads.@Nullable Described queue,
            PayloadCipher cipher) {
        JsonBuffer json = new JsonBuffer(2_048).raw('{');
        fields(json, message, transactionId, cipher);
        json.raw(",\"occurrences\":").number(occurrences);
        String error = null;
        int retries = 0;
        for (MessageReads.Group group : groups) {
            if (group.error() != null) {
                error = group.error();
                retries = group.retryCount();
            }
        }
        json.raw(",\"errorMessage\":").string(error);
        json.raw(",\"retryCount\":").number(retries).raw(",\"consumerGroups\":[");
        for (MessageReads.Group group : groups) {
            json.raw(json.endsWith('[') ? "{\"name\":" : ",{\"name\":").string(group.name());
            json.raw(",\"group\":").string(group.name());
            json.raw(",\"consumed\":").bool(group.consumed());
            json.raw(",\"leaseExpiresAt\":").millis(group.leaseExpiresAt());
            json.raw(",\"errorMessage\":").string(group.error()).raw('}');
        }
        json.raw(']');
        mode(json, new MessageReads.Kinds(message.queueStatus() != null, message.groupsTotal()));
        json.raw(",\"queueConfig\":");
        if (queue == null) {
            json.raw("null");
        } else {
            ResourceJson.options(json, queue);
        }
        return json.raw('}');
    }

    /**
     * @param found null = there is no such partition
     */
    static JsonBuffer notFound(MessageAddress address, MessageReads.@Nullable Found found) {
        JsonBuffer json = new JsonBuffer(256).raw("{\"success\":false,\"partitionId\":");
        json.string(address.partitionId());
        json.raw(",\"transactionId\":").string(address.transactionId());
        json.raw(",\"error\":\"Message not found\"");
        if (found != null) {
            json.raw(",\"searchedFrom\":").number(found.searchedFrom());
            json.raw(",\"complete\":").bool(found.complete());
        }
        return json.raw('}');
    }
}
