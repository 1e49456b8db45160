package io.queenmq.http;

import com.fasterxml.jackson.core.JsonToken;
import io.queenmq.model.Failure;
import io.queenmq.model.Names;
import io.queenmq.model.QueenException;
import io.queenmq.timer.PendingTimer;
import io.queenmq.timer.TimerOp;
import io.queenmq.timer.TimerResult;
import io.queenmq.timer.TimersConfig;
import io.queenmq.web.JsonBody;
import io.queenmq.web.JsonBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Timers as JSON: lists of operations, their results, and what is scheduled. */
final class TimerJson {
    private static final int RESULT_BYTES = 256;
    private static final int ROW_BYTES = 512;

    private TimerJson() {}

    /** Refusal of a request that says something else than operations on timers. */
    static QueenException bad(String reason, String detail) {
        return new QueenException(Failure.BAD_REQUEST, reason, detail);
    }

    /**
     * Operations, as an array or as the field of that name of an object; what they are is still to
     * be looked at.
     *
     * @throws QueenException there are none or too many
     */
    static List<TimerDraft> read(byte[] bytes, TimersConfig bounds) {
        try (JsonBody body = JsonBody.arrayOrObject(bytes)) {
            List<TimerDraft> ops = null;
            if (body.token() == JsonToken.START_ARRAY) {
                ops = drafts(body, "operations", bounds.operationsMax());
            } else {
                for (String name = body.nextName(); name != null; name = body.nextName()) {
                    if (name.equals("operations") && body.token() == JsonToken.START_ARRAY) {
                        ops = drafts(body, name, bounds.operationsMax());
                    } else {
                        body.skip();
                    }
                }
            }
            body.end();
            if (ops == null) {
                throw bad("timers_bad_body", "the body must be an array, or hold one: operations");
            }
            return ops;
        } catch (QueenException e) {
            throw e.failure() == Failure.BAD_REQUEST && e.reason() == null
                    ? bad("timers_bad_body", e.detail())
                    : e;
        }
    }

    /**
     * The elements of the array that a transaction carries; all are read before any is believed.
     *
     * @param path of the array, for sentences
     */
    static List<TimerOp> operations(JsonBody body, String path, TimersConfig bounds) {
        return operations(drafts(body, path, bounds.ridersMax()), bounds);
    }

    private static List<TimerDraft> drafts(JsonBody body, String path, int most) {
        List<TimerDraft> drafts = new ArrayList<>();
        int count = 0;
        while (body.nextElement()) {
            if (count < most) {
                drafts.add(TimerDraft.read(body, path + "[" + count + "]"));
            } else {
                body.skip();
            }
            count++;
        }
        if (count > most) {
            throw bad(
                    "timers_too_many_ops",
                    "a call takes at most %d timer operations, got %d".formatted(most, count));
        }
        return drafts;
    }

    /**
     * What they say.
     *
     * @throws QueenException one is no operation, or its payload is too long, or one occurs twice
     */
    static List<TimerOp> operations(List<TimerDraft> drafts, TimersConfig bounds) {
        List<TimerOp> ops = new ArrayList<>(drafts.size());
        Set<List<String>> timers = new HashSet<>();
        for (TimerDraft draft : drafts) {
            TimerOp op = draft.operation(bounds);
            if (!timers.add(List.of(op.queue(), op.timerKey()))) {
                throw bad(
                        "timers_duplicate_key",
                        "timer %s of queue %s occurs twice: a call may change it once"
                                .formatted(op.timerKey(), op.queue()));
            }
            ops.add(op);
        }
        return ops;
    }

    /** Name of a queue that a timer may have. */
    static String queue(String field, @Nullable String name) {
        if (name == null || name.isEmpty()) {
            throw bad("timers_queue_required", field + " is required");
        }
        return fit("timers_queue_invalid", field, name, Names.NAME_BYTES_MAX);
    }

    /** Key that a timer may have. */
    static String timerKey(String field, @Nullable String key) {
        if (key == null || key.isEmpty()) {
            throw bad("timers_key_required", field + " is required");
        }
        return fit("timers_key_too_large", field, key, TimerDraft.KEY_BYTES_MAX);
    }

    static String fit(String reason, String field, String value, int bytesMax) {
        try {
            return Names.checked(field, value, bytesMax);
        } catch (QueenException e) {
            throw bad(reason, e.detail());
        }
    }

    /** Whether these bytes are one JSON value in UTF-8, and nothing else. */
    static boolean isJson(byte[] text) {
        byte[] object = new byte[text.length + 6];
        byte[] head = JsonBuffer.ascii("{\"v\":");
        System.arraycopy(head, 0, object, 0, head.length);
        System.arraycopy(text, 0, object, head.length, text.length);
        object[object.length - 1] = '}';
        try (JsonBody body = new JsonBody(object)) {
            if (body.nextName() == null || body.token() == JsonToken.END_OBJECT) {
                return false;
            }
            body.skip();
            boolean alone = body.nextName() == null;
            body.end();
            return alone;
        } catch (QueenException e) {
            return false;
        }
    }

    /** The answer to a list of operations. */
    static JsonBuffer write(List<TimerResult> results) {
        JsonBuffer json = new JsonBuffer(16 + RESULT_BYTES * results.size());
        json.raw("{\"results\":[");
        for (int i = 0; i < results.size(); i++) {
            json.raw(i == 0 ? "{" : ",{");
            fields(json, results.get(i));
            json.raw('}');
        }
        return json.raw("]}");
    }

    /** The answer to one operation. */
    static JsonBuffer write(TimerResult result) {
        JsonBuffer json = new JsonBuffer(RESULT_BYTES).raw('{');
        fields(json, result);
        return json.raw('}');
    }

    /** The fields of a result, without braces. */
    static void fields(JsonBuffer json, TimerResult result) {
        TimerOp op = result.op();
        String status =
                switch (result) {
                    case TimerResult.Scheduled(_, boolean replaced, _, _, _) ->
                            replaced ? "rescheduled" : "scheduled";
                    case TimerResult.Cancelled _ -> "cancelled";
                    case TimerResult.Absent _ -> "absent";
                    case TimerResult.TooLate _ -> "too_late";
                };
        boolean ok =
                result instanceof TimerResult.Scheduled || result instanceof TimerResult.Cancelled;
        json.raw("\"ok\":").bool(ok).raw(",\"status\":").string(status);
        json.raw(",\"queue\":").string(op.queue());
        json.raw(",\"timerKey\":").string(op.timerKey());
        switch (result) {
            case TimerResult.Scheduled scheduled -> {
                json.raw(",\"txn\":").string(scheduled.transactionId());
                json.raw(",\"messageId\":").uuid(scheduled.messageId());
                json.raw(",\"deliverAt\":").instant(scheduled.deliverAt());
            }
            case TimerResult.Cancelled cancelled ->
                    json.raw(",\"txn\":").string(cancelled.transactionId());
            case TimerResult.Absent absent ->
                    json.raw(",\"txn\":").string(absent.op().transactionId());
            case TimerResult.TooLate _ -> {
                // Nothing more is known.
            }
        }
    }

    /** One timer with its payload. */
    static JsonBuffer write(String queue, PendingTimer timer) {
        byte[] payload = timer.payload() == null ? new byte[0] : timer.payload();
        JsonBuffer json = new JsonBuffer(ROW_BYTES + payload.length * 4 / 3);
        json.raw("{\"found\":true,");
        row(json, queue, timer);
        json.raw(",\"payload\":\"").raw(Base64.getEncoder().encode(payload)).raw('"');
        return json.raw('}');
    }

    /** There is no such timer. */
    static JsonBuffer missing(String queue, String timerKey) {
        return new JsonBuffer(RESULT_BYTES)
                .raw("{\"found\":false,\"queue\":")
                .string(queue)
                .raw(",\"timerKey\":")
                .string(timerKey)
                .raw('}');
    }

    /**
     * A page of timers.
     *
     * @param rows one more than {@code limit} where there is another page
     */
    static JsonBuffer write(String queue, List<PendingTimer> rows, int limit) {
        List<PendingTimer> page = rows.size() > limit ? rows.subList(0, limit) : rows;
        JsonBuffer json = new JsonBuffer(64 + ROW_BYTES * page.size()).raw("{\"rows\":[");
        for (int i = 0; i < page.size(); i++) {
            json.raw(i == 0 ? "{" : ",{");
            row(json, queue, page.get(i));
            json.raw('}');
        }
        json.raw("],\"truncated\":").bool(rows.size() > limit).raw(",\"nextAfter\":");
        json.string(rows.size() > limit ? page.getLast().timerKey() : null);
        return json.raw('}');
    }

    static JsonBuffer count(long count) {
        return new JsonBuffer(32).raw("{\"count\":").number(count).raw('}');
    }

    private static void row(JsonBuffer json, String queue, PendingTimer timer) {
        json.raw("\"queue\":").string(queue);
        json.raw(",\"timerKey\":").string(timer.timerKey());
        json.raw(",\"partition\":").string(timer.partition());
        json.raw(",\"deliverAt\":").instant(timer.deliverAt());
        json.raw(",\"txn\":").string(timer.transactionId());
        json.raw(",\"messageId\":").uuid(timer.messageId());
        // Payloads are stored as the text they are.
        json.raw(",\"payloadZstd\":false,\"encrypted\":").bool(timer.encrypted());
        json.raw(",\"dedup\":").bool(timer.dedup());
        json.raw(",\"producerSub\":").string(timer.producer());
        json.raw(",\"attempts\":").number(timer.attempts());
        json.raw(",\"lastError\":").string(timer.lastError());
        json.raw(",\"claimed\":").bool(timer.claimed());
        json.raw(",\"createdAt\":").instant(timer.createdAt());
        json.raw(",\"updatedAt\":").instant(timer.updatedAt());
    }
}
