package io.queenmq.http;

import com.fasterxml.jackson.core.JsonToken;
import io.queenmq.model.Excerpt;
import io.queenmq.model.Failure;
import io.queenmq.model.Ids;
import io.queenmq.model.Names;
import io.queenmq.model.QueenException;
import io.queenmq.model.Slice;
import io.queenmq.queue.QueueOptions;
import io.queenmq.queue.Queues;
import io.queenmq.queue.Queues.Mode;
import io.queenmq.queue.Queues.Option;
import io.queenmq.web.JsonBody;
import io.queenmq.web.JsonBuffer;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** The configuration of a queue as it looks on the wire. Pure. */
final class QueueJson {
    private static final List<String> LABELS = List.of("namespace", "task");

    private QueueJson() {}

    /** What {@code /configure} is asked for. */
    record Request(String queue, @Nullable Mode mode, Map<String, Option> options) {}

    /** The options are an object of their own or, without one, stand beside the queue. */
    static Request read(byte[] bytes) {
        try (JsonBody body = new JsonBody(bytes)) {
            String queue = null;
            Mode mode = null;
            Map<String, Option> bag = null;
            Map<String, Option> beside = new LinkedHashMap<>();
            for (String name = body.nextName(); name != null; name = body.nextName()) {
                switch (name) {
                    case "queue" -> {
                        queue = body.token() == JsonToken.VALUE_STRING ? body.text() : null;
                        body.skip();
                    }
                    case "mode" -> mode = mode(body);
                    case "options" -> {
                        bag = body.token() == JsonToken.START_OBJECT ? bag(body) : null;
                        body.skip();
                    }
                    default -> beside.put(name, option(body));
                }
            }
            body.end();
            if (queue == null) {
                throw new QueenException(Failure.BAD_REQUEST, "queue is required");
            }
            Names.checked("queue", queue, Names.NAME_BYTES_MAX);
            return new Request(queue, mode, bag == null ? beside : withLabels(bag, beside));
        }
    }

    private static Map<String, Option> withLabels(
            Map<String, Option> bag, Map<String, Option> beside) {
        for (String label : LABELS) {
            Option option = beside.get(label);
            if (option != null
                    && option.kind() == Option.Kind.STRING
                    && !"".equals(option.text())) {
                bag.putIfAbsent(label, option);
            }
        }
        return bag;
    }

    private static Map<String, Option> bag(JsonBody body) {
        Map<String, Option> bag = new LinkedHashMap<>();
        for (String name = body.nextName(); name != null; name = body.nextName()) {
            bag.put(name, option(body));
        }
        return bag;
    }

    private static Option option(JsonBody body) {
        return switch (body.token()) {
            case VALUE_STRING -> new Option(Option.Kind.STRING, body.text());
            case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT ->
                    new Option(Option.Kind.NUMBER, body.text());
            case VALUE_TRUE, VALUE_FALSE -> new Option(Option.Kind.BOOLEAN, body.text());
            case VALUE_NULL -> new Option(Option.Kind.NULL, null);
            default -> {
                body.skip();
                yield new Option(Option.Kind.COMPOSITE, null);
            }
        };
    }

    private static @Nullable Mode mode(JsonBody body) {
        if (body.token() == JsonToken.VALUE_NULL) {
            return null;
        }
        Slice raw = body.raw();
        return switch (raw.toString()) {
            case "\"merge\"" -> Mode.MERGE;
            case "\"replace\"" -> Mode.REPLACE;
            default ->
                    throw new QueenException(
                            Failure.BAD_REQUEST,
                            "mode must be \"merge\" or \"replace\", got " + Excerpt.of(raw));
        };
    }

    /** The queue as it is configured now. */
    static JsonBuffer write(String queue, Queues.Configured configured) {
        QueueOptions options = configured.options();
        JsonBuffer json = new JsonBuffer(1_024).raw("{\"configured\":true,\"queueId\":");
        json.uuid(Ids.queueId(configured.queueId()));
        json.raw(",\"partitionId\":null,\"queue\":").string(queue);
        json.raw(",\"namespace\":").string(options.namespace());
        json.raw(",\"task\":").string(options.task());
        json.raw(",\"storage\":\"segments\",\"options\":{");
        number(json, "leaseTime", options.leaseSeconds());
        number(json, "retryLimit", options.retryLimit());
        number(json, "retryDelay", options.retryDelayMs());
        bool(json, "deadLetterQueue", options.deadLetterQueue());
        bool(json, "dlqAfterMaxRetries", options.dlqAfterMaxRetries());
        number(json, "delayedProcessing", options.delayedProcessingSeconds());
        number(json, "windowBuffer", options.windowBufferSeconds());
        number(json, "minPopWaitTime", options.minPopWaitMs());
        bool(json, "retentionEnabled", options.retentionEnabled());
        number(json, "retentionSeconds", options.retentionSeconds());
        number(json, "completedRetentionSeconds", options.completedRetentionSeconds());
        number(json, "maxWaitTimeSeconds", options.maxWaitSeconds());
        bool(json, "encryptionEnabled", options.encryptionEnabled());
        number(json, "dedupWindowSeconds", options.dedupWindowSeconds());
        number(json, "priority", options.priority());
        number(json, "maxSize", options.maxSize());
        number(json, "ttl", options.ttlSeconds());
        json.raw(",\"retentionSinkHold\":").string(options.retentionSinkHold());
        number(json, "retentionSinkHoldMaxSeconds", options.retentionSinkHoldMaxSeconds());
        json.raw("},\"warnings\":[");
        for (int i = 0; i < configured.warnings().size(); i++) {
            json.raw(i == 0 ? "" : ",").string(configured.warnings().get(i));
        }
        return json.raw("]}");
    }

    private static void number(JsonBuffer json, String name, int value) {
        key(json, name).number(value);
    }

    private static void bool(JsonBuffer json, String name, boolean value) {
        key(json, name).bool(value);
    }

    private static JsonBuffer key(JsonBuffer json, String name) {
        return json.raw(json.endsWith('{') ? "\"" : ",\"").raw(name).raw("\":");
    }

    /** What became of a deletion: what was not there counts as done, for clients delete first. */
    static JsonBuffer deleted(String queue, Queues.Deleted deleted) {
        boolean existed = deleted.existed();
        JsonBuffer json = new JsonBuffer(192).raw("{\"deleted\":").bool(existed);
        json.raw(",\"queue\":").string(queue).raw(",\"existed\":").bool(existed);
        json.raw(",\"diskBytes\":").number(deleted.diskBytes());
        json.raw(",\"pendingTimers\":").number(deleted.timers());
        json.raw(deleted.timersCapped() ? ",\"pendingTimersCapped\":true" : "");
        return json.raw(existed ? "}" : ",\"message\":\"Queue not found, nothing was deleted\"}");
    }
}
