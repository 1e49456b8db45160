package io.queenmq.http;

import com.fasterxml.jackson.core.JsonToken;
import io.queenmq.model.Excerpt;
import io.queenmq.model.Failure;
import io.queenmq.model.Names;
import io.queenmq.model.QueenException;
import io.queenmq.model.Slice;
import io.queenmq.timer.TimerOp;
import io.queenmq.timer.TimersConfig;
import io.queenmq.web.JsonBody;
import io.queenmq.web.Timestamps;
import java.nio.charset.StandardCharsets;
import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.Base64;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * One operation on a timer as it came; what it means shows when all fields have been read. A
 * message is scheduled in one of two forms, told apart by how the time is given: with {@code
 * delayMs} the payload is base64; with {@code delaySeconds} or {@code deliverAt} it is JSON.
 */
final class TimerDraft {
    static final int KEY_BYTES_MAX = 512;

    /** Longer than any horizon. */
    private static final Duration FOR_EVER = Duration.ofDays(365_000);

    private static final double MS_MAX = 1e15;

    /** What the broker sets, and nobody may ask for. */
    private static final Set<String> SERVER_OWNED =
            Set.of(
                    "producerSub",
                    "producer_sub",
                    "messageId",
                    "message_id",
                    "tenant",
                    "tenantId",
                    "tenant_id",
                    "deliver_at",
                    "delay_seconds",
                    "attempts",
                    "claimToken",
                    "claim_token",
                    "claimedUntil");

    /**
     * A field.
     *
     * @param text of a string or number; null = it is something else
     */
    private record Field(String kind, JsonToken token, @Nullable String text, @Nullable Slice raw) {
        boolean isNumber() {
            return token == JsonToken.VALUE_NUMBER_INT || token == JsonToken.VALUE_NUMBER_FLOAT;
        }
    }

    private final String path;
    private final String kind;
    private final Map<String, Field> fields = new HashMap<>();
    private @Nullable String serverOwned;

    private TimerDraft(String path, String kind) {
        this.path = path;
        this.kind = kind;
    }

    static TimerDraft read(JsonBody body, String path) {
        TimerDraft draft = new TimerDraft(path, body.kind());
        if (body.token() != JsonToken.START_OBJECT) {
            body.skip();
            return draft;
        }
        for (String name = body.nextName(); name != null; name = body.nextName()) {
            switch (name) {
                case "payload" ->
                        draft.fields.put(
                                name, new Field(body.kind(), body.token(), null, body.raw()));
                case "op",
                        "queue",
                        "timerKey",
                        "key",
                        "delayMs",
                        "delaySeconds",
                        "deliverAt",
                        "txn",
                        "partition",
                        "payloadZstd",
                        "encrypted",
                        "dedup" ->
                        draft.fields.put(name, scalar(body));
                default -> {
                    if (name.startsWith("_") || SERVER_OWNED.contains(name)) {
                        draft.serverOwned = name;
                    }
                    body.skip();
                }
            }
        }
        return draft;
    }

    private static Field scalar(JsonBody body) {
        JsonToken token = body.token();
        String kind = body.kind();
        if (token.isScalarValue()) {
            return new Field(kind, token, body.text(), null);
        }
        body.skip();
        return new Field(kind, token, null, null);
    }

    /** Whether it is meant to cancel, whatever else may be wrong with it. */
    boolean cancels() {
        Field op = present("op");
        return op != null && "cancel".equals(op.text());
    }

    /**
     * @throws QueenException it is no operation, or its payload is too long
     */
    TimerOp operation(TimersConfig bounds) {
        if (!kind.equals("an object")) {
            throw TimerJson.bad("timers_bad_op", path + " must be an object, got " + kind);
        }
        boolean strict = present("delayMs") != null;
        if (strict && serverOwned == null) {
            serverOwned = present("deliverAt") != null ? "deliverAt" : serverOwned;
            serverOwned = present("delaySeconds") != null ? "delaySeconds" : serverOwned;
        }
        if (serverOwned != null) {
            throw TimerJson.bad(
                    "timers_server_owned_field",
                    path + "." + Excerpt.of(serverOwned) + " cannot be set: the broker does");
        }
        String op = string("op", "timers_bad_op");
        return switch (op) {
            case "schedule", "reschedule" -> schedule(bounds, strict);
            case "cancel" -> new TimerOp.Cancel(queue(), timerKey(), transactionId());
            case null, default ->
                    throw TimerJson.bad(
                            "timers_bad_op",
                            path
                                    + ".op must be schedule, reschedule or cancel, got "
                                    + Excerpt.of(op));
        };
    }

    private TimerOp.Schedule schedule(TimersConfig bounds, boolean strict) {
        String queue = queue();
        String timerKey = timerKey();
        TimerOp.When when = strict ? after("delayMs", 1) : plainWhen();
        String transactionId = transactionId();
        if (strict && transactionId == null) {
            throw TimerJson.bad("timers_txn_required", path + ".txn is required");
        }
        String partition = string("partition", "timers_partition_invalid");
        if (partition != null && partition.isEmpty()) {
            throw TimerJson.bad("timers_partition_invalid", path + ".partition must not be empty");
        }
        return new TimerOp.Schedule(
                queue,
                timerKey,
                partition == null
                        ? Names.DEFAULT_PARTITION
                        : TimerJson.fit(
                                "timers_partition_invalid",
                                path + ".partition",
                                partition,
                                Names.NAME_BYTES_MAX),
                when,
                transactionId,
                payload(bounds, strict),
                flag("encrypted"),
                flag("dedup"));
    }

    private String queue() {
        return TimerJson.queue(path + ".queue", string("queue", "timers_queue_invalid"));
    }

    /** The shorter name is that of the form with JSON payloads. */
    private String timerKey() {
        String key = string("timerKey", "timers_key_required");
        return TimerJson.timerKey(
                path + ".timerKey", key == null ? string("key", "timers_key_required") : key);
    }

    private @Nullable String transactionId() {
        String id = string("txn", "timers_txn_required");
        return id == null || id.isEmpty()
                ? null
                : TimerJson.fit(
                        "timers_txn_invalid", path + ".txn", id, Names.TRANSACTION_ID_BYTES_MAX);
    }

    private TimerOp.When plainWhen() {
        Field at = present("deliverAt");
        Field seconds = present("delaySeconds");
        if ((at == null) == (seconds == null)) {
            throw TimerJson.bad(
                    "timers_delay_required",
                    path + " needs exactly one of delayMs, delaySeconds and deliverAt");
        }
        return at == null ? after("delaySeconds", 1_000) : instant(at);
    }

    private TimerOp.When after(String field, int unitMs) {
        Field delay = present(field);
        if (delay == null || !delay.isNumber() || delay.text() == null) {
            throw TimerJson.bad(
                    "timers_delay_required",
                    path
                            + "."
                            + field
                            + " must be a number, got "
                            + (delay == null ? "nothing" : delay.kind()));
        }
        double ms = Double.parseDouble(delay.text()) * unitMs;
        return new TimerOp.When.After(
                ms > MS_MAX ? FOR_EVER : Duration.ofNanos(Math.round(Math.max(0, ms) * 1e6)));
    }

    private TimerOp.When instant(Field at) {
        if (at.token() == JsonToken.VALUE_STRING && at.text() != null) {
            Instant instant = Timestamps.parse(at.text());
            if (instant != null) {
                return new TimerOp.When.At(instant);
            }
            try {
                // A year with a sign: past or too far, and said to be that.
                return new TimerOp.When.At(OffsetDateTime.parse(at.text()).toInstant());
            } catch (DateTimeException e) {
                // Told below.
            }
        }
        throw TimerJson.bad(
                "timers_delay_required",
                path
                        + ".deliverAt must be an instant like 2027-01-31T12:00:00Z, got "
                        + Excerpt.of(at.text()));
    }

    private Slice payload(TimersConfig bounds, boolean strict) {
        Field payload = fields.get("payload");
        if (payload == null
                || payload.raw() == null
                || (strict && payload.token() == JsonToken.VALUE_NULL)) {
            throw TimerJson.bad("timers_payload_required", path + ".payload is required");
        }
        boolean packed = flag("payloadZstd");
        if (!strict) {
            if (packed) {
                throw notPacked("is for payloads in base64, where delayMs is given");
            }
            within(bounds, payload.raw().length());
            return payload.raw();
        }
        byte[] bytes = decoded(payload);
        within(bounds, bytes.length);
        if (packed) {
            bytes = Zstd.unpacked(bytes, bounds.payloadBytesMax());
            if (bytes == null) {
                throw notPacked("is set, and the payload is no whole frame of zstd");
            }
            within(bounds, bytes.length);
        }
        if (!TimerJson.isJson(bytes)) {
            throw TimerJson.bad(
                    "timers_payload_not_json", path + ".payload must be base64 of one JSON value");
        }
        return Slice.of(bytes);
    }

    private QueenException notPacked(String why) {
        return TimerJson.bad("timers_payload_zstd", path + ".payloadZstd " + why);
    }

    private byte[] decoded(Field payload) {
        Slice raw = payload.raw();
        if (raw != null && payload.token() == JsonToken.VALUE_STRING) {
            try {
                // Nothing of base64 needs an escape but the slash, which may have one.
                return Base64.getDecoder()
                        .decode(
                                new String(
                                                raw.array(),
                                                raw.offset() + 1,
                                                raw.length() - 2,
                                                StandardCharsets.ISO_8859_1)
                                        .replace("\\/", "/"));
            } catch (IllegalArgumentException e) {
                // Told below.
            }
        }
        throw TimerJson.bad(
                "timers_payload_not_base64",
                path + ".payload must be a string in base64 where delayMs is given");
    }

    private void within(TimersConfig bounds, int bytes) {
        if (bytes > bounds.payloadBytesMax()) {
            throw new QueenException(
                    Failure.PAYLOAD_TOO_LARGE,
                    "timers_payload_too_large",
                    "%s.payload must be at most %d bytes, got %d"
                            .formatted(path, bounds.payloadBytesMax(), bytes));
        }
    }

    private boolean flag(String name) {
        Field field = present(name);
        if (field == null) {
            return false;
        }
        return switch (field.token()) {
            case VALUE_TRUE -> true;
            case VALUE_FALSE -> false;
            default ->
                    throw TimerJson.bad(
                            "timers_bad_op",
                            path + "." + name + " must be a boolean, got " + field.kind());
        };
    }

    private @Nullable String string(String name, String reason) {
        Field field = present(name);
        if (field == null) {
            return null;
        }
        if (field.token() != JsonToken.VALUE_STRING) {
            throw TimerJson.bad(
                    reason, path + "." + name + " must be a string, got " + field.kind());
        }
        return field.text();
    }

    /** Null where it is absent or JSON null. */
    private @Nullable Field present(String name) {
        Field field = fields.get(name);
        return field == null || field.token() == JsonToken.VALUE_NULL ? null : field;
    }
}
