package io.queenmq.http;

import com.fasterxml.jackson.core.JsonToken;
import io.queenmq.ack.AckItem;
import io.queenmq.ack.AckResult;
import io.queenmq.ack.AckStatus;
import io.queenmq.model.Names;
import io.queenmq.web.JsonBody;
import io.queenmq.web.JsonBuffer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Acknowledgements as they look on the wire. Pure. */
final class AckJson {
    /** What is kept of the reason of a failure; the rest of a longer one is cut off. */
    static final int ERROR_CHARACTERS_MAX = 16_384;

    private static final byte[] INDEX = JsonBuffer.ascii("{\"index\":");
    private static final byte[] TRANSACTION_ID = JsonBuffer.ascii(",\"transactionId\":");
    private static final byte[] SUCCESS = JsonBuffer.ascii(",\"success\":");
    private static final byte[] ERROR = JsonBuffer.ascii(",\"error\":");
    private static final byte[] RELEASED = JsonBuffer.ascii(",\"leaseReleased\":");
    private static final byte[] DEAD_LETTER = JsonBuffer.ascii(",\"dlq\":");
    private static final byte[] NOOP = JsonBuffer.ascii(",\"noop\":");
    private static final byte[] CONFLATED = JsonBuffer.ascii(",\"conflated\":");
    private static final int RESULT_BYTES = 160;
    private static final int ALONE = -1;

    private AckJson() {}

    /** A group and what it acknowledges. */
    record Request(String group, List<AckItem> items) {}

    /** One acknowledgement, its group beside it. */
    static Request readOne(byte[] bytes) {
        try (JsonBody body = new JsonBody(bytes)) {
            Item item = new Item(ALONE);
            String group = null;
            for (String name = body.nextName(); name != null; name = body.nextName()) {
                if (name.equals("consumerGroup")) {
                    group = body.textOrNull("consumerGroup");
                } else {
                    item.read(name, body);
                }
            }
            body.end();
            return new Request(group(group), List.of(item.value()));
        }
    }

    /** Many of one group; no {@code acknowledgments} at all are none. */
    static Request readBatch(byte[] bytes) {
        try (JsonBody body = new JsonBody(bytes)) {
            List<AckItem> items = List.of();
            String group = null;
            for (String name = body.nextName(); name != null; name = body.nextName()) {
                switch (name) {
                    case "consumerGroup" -> group = body.textOrNull("consumerGroup");
                    case "acknowledgments" -> items = items(body);
                    default -> body.skip();
                }
            }
            body.end();
            return new Request(group(group), items);
        }
    }

    private static List<AckItem> items(JsonBody body) {
        if (body.token() == JsonToken.VALUE_NULL) {
            return List.of();
        }
        if (body.token() != JsonToken.START_ARRAY) {
            throw JsonBody.bad("acknowledgments must be an array, got " + body.kind());
        }
        List<AckItem> items = new ArrayList<>();
        Item item = new Item(ALONE);
        while (body.nextElement()) {
            item = item.next(items.size());
            if (body.token() != JsonToken.START_OBJECT) {
                throw JsonBody.bad(
                        "acknowledgments["
                                + items.size()
                                + "] must be an object, got "
                                + body.kind());
            }
            for (String name = body.nextName(); name != null; name = body.nextName()) {
                item.read(name, body);
            }
            items.add(item.value());
        }
        return items;
    }

    private static String group(@Nullable String group) {
        return group == null || group.isEmpty()
                ? Names.QUEUE_MODE
                : Names.name("consumerGroup", group);
    }

    /** One acknowledgement being read; neighbours mostly share their lane and lease. */
    private static final class Item {
        private final int index;
        private @Nullable String likelyPartition;
        private @Nullable String likelyLease;
        private @Nullable String transactionId;
        private @Nullable String partitionId;
        private @Nullable String leaseId;
        private @Nullable String error;
        private AckStatus status = AckStatus.COMPLETED;

        /**
         * @param index where it stands in its list, or {@link #ALONE}
         */
        Item(int index) {
            this.index = index;
        }

        Item next(int nextIndex) {
            Item next = new Item(nextIndex);
            next.likelyPartition = partitionId;
            next.likelyLease = leaseId;
            return next;
        }

        void read(String name, JsonBody body) {
            switch (name) {
                case "transactionId" -> transactionId = text(name, body, null);
                case "partitionId" -> partitionId = text(name, body, likelyPartition);
                case "leaseId" -> leaseId = text(name, body, likelyLease);
                case "status" -> status = AckStatus.of(text(name, body, null));
                case "error" -> error = text(name, body, null);
                default -> body.skip();
            }
        }

        private @Nullable String text(String name, JsonBody body, @Nullable String likely) {
            return body.token() == JsonToken.VALUE_STRING
                    ? body.text(likely)
                    : body.textOrNull(
                            index == ALONE ? name : "acknowledgments[" + index + "]." + name);
        }

        AckItem value() {
            return new AckItem(transactionId, partitionId, leaseId, status, storable(error));
        }
    }

    /** A reason that PostgreSQL can hold: it is shown to people, so it is mended, not refused. */
    static @Nullable String storable(@Nullable String error) {
        if (error == null || error.isEmpty()) {
            return null;
        }
        StringBuilder mended = new StringBuilder(Math.min(error.length(), ERROR_CHARACTERS_MAX));
        error.codePoints()
                .limit(ERROR_CHARACTERS_MAX)
                .map(
                        c ->
                                c == 0
                                                || (c >= Character.MIN_SURROGATE
                                                        && c <= Character.MAX_SURROGATE)
                                        ? '\ufffd'
                                        : c)
                .forEach(mended::appendCodePoint);
        return mended.toString();
    }

    /** One result per item, in the order of the items. */
    static JsonBuffer write(List<AckItem> items, List<AckResult> results) {
        JsonBuffer json = new JsonBuffer(2 + RESULT_BYTES * items.size()).raw('[');
        for (int i = 0; i < results.size(); i++) {
            AckResult result = results.get(i);
            json.raw(i == 0 ? "" : ",").raw(INDEX).number(i);
            json.raw(TRANSACTION_ID).string(items.get(i).transactionId());
            json.raw(SUCCESS).bool(result.success());
            json.raw(ERROR).string(result.error());
            json.raw(RELEASED).bool(result.leaseReleased());
            json.raw(DEAD_LETTER).bool(result.deadLettered());
            json.raw(NOOP).bool(result.noop());
            Long conflated = result.conflated();
            if (conflated != null) {
                json.raw(CONFLATED).number(conflated);
            }
            json.raw('}');
        }
        return json.raw(']');
    }
}
