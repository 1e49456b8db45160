package io.queenmq.http;

import com.fasterxml.jackson.core.JsonToken;
import io.queenmq.model.Failure;
import io.queenmq.model.Names;
import io.queenmq.model.QueenException;
import io.queenmq.model.Slice;
import io.queenmq.model.Uuids;
import io.queenmq.push.PushItem;
import io.queenmq.push.PushResult;
import io.queenmq.web.JsonBody;
import io.queenmq.web.JsonBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** A push as it looks on the wire. Pure. */
final class PushJson {
    private static final byte[] INDEX = JsonBuffer.ascii("{\"index\":");
    private static final byte[] MESSAGE_ID = JsonBuffer.ascii(",\"message_id\":");
    private static final byte[] TRANSACTION_ID = JsonBuffer.ascii(",\"transaction_id\":");
    private static final byte[] QUEUE_NAME = JsonBuffer.ascii(",\"queueName\":");
    private static final byte[] QUEUED = JsonBuffer.ascii(",\"status\":\"queued\"}");
    private static final byte[] DUPLICATE = JsonBuffer.ascii(",\"status\":\"duplicate\"}");
    private static final byte[] FAILED = JsonBuffer.ascii(",\"status\":\"failed\"}");
    private static final int RESULT_BYTES = 160;

    private PushJson() {}

    /** The items of a body; all of them are read before any is stored. */
    static List<PushItem> read(byte[] bytes) {
        try (JsonBody body = new JsonBody(bytes)) {
            List<PushItem> items = null;
            for (String name = body.nextName(); name != null; name = body.nextName()) {
                if (!name.equals("items")) {
                    body.skip();
                } else if (items != null) {
                    throw JsonBody.bad("duplicate field items");
                } else {
                    items = items(body);
                }
            }
            body.end();
            if (items == null) {
                throw refused("items is required");
            }
            return items;
        }
    }

    private static List<PushItem> items(JsonBody body) {
        if (body.token() != JsonToken.START_ARRAY) {
            throw refused("items must be an array, got " + body.kind());
        }
        List<PushItem> items = new ArrayList<>();
        PushItem previous = null;
        while (body.nextElement()) {
            if (body.token() != JsonToken.START_OBJECT) {
                throw JsonBody.bad(
                        "items[" + items.size() + "] must be an object, got " + body.kind());
            }
            previous = item(body, items.size(), previous);
            items.add(previous);
        }
        return items;
    }

    // Neighbours mostly share their queue, often their lane: the same string is not made again.
    private static PushItem item(JsonBody body, int index, @Nullable PushItem previous) {
        String queue = null;
        String partition = null;
        String transactionId = null;
        UUID traceId = null;
        Slice payload = null;
        for (String name = body.nextName(); name != null; name = body.nextName()) {
            switch (name) {
                case "queue" -> {
                    String likely = previous == null ? null : previous.queue();
                    queue = text(body, index, "queue", likely);
                }
                case "partition" -> {
                    String likely = previous == null ? null : previous.partition();
                    partition = text(body, index, "partition", likely);
                }
                case "transactionId" -> transactionId = text(body, index, "transactionId", null);
                case "traceId" -> traceId = trace(body);
                case "payload" -> {
                    if (payload != null) {
                        throw JsonBody.bad("duplicate field items[" + index + "].payload");
                    }
                    payload = body.raw();
                }
                default -> body.skip();
            }
        }
        if (queue == null) {
            throw refused("items[" + index + "].queue is required");
        }
        if (payload == null) {
            throw refused("items[" + index + "].payload is required");
        }
        if (previous == null || !queue.equals(previous.queue())) {
            Names.name("items[" + index + "].queue", queue);
        }
        if (partition == null || partition.isEmpty()) {
            partition = Names.DEFAULT_PARTITION;
        } else if (previous == null || !partition.equals(previous.partition())) {
            Names.name("items[" + index + "].partition", partition);
        }
        if (transactionId != null && transactionId.isEmpty()) {
            transactionId = null;
        }
        return new PushItem(queue, partition, transactionId, traceId, payload);
    }

    private static @Nullable String text(
            JsonBody body, int index, String field, @Nullable String likely) {
        return switch (body.token()) {
            case VALUE_NULL -> null;
            case VALUE_STRING -> body.text(likely);
            default ->
                    throw refused(
                            "items["
                                    + index
                                    + "]."
                                    + field
                                    + " must be a string, got "
                                    + body.kind());
        };
    }

    // Only a note of the producer to itself: what is no UUID is not worth a refusal.
    private static @Nullable UUID trace(JsonBody body) {
        if (body.token() == JsonToken.VALUE_STRING) {
            return Uuids.parse(body.text());
        }
        body.skip();
        return null;
    }

    private static QueenException refused(String detail) {
        return new QueenException(Failure.BAD_REQUEST, detail);
    }

    /** One result per item, in the order of the items. */
    static JsonBuffer write(List<PushItem> items, List<PushResult> results) {
        JsonBuffer json = new JsonBuffer(2 + RESULT_BYTES * items.size()).raw('[');
        for (int i = 0; i < results.size(); i++) {
            PushResult result = results.get(i);
            json.raw(i == 0 ? "" : ",").raw(INDEX).number(i);
            json.raw(MESSAGE_ID).uuid(result.messageId());
            json.raw(TRANSACTION_ID).string(result.transactionId());
            json.raw(QUEUE_NAME).string(items.get(i).queue());
            json.raw(
                    switch (result) {
                        case PushResult.Queued queued -> QUEUED;
                        case PushResult.Duplicate duplicate -> DUPLICATE;
                        case PushResult.Failed failed -> FAILED;
                    });
        }
        return json.raw(']');
    }
}
