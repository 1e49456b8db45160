package io.queenmq.http;

import com.fasterxml.jackson.core.JsonToken;
import io.queenmq.kv.Kv;
import io.queenmq.kv.KvAnswer;
import io.queenmq.kv.KvOp;
import io.queenmq.kv.KvResult;
import io.queenmq.model.QueenException;
import io.queenmq.web.JsonBody;
import io.queenmq.web.JsonBuffer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Operations on keys as they look on the wire, and their answers. Pure. */
final class KvJson {
    private static final int RESULT_BYTES = 160;

    private KvJson() {}

    /**
     * The operations of a batch: an array, or an object with one.
     *
     * @param limits more operations are counted, not kept
     * @throws QueenException bad request
     */
    static List<KvOp> read(byte[] bytes, Kv.Limits limits) {
        try (JsonBody body = JsonBody.arrayOrObject(bytes)) {
            List<KvOp> ops = null;
            if (body.token() == JsonToken.START_ARRAY) {
                ops = operations(body, "operations", limits);
            } else {
                for (String name = body.nextName(); name != null; name = body.nextName()) {
                    if (name.equals("operations") && body.token() == JsonToken.START_ARRAY) {
                        ops = operations(body, name, limits);
                    } else {
                        body.skip();
                    }
                }
            }
            body.end();
            if (ops == null) {
                throw KvDraft.bad("kv_bad_body", "the body must be an array or have operations");
            }
            return ops;
        }
    }

    /** The elements of the array that the body is at. */
    static List<KvOp> operations(JsonBody body, String list, Kv.Limits limits) {
        List<KvOp> ops = new ArrayList<>();
        int count = 0;
        while (body.nextElement()) {
            if (count < limits.ops()) {
                String path = list + "[" + count + "]";
                if (body.token() != JsonToken.START_OBJECT) {
                    throw KvDraft.bad(
                            "kv_bad_request", path + " must be an object, got " + body.kind());
                }
                KvDraft draft = new KvDraft(path + ".", limits.keys());
                draft.read(body);
                ops.add(draft.operation(limits.prefixLimit()));
            } else {
                body.skip();
            }
            count++;
        }
        if (count > limits.ops()) {
            throw KvDraft.bad(
                    "kv_too_many_ops",
                    "a call takes at most %d operations, got %d".formatted(limits.ops(), count));
        }
        return ops;
    }

    /** The answer to a batch. */
    static JsonBuffer write(List<KvOp> ops, KvAnswer answer) {
        return switch (answer) {
            case KvAnswer.Done(List<KvResult> results) -> {
                JsonBuffer json = new JsonBuffer(32 + RESULT_BYTES * ops.size());
                json.raw("{\"results\":[");
                for (int i = 0; i < ops.size(); i++) {
                    json.raw(i == 0 ? "{\"index\":" : ",{\"index\":").number(i).raw(',');
                    fields(json, ops.get(i), results.get(i));
                    json.raw('}');
                }
                yield json.raw("]}");
            }
            case KvAnswer.PreconditionLost lost -> lost(lost);
        };
    }

    /** The answer to an operation that came alone. */
    static JsonBuffer writeOne(KvOp op, KvAnswer answer) {
        return switch (answer) {
            case KvAnswer.Done(List<KvResult> results) -> {
                JsonBuffer json = new JsonBuffer(RESULT_BYTES).raw("{\"index\":0,");
                fields(json, op, results.getFirst());
                yield json.raw('}');
            }
            case KvAnswer.PreconditionLost lost -> lost(lost);
        };
    }

    private static JsonBuffer lost(KvAnswer.PreconditionLost lost) {
        JsonBuffer json =
                new JsonBuffer(RESULT_BYTES).raw("{\"ok\":false,\"reason\":\"kv_precondition\",");
        precondition(json, lost.index(), lost.result());
        return json.raw('}');
    }

    /** What stands in the way of an operation that had to be applied. */
    static void precondition(JsonBuffer json, int failedIndex, KvResult.Written found) {
        json.raw("\"failedIndex\":").number(failedIndex);
        json.raw(",\"kvReason\":").string(found.refusal());
        json.raw(",\"version\":").number(found.version());
        json.raw(",\"value\":");
        value(json, found);
    }

    /** What an operation and its result say, without the braces. */
    static void fields(JsonBuffer json, KvOp op, KvResult result) {
        json.raw("\"op\":").string(name(op));
        switch (result) {
            case KvResult.Got(String key, KvResult.Row row) -> {
                json.raw(",\"found\":").bool(row != null);
                if (row == null) {
                    json.raw(",\"key\":").string(key);
                } else {
                    json.raw(',');
                    row(json, row);
                }
            }
            case KvResult.GotMany many -> {
                rows(json, many.rows());
                json.raw(",\"missing\":[");
                for (String key : many.missing()) {
                    if (!json.endsWith('[')) {
                        json.raw(',');
                    }
                    json.string(key);
                }
                json.raw("],\"truncated\":").bool(many.truncated());
            }
            case KvResult.Page page -> {
                rows(json, page.rows());
                json.raw(",\"truncated\":").bool(page.truncated());
                json.raw(",\"nextAfter\":").string(nextAfter(page));
            }
            case KvResult.Written written -> {
                json.raw(",\"applied\":").bool(written.applied());
                json.raw(",\"key\":").string(written.key());
                if (!(op instanceof KvOp.Check)) {
                    json.raw(",\"value\":");
                    value(json, written);
                }
                json.raw(",\"version\":").number(written.version());
                if (!written.applied()) {
                    json.raw(",\"reason\":").string(written.refusal());
                }
            }
        }
    }

    /** Where the next page begins. */
    private static @Nullable String nextAfter(KvResult.Page page) {
        if (!page.truncated()) {
            return null;
        }
        return page.passed() == null ? page.rows().getLast().key() : page.passed();
    }

    private static void value(JsonBuffer json, KvResult.Written written) {
        if (written.value() == null) {
            json.raw("null");
        } else {
            json.raw(written.value());
        }
    }

    private static void rows(JsonBuffer json, List<KvResult.Row> rows) {
        json.raw(",\"rows\":[");
        for (KvResult.Row row : rows) {
            json.raw(json.endsWith('[') ? "{" : ",{");
            row(json, row);
            json.raw('}');
        }
        json.raw(']');
    }

    /** The fields of a key that is there. */
    static void row(JsonBuffer json, KvResult.Row row) {
        json.raw("\"key\":").string(row.key());
        if (row.value() != null) {
            json.raw(",\"value\":").raw(row.value());
        }
        json.raw(",\"version\":").number(row.version());
        json.raw(",\"expiresAt\":").instant(row.expiresAt());
        json.raw(",\"updatedAt\":").instant(row.updatedAt());
    }

    private static String name(KvOp op) {
        return switch (op) {
            case KvOp.Get get -> "get";
            case KvOp.GetMany many -> "getMany";
            case KvOp.GetPrefix page -> "getPrefix";
            case KvOp.Put put -> put.ifAbsent() ? "putIfAbsent" : "put";
            case KvOp.Delete delete -> "delete";
            case KvOp.Incr incr -> "incr";
            case KvOp.Check check -> "check";
        };
    }
}
