package io.queenmq.http;

import com.fasterxml.jackson.core.JsonToken;
import io.queenmq.kv.LockOp;
import io.queenmq.kv.LockResult;
import io.queenmq.kv.LockResult.Holder;
import io.queenmq.kv.Locks;
import io.queenmq.model.Excerpt;
import io.queenmq.model.QueenException;
import io.queenmq.web.JsonBody;
import io.queenmq.web.JsonBuffer;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Operations on locks as they look on the wire, and their answers. Pure. */
final class LockJson {
    private static final int RESULT_BYTES = 320;

    private LockJson() {}

    /** The operations of a batch: an array, or an object with one. */
    static List<LockOp> read(byte[] bytes, int opsMax) {
        try (JsonBody body = JsonBody.arrayOrObject(bytes)) {
            List<LockOp> ops = null;
            if (body.token() == JsonToken.START_ARRAY) {
                ops = operations(body, opsMax);
            } else {
                for (String name = body.nextName(); name != null; name = body.nextName()) {
                    if (name.equals("operations") && body.token() == JsonToken.START_ARRAY) {
                        ops = operations(body, opsMax);
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

    private static List<LockOp> operations(JsonBody body, int opsMax) {
        List<LockOp> ops = new ArrayList<>();
        int count = 0;
        while (body.nextElement()) {
            if (count < opsMax) {
                ops.add(operation(body, "operations[" + count + "]"));
            } else {
                body.skip();
            }
            count++;
        }
        if (count > opsMax) {
            throw KvDraft.bad(
                    "locks_too_many_ops",
                    "a call takes at most %d operations, got %d".formatted(opsMax, count));
        }
        return ops;
    }

    private static LockOp operation(JsonBody body, String path) {
        if (body.token() != JsonToken.START_OBJECT) {
            throw bad(path + " must be an object, got " + body.kind());
        }
        String op = null;
        String lock = null;
        String owner = null;
        Long token = null;
        Long ttlSeconds = null;
        Long limit = null;
        Long slot = null;
        for (String name = body.nextName(); name != null; name = body.nextName()) {
            switch (name) {
                case "op" -> op = text(body, path, name);
                case "name" -> lock = text(body, path, name);
                case "owner" -> owner = text(body, path, name);
                case "token" -> token = whole(body, path, name);
                case "ttlSeconds" -> ttlSeconds = whole(body, path, name);
                case "limit" -> limit = whole(body, path, name);
                case "slot" -> slot = whole(body, path, name);
                default -> body.skip();
            }
        }
        String named = lock == null ? "" : lock;
        return switch (op == null ? "nothing" : op) {
            case "acquire" ->
                    new LockOp.Acquire(named, ttl(ttlSeconds, path), owner, small(limit, 1));
            case "renew" ->
                    new LockOp.Renew(
                            named,
                            given(token, path, "token"),
                            ttl(ttlSeconds, path),
                            small(slot, 0),
                            owner);
            case "release" ->
                    new LockOp.Release(named, given(token, path, "token"), small(slot, 0));
            case "get" -> new LockOp.Get(named);
            default ->
                    throw KvDraft.bad(
                            "locks_unknown_op",
                            path
                                    + ".op must be acquire, renew, release or get, got "
                                    + Excerpt.of(op));
        };
    }

    private static QueenException bad(String detail) {
        return KvDraft.bad("locks_bad_request", detail);
    }

    private static @Nullable String text(JsonBody body, String path, String field) {
        return switch (body.token()) {
            case VALUE_NULL -> null;
            case VALUE_STRING -> body.text();
            default -> throw bad(path + "." + field + " must be a string, got " + body.kind());
        };
    }

    private static @Nullable Long whole(JsonBody body, String path, String field) {
        if (body.token() == JsonToken.VALUE_NULL) {
            return null;
        }
        Long whole = body.whole();
        if (whole == null) {
            String got = body.token().isNumeric() ? Excerpt.of(body.raw()) : body.kind();
            throw bad(path + "." + field + " must be a whole number, got " + got);
        }
        return whole;
    }

    private static long given(@Nullable Long value, String path, String field) {
        if (value == null) {
            throw bad(path + "." + field + " is required");
        }
        return value;
    }

    private static long ttl(@Nullable Long seconds, String path) {
        if (seconds == null || seconds < 1) {
            throw KvDraft.bad(
                    "kv_bad_ttl", path + ".ttlSeconds must be a whole number of seconds, above 0");
        }
        return seconds;
    }

    /** A number that is refused elsewhere if it is out of its range. */
    private static int small(@Nullable Long value, int absent) {
        return value == null ? absent : Math.clamp(value, -1, Integer.MAX_VALUE);
    }

    /** The answer to a batch. */
    static JsonBuffer write(List<LockOp> ops, List<LockResult> results) {
        JsonBuffer json = new JsonBuffer(32 + RESULT_BYTES * ops.size()).raw("{\"results\":[");
        for (int i = 0; i < ops.size(); i++) {
            LockOp op = ops.get(i);
            json.raw(i == 0 ? "{\"index\":" : ",{\"index\":").number(i);
            json.raw(",\"op\":").string(verb(op)).raw(",\"name\":").string(op.name());
            switch (results.get(i)) {
                case LockResult.Acquired held -> {
                    json.raw(",\"acquired\":true,\"slot\":").number(held.slot());
                    json.raw(",\"token\":").number(held.token());
                    json.raw(",\"owner\":").string(held.owner());
                    if (held.already()) {
                        json.raw(",\"already\":true");
                    }
                    guard(json, op.name(), held.slot(), held.token());
                }
                case LockResult.Refused(boolean contended, List<Holder> holders) -> {
                    json.raw(",\"acquired\":false,\"reason\":");
                    json.string(contended ? "contended" : "held");
                    holders(json, holders);
                }
                case LockResult.Renewed(int slot, long token) -> {
                    json.raw(",\"renewed\":true,\"token\":").number(token);
                    guard(json, op.name(), slot, token);
                }
                case LockResult.Released() -> json.raw(",\"released\":true");
                case LockResult.Lost(List<Holder> holders) -> {
                    json.raw(op instanceof LockOp.Renew ? ",\"renewed\"" : ",\"released\"");
                    json.raw(":false,\"reason\":\"lost\"");
                    holders(json, holders);
                }
                case LockResult.Unfinished(String owner, List<Holder> holders) -> {
                    json.raw(owner == null ? ",\"renewed\"" : ",\"acquired\"");
                    json.raw(":false,\"reason\":\"unfinished\"");
                    if (owner != null) {
                        json.raw(",\"owner\":").string(owner);
                    }
                    holders(json, holders);
                }
                case LockResult.Held(List<Holder> holders) -> {
                    json.raw(",\"held\":").bool(!holders.isEmpty());
                    holders(json, holders);
                }
            }
            json.raw('}');
        }
        return json.raw("]}");
    }

    /** What a transaction carries so that it commits only while the lock is held. */
    private static void guard(JsonBuffer json, String name, int slot, long token) {
        json.raw(",\"guard\":{\"op\":\"check\",\"ns\":").string(Locks.NAMESPACE);
        json.raw(",\"key\":").string(Locks.key(name, slot));
        json.raw(",\"expect\":").number(token).raw(",\"required\":true}");
    }

    private static void holders(JsonBuffer json, List<Holder> holders) {
        json.raw(",\"holders\":[");
        for (Holder holder : holders) {
            json.raw(json.endsWith('[') ? "{\"slot\":" : ",{\"slot\":").number(holder.slot());
            json.raw(",\"owner\":").string(holder.owner());
            json.raw(",\"token\":").number(holder.token());
            json.raw(",\"since\":").string(holder.since());
            json.raw(",\"renewedAt\":").instant(holder.renewedAt());
            json.raw(",\"expiresAt\":").instant(holder.expiresAt()).raw('}');
        }
        json.raw(']');
    }

    private static String verb(LockOp op) {
        return switch (op) {
            case LockOp.Acquire acquire -> "acquire";
            case LockOp.Renew renew -> "renew";
            case LockOp.Release release -> "release";
            case LockOp.Get get -> "get";
        };
    }
}
