package io.queenmq.admin;

import com.fasterxml.jackson.core.JsonToken;
import io.queenmq.model.Excerpt;
import io.queenmq.model.Failure;
import io.queenmq.model.Ids;
import io.queenmq.model.Names;
import io.queenmq.model.QueenException;
import io.queenmq.model.Slice;
import io.queenmq.model.Uuids;
import io.queenmq.trace.NewTrace;
import io.queenmq.trace.Trace;
import io.queenmq.trace.TraceNames;
import io.queenmq.trace.Traces;
import io.queenmq.web.JsonBody;
import io.queenmq.web.JsonBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** Notes of applications about messages, on the wire. Pure. */
final class TraceJson {
    private static final int DATA_BYTES_MAX = 1 << 20;
    private static final int NAMES_MAX = 100;

    private TraceJson() {}

    static NewTrace read(byte[] bytes) {
        String transactionId = null;
        String partitionId = null;
        String group = null;
        String eventType = null;
        Slice data = null;
        List<String> names = List.of();
        try (JsonBody body = new JsonBody(bytes)) {
            for (String name = body.nextName(); name != null; name = body.nextName()) {
                switch (name) {
                    case "transactionId" -> transactionId = body.textOrNull(name);
                    case "partitionId" -> partitionId = body.textOrNull(name);
                    case "consumerGroup" -> group = body.textOrNull(name);
                    case "eventType" -> eventType = body.textOrNull(name);
                    case "data" -> data = body.raw();
                    case "traceNames" -> names = names(body);
                    default -> body.skip();
                }
            }
            body.end();
        }
        if (transactionId == null
                || transactionId.isEmpty()
                || partitionId == null
                || partitionId.isEmpty()) {
            throw bad("transactionId and partitionId are required");
        }
        if (data == null) {
            throw bad("data is required");
        }
        if (data.length() > DATA_BYTES_MAX) {
            throw bad("data must be at most " + DATA_BYTES_MAX + " bytes, got " + data.length());
        }
        UUID partition = Uuids.parse(partitionId);
        if (partition == null) {
            throw bad("partitionId must be a UUID, got " + Excerpt.of(partitionId));
        }
        return new NewTrace(
                Ids.partitionNumber(partition),
                Names.transactionId("transactionId", transactionId),
                group == null || group.isEmpty()
                        ? Names.QUEUE_MODE
                        : Names.name("consumerGroup", group),
                eventType == null || eventType.isEmpty()
                        ? "info"
                        : Names.name("eventType", eventType),
                data,
                names);
    }

    /** One name or several; what is no string is passed over. */
    private static List<String> names(JsonBody body) {
        List<String> names = new ArrayList<>();
        if (body.token() == JsonToken.VALUE_STRING) {
            add(names, body.text());
        } else if (body.token() == JsonToken.START_ARRAY) {
            while (body.nextElement()) {
                if (body.token() == JsonToken.VALUE_STRING) {
                    add(names, body.text());
                } else {
                    body.skip();
                }
            }
        } else {
            body.skip();
        }
        return names;
    }

    private static void add(List<String> names, String name) {
        names.add(Names.name("traceNames", name));
        if (names.size() > NAMES_MAX) {
            throw bad("traceNames must be at most " + NAMES_MAX);
        }
    }

    private static QueenException bad(String sentence) {
        return new QueenException(Failure.BAD_REQUEST, sentence);
    }

    static JsonBuffer added(UUID id) {
        return new JsonBuffer(128).raw("{\"success\":true,\"traceId\":").uuid(id).raw('}');
    }

    static JsonBuffer ofMessage(List<Trace> traces) {
        JsonBuffer json = new JsonBuffer(1_024).raw("{\"traces\":[");
        for (Trace trace : traces) {
            begin(json, trace);
            json.raw('}');
        }
        return json.raw("]}");
    }

    /**
     * @param total counted to {@link Traces#COUNTED_MAX}
     */
    static JsonBuffer named(List<Trace> traces, long total, int limit, int offset) {
        JsonBuffer json = new JsonBuffer(1_024).raw("{\"traces\":[");
        for (Trace trace : traces) {
            begin(json, trace);
            json.raw(",\"transaction_id\":").string(trace.transactionId());
            json.raw(",\"partition_id\":").uuid(Ids.partitionId(trace.partitionNumber()));
            json.raw(",\"queue_name\":").string(trace.queue());
            json.raw(",\"partition_name\":").string(trace.partition());
            json.raw(",\"message_payload\":null}");
        }
        return end(json, total, limit, offset);
    }

    private static void begin(JsonBuffer json, Trace trace) {
        json.raw(json.endsWith('[') ? "{\"id\":" : ",{\"id\":").uuid(trace.id());
        json.raw(",\"event_type\":").string(trace.eventType());
        String data = trace.data();
        json.raw(",\"data\":");
        json.raw((data == null ? "null" : data).getBytes(StandardCharsets.UTF_8));
        json.raw(",\"consumer_group\":").string(trace.group());
        json.raw(",\"worker_id\":").string(trace.worker());
        json.raw(",\"created_at\":").millis(trace.createdAt());
        json.raw(",\"trace_names\":").raw(trace.names().getBytes(StandardCharsets.UTF_8));
        if (data == null) {
            json.raw(",\"dataOmitted\":true");
        }
    }

    static JsonBuffer names(TraceNames names, int limit, int offset) {
        JsonBuffer json = new JsonBuffer(1_024).raw("{\"trace_names\":[");
        for (TraceNames.Name name : names.names()) {
            json.raw(json.endsWith('[') ? "{" : ",{");
            json.raw("\"trace_name\":").string(name.name());
            json.raw(",\"trace_count\":").number(name.traces());
            json.raw(",\"message_count\":").number(name.messages());
            json.raw(",\"last_seen\":").millis(name.lastSeen());
            if (!name.complete()) {
                json.raw(",\"capped\":true");
            }
            json.raw('}');
        }
        return end(json, names.total(), limit, offset);
    }

    private static JsonBuffer end(JsonBuffer json, long total, int limit, int offset) {
        json.raw("],\"total\":").number(total);
        if (total == Traces.COUNTED_MAX) {
            json.raw(",\"capped\":true");
        }
        json.raw(",\"pagination\":{\"limit\":").number(limit);
        return json.raw(",\"offset\":").number(offset).raw("}}");
    }

    static JsonBuffer notFound() {
        return new JsonBuffer(64).raw("{\"error\":\"Message not found\"}");
    }
}
