package io.queenmq.http;

import com.fasterxml.jackson.core.JsonToken;
import io.queenmq.ack.AckStatus;
import io.queenmq.ack.TransactionAcks;
import io.queenmq.kv.Kv;
import io.queenmq.kv.KvOp;
import io.queenmq.model.Excerpt;
import io.queenmq.model.Failure;
import io.queenmq.model.Names;
import io.queenmq.model.QueenException;
import io.queenmq.model.Slice;
import io.queenmq.model.Uuids;
import io.queenmq.push.PushItem;
import io.queenmq.timer.TimerOp;
import io.queenmq.timer.TimerResult;
import io.queenmq.timer.TimersConfig;
import io.queenmq.transact.TransactRequest;
import io.queenmq.transact.TransactRequest.Step;
import io.queenmq.transact.TransactResult;
import io.queenmq.transact.TransactResult.Done;
import io.queenmq.transact.TransactResult.OnKeys;
import io.queenmq.web.JsonBody;
import io.queenmq.web.JsonBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A transaction as it looks on the wire. Pure. */
final class TransactionJson {
    private static final Slice NO_PAYLOAD = Slice.utf8("{}");
    private static final int RESULT_BYTES = 192;

    private TransactionJson() {}

    /** JSON, but no transaction: answered in the form of one. */
    static final class Malformed extends RuntimeException {
        private static final long serialVersionUID = 1L;

        private final String sentence;

        Malformed(String sentence) {
            super(sentence);
            this.sentence = sentence;
        }

        String sentence() {
            return sentence;
        }
    }

    /**
     * All of it is read before anything is done, and never more of it kept than may be done.
     *
     * @param stepsMax most pushed items and acks, and most required leases
     * @throws QueenException the body is not JSON, or no route of keys or timers would take what
     *     rides along; then with a reason
     * @throws Malformed it is no transaction
     */
    static TransactRequest read(
            byte[] bytes, int stepsMax, Kv.Limits kvLimits, TimersConfig timerBounds) {
        try (JsonBody body = new JsonBody(bytes)) {
            Drafts operations = null;
            String kind = "nothing";
            List<String> leases = List.of();
            List<KvOp> keys = List.of();
            List<TimerOp> timers = List.of();
            for (String name = body.nextName(); name != null; name = body.nextName()) {
                switch (name) {
                    case "operations" -> {
                        kind = body.kind();
                        operations = Drafts.read(body, "operations", new Room(stepsMax), true);
                    }
                    case "requiredLeases" -> leases = leases(body, stepsMax);
                    case "kv" -> {
                        if (isRider(name, body)) {
                            keys = KvJson.operations(body, name, kvLimits);
                        }
                    }
                    case "timers" -> {
                        if (isRider(name, body)) {
                            timers = TimerJson.operations(body, name, timerBounds);
                        }
                    }
                    default -> body.skip();
                }
            }
            body.end();
            List<Step> steps = new ArrayList<>();
            if (operations != null) {
                within("push items and acks", stepsMax, operations.steps());
                operations.kept().forEach(operation -> operation.addTo(steps));
            } else if ((keys.isEmpty() && timers.isEmpty())
                    || !(kind.equals("nothing") || kind.equals("null"))) {
                throw new Malformed("transaction requires an operations array, got " + kind);
            }
            return new TransactRequest(steps, leases, keys, timers);
        }
    }

    /** What is no lease id is nobody's lease to require. */
    private static List<String> leases(JsonBody body, int most) {
        List<String> leases = new ArrayList<>();
        if (body.token() != JsonToken.START_ARRAY) {
            body.skip();
            return leases;
        }
        int count = 0;
        while (body.nextElement()) {
            count++;
            if (count <= most && body.token() == JsonToken.VALUE_STRING) {
                leases.add(body.text());
            } else {
                body.skip();
            }
        }
        within("requiredLeases", most, count);
        return leases;
    }

    private static void within(String what, int most, int count) {
        if (count > most) {
            throw new Malformed(
                    "a transaction takes at most %d %s, got %d".formatted(most, what, count));
        }
    }

    /** Whether there is an array of what rides along. */
    private static boolean isRider(String name, JsonBody body) {
        if (body.token() == JsonToken.VALUE_NULL) {
            return false;
        }
        if (body.token() != JsonToken.START_ARRAY) {
            throw new Malformed(name + " must be an array, got " + body.kind());
        }
        return true;
    }

    /**
     * A field that should be a string.
     *
     * @param value null = it is something else
     */
    private record Text(@Nullable String value, String kind) {
        static @Nullable Text read(JsonBody body) {
            return switch (body.token()) {
                case VALUE_NULL -> null;
                case VALUE_STRING -> new Text(body.text(), "a string");
                default -> {
                    Text text = new Text(null, body.kind());
                    body.skip();
                    yield text;
                }
            };
        }
    }

    /** How many items may still be kept: a few bytes of body can say a lot of empty ones. */
    private static final class Room {
        private final int most;
        private int asked;

        private Room(int most) {
            this.most = most;
        }

        private boolean take() {
            return ++asked <= most;
        }

        /** How many asked, if too many. */
        private int excess() {
            return asked > most ? asked : 0;
        }
    }

    /**
     * Operations, or items of one.
     *
     * @param kept as many as there was room for
     * @param steps what all of them come to, those left out included
     */
    private record Drafts(List<Draft> kept, int steps) {
        /** Null if it is no array. */
        static @Nullable Drafts read(JsonBody body, String path, Room room, boolean operations) {
            if (body.token() != JsonToken.START_ARRAY) {
                body.skip();
                return null;
            }
            // Operations and their items have room apart: an operation is no step of its own.
            Room own = operations ? new Room(room.most) : room;
            List<Draft> kept = new ArrayList<>();
            int count = 0;
            int steps = 0;
            while (body.nextElement()) {
                if (own.take()) {
                    Draft draft = new Draft(path, count, operations ? room : null);
                    draft.read(body);
                    kept.add(draft);
                    steps += draft.items == null ? 1 : draft.items.steps();
                } else {
                    body.skip();
                    steps++;
                }
                count++;
            }
            if (operations) {
                steps = Math.max(steps, Math.max(own.excess(), room.excess()));
            }
            return new Drafts(kept, steps);
        }
    }

    /** An operation or an item of one; which fields count shows when all have been read. */
    private static final class Draft {
        private final String list;
        private final int index;

        /** Of the items; null = it is an item itself and has none. */
        private final @Nullable Room room;

        private String kind = "an object";
        private @Nullable Text type;
        private @Nullable Text queue;
        private @Nullable Text partition;
        private @Nullable Text transactionId;
        private @Nullable Text traceId;
        private @Nullable Text partitionId;
        private @Nullable Text consumerGroup;
        private @Nullable Text leaseId;
        private @Nullable Text status;
        private @Nullable Text error;
        private @Nullable Slice payload;
        private @Nullable Slice data;
        private @Nullable Drafts items;
        private @Nullable String itemsKind;

        private Draft(String list, int index, @Nullable Room room) {
            this.list = list;
            this.index = index;
            this.room = room;
        }

        private String path() {
            return list + "[" + index + "]";
        }

        private void read(JsonBody body) {
            kind = body.kind();
            if (body.token() != JsonToken.START_OBJECT) {
                body.skip();
                return;
            }
            for (String name = body.nextName(); name != null; name = body.nextName()) {
                switch (name) {
                    case "type" -> type = Text.read(body);
                    case "queue" -> queue = Text.read(body);
                    case "partition" -> partition = Text.read(body);
                    case "transactionId" -> transactionId = Text.read(body);
                    case "traceId" -> traceId = Text.read(body);
                    case "partitionId" -> partitionId = Text.read(body);
                    case "consumerGroup" -> consumerGroup = Text.read(body);
                    case "leaseId" -> leaseId = Text.read(body);
                    case "status" -> status = Text.read(body);
                    case "error" -> error = Text.read(body);
                    case "payload" -> payload = body.raw();
                    case "data" -> data = body.raw();
                    case "items" -> {
                        itemsKind = body.kind();
                        if (room == null) {
                            body.skip();
                        } else {
                            items = Drafts.read(body, path() + ".items", room, false);
                        }
                    }
                    default -> body.skip();
                }
            }
        }

        void addTo(List<Step> steps) {
            requireObject();
            String operation = text("type", type);
            switch (operation) {
                case null -> throw new Malformed(path() + ".type is required: push or ack");
                case "push" -> addPushes(steps);
                case "ack" -> steps.add(new Step.Ack(ack()));
                case "kv", "timer", "timers" ->
                        throw new Malformed(
                                path()
                                        + ".type must be push or ack, got "
                                        + operation
                                        + ": kv and timers are arrays beside operations");
                default ->
                        throw new Malformed(
                                path() + ".type must be push or ack, got " + Excerpt.of(operation));
            }
        }

        private void addPushes(List<Step> steps) {
            if (itemsKind == null || itemsKind.equals("null")) {
                steps.add(new Step.Push(push()));
            } else if (items == null) {
                throw new Malformed(path() + ".items must be an array, got " + itemsKind);
            } else {
                for (Draft item : items.kept()) {
                    item.requireObject();
                    steps.add(new Step.Push(item.push()));
                }
            }
        }

        private void requireObject() {
            if (!kind.equals("an object")) {
                throw new Malformed(path() + " must be an object, got " + kind);
            }
        }

        private PushItem push() {
            String name = text("queue", queue);
            String lane = text("partition", partition);
            String id = text("transactionId", transactionId);
            Slice bytes = payload == null ? data : payload;
            return new PushItem(
                    fit(() -> Names.name(path() + ".queue", name)),
                    lane == null || lane.isEmpty()
                            ? Names.DEFAULT_PARTITION
                            : fit(() -> Names.name(path() + ".partition", lane)),
                    id == null || id.isEmpty()
                            ? null
                            : fit(() -> Names.transactionId(path() + ".transactionId", id)),
                    traceId == null || traceId.value() == null
                            ? null
                            : Uuids.parse(traceId.value()),
                    bytes == null ? NO_PAYLOAD : bytes);
        }

        private TransactionAcks.Item ack() {
            String id = text("transactionId", transactionId);
            if (id == null || id.isEmpty()) {
                throw new Malformed(path() + ".transactionId is required");
            }
            String group = text("consumerGroup", consumerGroup);
            return new TransactionAcks.Item(
                    group == null || group.isEmpty()
                            ? Names.QUEUE_MODE
                            : fit(() -> Names.name(path() + ".consumerGroup", group)),
                    lane(),
                    fit(() -> Names.transactionId(path() + ".transactionId", id)),
                    text("leaseId", leaseId),
                    AckStatus.of(text("status", status)),
                    AckJson.storable(text("error", error)));
        }

        private UUID lane() {
            String id = text("partitionId", partitionId);
            UUID lane = id == null ? null : Uuids.parse(id);
            if (lane == null) {
                throw new Malformed(path() + ".partitionId must be a UUID, got " + Excerpt.of(id));
            }
            return lane;
        }

        private @Nullable String text(String field, @Nullable Text text) {
            if (text == null) {
                return null;
            }
            if (text.value() == null) {
                throw new Malformed(path() + "." + field + " must be a string, got " + text.kind());
            }
            return text.value();
        }

        private static String fit(Supplier<String> name) {
            try {
                return name.get();
            } catch (QueenException e) {
                throw new Malformed(e.detail());
            }
        }
    }

    /** The answer to a transaction that the database has decided. */
    static JsonBuffer write(UUID id, TransactResult result) {
        return switch (result) {
            case TransactResult.Committed committed -> write(id, committed);
            case TransactResult.PreconditionLost lost -> {
                JsonBuffer json = rolledBack(id, Failure.KV_PRECONDITION.code(), lost.error());
                json.raw(",\"ok\":false,");
                KvJson.precondition(json, lost.index(), lost.found());
                yield json.raw(",\"results\":[]}");
            }
            case TransactResult.RolledBack(Failure reason, String error) ->
                    refusal(id, reason.code(), error);
        };
    }

    private static JsonBuffer write(UUID id, TransactResult.Committed committed) {
        List<Done> steps = committed.steps();
        List<OnKeys> keys = committed.keys();
        List<TimerResult> timers = committed.timers();
        int count = steps.size() + keys.size() + timers.size();
        JsonBuffer json = new JsonBuffer(80 + RESULT_BYTES * count);
        json.raw("{\"transactionId\":").uuid(id).raw(",\"success\":true,\"results\":[");
        for (int i = 0; i < steps.size(); i++) {
            json.raw(i == 0 ? "{\"index\":" : ",{\"index\":").number(i);
            switch (steps.get(i)) {
                case Done.Pushed pushed -> {
                    json.raw(",\"type\":\"push\",\"success\":true,\"transactionId\":");
                    json.string(pushed.transactionId());
                    json.raw(",\"messageId\":").uuid(pushed.messageId());
                    json.raw(",\"queueName\":").string(pushed.queue());
                    if (pushed.duplicate()) {
                        json.raw(",\"duplicate\":true");
                    }
                }
                case Done.Acked acked -> {
                    json.raw(",\"type\":\"ack\",\"success\":true,\"transactionId\":");
                    json.string(acked.transactionId());
                    json.raw(",\"error\":null,\"dlq\":").bool(acked.deadLettered());
                }
            }
            json.raw('}');
        }
        for (int i = 0; i < keys.size(); i++) {
            rider(json, steps.size() + i, "kv", i);
            KvJson.fields(json, keys.get(i).op(), keys.get(i).result());
            json.raw('}');
        }
        for (int i = 0; i < timers.size(); i++) {
            rider(json, steps.size() + keys.size() + i, "timer", i);
            TimerJson.fields(json, timers.get(i));
            json.raw('}');
        }
        return json.raw("]}");
    }

    /** The beginning of a result of what rides along. */
    private static void rider(JsonBuffer json, int index, String type, int opIndex) {
        json.raw(index == 0 ? "{\"index\":" : ",{\"index\":").number(index);
        json.raw(",\"type\":").string(type).raw(",\"opIndex\":").number(opIndex).raw(',');
    }

    /** The answer to a transaction of which nothing took effect, or that is in doubt. */
    static JsonBuffer refusal(UUID id, String reason, String error) {
        return rolledBack(id, reason, error).raw(",\"results\":[]}");
    }

    private static JsonBuffer rolledBack(UUID id, String reason, String error) {
        return new JsonBuffer(160)
                .raw("{\"transactionId\":")
                .uuid(id)
                .raw(",\"success\":false,\"reason\":")
                .string(reason)
                .raw(",\"error\":")
                .string(error);
    }
}
