package io.queenmq.http;

import com.fasterxml.jackson.core.JsonToken;
import io.queenmq.kv.KvOp;
import io.queenmq.model.Excerpt;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.model.Slice;
import io.queenmq.web.JsonBody;
import io.queenmq.web.WholeNumber;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The fields of one operation; which of them count shows when all have been read. */
final class KvDraft {
    private static final int DEFAULT_LIMIT = 100;

    /** Numbers that counters count with have as many digits, and are as many digits large. */
    private static final int DIGITS_MAX = 1_000;

    /** A value without structure. */
    private record Scalar(JsonToken token, String text, String kind) {
        private static Scalar read(JsonBody body) {
            Scalar scalar =
                    new Scalar(
                            body.token(),
                            body.token().isScalarValue() ? body.text() : "",
                            body.kind());
            body.skip();
            return scalar;
        }

        /** The number it is; null if it is none, or one of no reasonable length. */
        private @Nullable BigDecimal number() {
            if (!token.isNumeric() || text.length() > 2 * DIGITS_MAX) {
                return null;
            }
            try {
                BigDecimal number = new BigDecimal(text);
                boolean fits =
                        number.signum() == 0
                                ? Math.abs((long) number.scale()) < DIGITS_MAX
                                : number.scale() < DIGITS_MAX
                                        && (long) number.precision() - number.scale() <= DIGITS_MAX;
                return fits ? number : null;
            } catch (NumberFormatException e) {
                return null; // an exponent that no int holds
            }
        }

        /** The whole number it is, however it is spelled; null if it is none. */
        private @Nullable BigDecimal whole() {
            return token.isNumeric() ? WholeNumber.of(text) : null;
        }
    }

    private final String path;
    private final int keysMax;
    private @Nullable Scalar op;
    private @Nullable Scalar namespace;
    private @Nullable Scalar key;
    private @Nullable Scalar prefix;
    private @Nullable Scalar after;
    private @Nullable Scalar limit;
    private @Nullable Scalar keysOnly;
    private @Nullable Scalar ttlSeconds;
    private @Nullable Scalar forever;
    private @Nullable Scalar expect;
    private @Nullable Scalar required;
    private @Nullable Scalar delta;
    private @Nullable Scalar min;
    private @Nullable Scalar max;
    private @Nullable Slice value;
    private @Nullable List<String> keys;

    /**
     * @param path what names of fields begin with in refusals
     * @param keysMax most keys of a read of several
     */
    KvDraft(String path, int keysMax) {
        this.path = path;
        this.keysMax = keysMax;
    }

    static QueenException bad(String reason, String detail) {
        return new QueenException(Failure.BAD_REQUEST, reason, detail);
    }

    /** Reads the object that the body is at. */
    void read(JsonBody body) {
        for (String name = body.nextName(); name != null; name = body.nextName()) {
            switch (name) {
                case "op" -> op = Scalar.read(body);
                case "ns" -> namespace = Scalar.read(body);
                case "key" -> key = Scalar.read(body);
                case "keys" -> keys = keys(body);
                case "prefix" -> prefix = Scalar.read(body);
                case "after" -> after = Scalar.read(body);
                case "limit" -> limit = Scalar.read(body);
                case "keysOnly" -> keysOnly = Scalar.read(body);
                case "value" -> value = body.raw();
                case "ttlSeconds" -> ttlSeconds = Scalar.read(body);
                case "forever" -> forever = Scalar.read(body);
                case "expect" -> expect = Scalar.read(body);
                case "required" -> required = Scalar.read(body);
                case "delta" -> delta = Scalar.read(body);
                case "min" -> min = Scalar.read(body);
                case "max" -> max = Scalar.read(body);
                case "tenant", "tenantId", "_tenant" ->
                        throw bad(
                                "kv_tenant_not_an_input",
                                path + name + " must not be given: it is the caller's");
                default -> body.skip();
            }
        }
    }

    /** Reads the body of a route whose path says which key is meant. */
    void readOfPath(JsonBody body) {
        for (String name = body.nextName(); name != null; name = body.nextName()) {
            switch (name) {
                case "op", "ns", "namespace", "key" ->
                        throw bad("kv_field_in_path", name + " is said by the path");
                case "value" -> value = body.raw();
                case "ttlSeconds" -> ttlSeconds = Scalar.read(body);
                case "forever" -> forever = Scalar.read(body);
                case "expect" -> expect = Scalar.read(body);
                case "required" -> required = Scalar.read(body);
                case "tenant", "tenantId", "_tenant" ->
                        throw bad(
                                "kv_tenant_not_an_input",
                                name + " must not be given: it is the caller's");
                default -> body.skip();
            }
        }
    }

    /** The operation that the fields say. */
    KvOp operation(int prefixLimitMax) {
        String name = op != null && op.token() == JsonToken.VALUE_STRING ? op.text() : "";
        return switch (name) {
            case "get" -> new KvOp.Get(namespace(), key());
            case "getMany" -> new KvOp.GetMany(namespace(), names());
            case "getPrefix" -> getPrefix(prefixLimitMax);
            case "put" -> put(namespace(), key());
            case "putIfAbsent" -> putIfAbsent();
            case "delete" -> delete(namespace(), key());
            case "incr" -> incr();
            case "check" ->
                    new KvOp.Check(namespace(), key(), version(), flag("required", required, true));
            default ->
                    throw bad(
                            "kv_unknown_op",
                            path
                                    + "op must be get, getMany, getPrefix, put, putIfAbsent, delete,"
                                    + " incr or check, got "
                                    + (op == null
                                            ? "nothing"
                                            : name.isEmpty() ? op.kind() : Excerpt.of(name)));
        };
    }

    KvOp.Put put(String ofNamespace, String ofKey) {
        return new KvOp.Put(
                ofNamespace,
                ofKey,
                given("value", value),
                timeToLive(),
                expect(),
                false,
                flag("required", required, false));
    }

    KvOp.Delete delete(String ofNamespace, String ofKey) {
        return new KvOp.Delete(ofNamespace, ofKey, expect(), flag("required", required, false));
    }

    private KvOp putIfAbsent() {
        Long expected = expect();
        if (expected != null && expected != 0) {
            throw bad("kv_bad_expect", path + "expect of a putIfAbsent is 0, got " + expected);
        }
        return new KvOp.Put(
                namespace(),
                key(),
                given("value", value),
                timeToLive(),
                0L,
                true,
                flag("required", required, false));
    }

    private KvOp incr() {
        if (expect != null) {
            throw bad("kv_bad_expect", path + "expect is no field of incr");
        }
        return new KvOp.Incr(
                namespace(),
                key(),
                number("delta", given("delta", delta)),
                timeToLive(),
                min == null ? null : number("min", min),
                max == null ? null : number("max", max),
                flag("required", required, false));
    }

    private KvOp getPrefix(int limitMax) {
        int most = DEFAULT_LIMIT;
        if (limit != null) {
            BigDecimal whole = limit.whole();
            if (whole == null) {
                throw bad("kv_bad_limit", path + "limit must be a whole number");
            }
            most = whole.max(BigDecimal.ONE).min(BigDecimal.valueOf(limitMax)).intValue();
        }
        return new KvOp.GetPrefix(
                namespace(),
                prefix == null || prefix.token() == JsonToken.VALUE_NULL
                        ? ""
                        : text("prefix", prefix, "kv_bad_request"),
                after == null || after.token() == JsonToken.VALUE_NULL
                        ? null
                        : text("after", after, "kv_bad_request"),
                Math.min(most, limitMax),
                flag("keysOnly", keysOnly, false));
    }

    /** As many as a call may have; the others are only counted. */
    private List<String> keys(JsonBody body) {
        if (body.token() != JsonToken.START_ARRAY) {
            throw bad("kv_bad_request", path + "keys must be an array, got " + body.kind());
        }
        List<String> names = new ArrayList<>();
        int count = 0;
        while (body.nextElement()) {
            if (body.token() != JsonToken.VALUE_STRING) {
                throw bad("kv_bad_key", path + "keys must be strings, got " + body.kind());
            }
            if (count++ < keysMax) {
                names.add(body.text());
            }
        }
        if (count > keysMax) {
            throw bad(
                    "kv_too_many_keys",
                    "%skeys: a call takes at most %d, got %d".formatted(path, keysMax, count));
        }
        return names;
    }

    private List<String> names() {
        return given("keys", keys);
    }

    private String namespace() {
        return namespace == null ? "" : text("ns", namespace, "kv_bad_namespace");
    }

    private String key() {
        return key == null ? "" : text("key", key, "kv_bad_key");
    }

    private String text(String field, Scalar scalar, String reason) {
        if (scalar.token() != JsonToken.VALUE_STRING) {
            throw bad(reason, path + field + " must be a string, got " + scalar.kind());
        }
        return scalar.text();
    }

    private <T> T given(String field, @Nullable T given) {
        if (given == null) {
            throw bad("kv_bad_request", path + field + " is required");
        }
        return given;
    }

    private boolean flag(String field, @Nullable Scalar scalar, boolean absent) {
        if (scalar == null) {
            return absent;
        }
        if (!scalar.token().isBoolean()) {
            throw bad("kv_bad_request", path + field + " must be a boolean, got " + scalar.kind());
        }
        return scalar.token() == JsonToken.VALUE_TRUE;
    }

    private BigDecimal number(String field, Scalar scalar) {
        BigDecimal number = scalar.number();
        if (number == null) {
            throw bad(
                    "kv_bad_request",
                    path
                            + field
                            + " must be a number of at most "
                            + DIGITS_MAX
                            + " digits, got "
                            + scalar.kind());
        }
        return number;
    }

    /** Null = whatever is there. */
    private @Nullable Long expect() {
        if (expect == null) {
            return null;
        }
        BigDecimal whole = expect.whole();
        if (whole == null
                || whole.signum() < 0
                || whole.compareTo(BigDecimal.valueOf(Long.MAX_VALUE)) > 0) {
            throw bad("kv_bad_expect", path + "expect must be 0 or a version");
        }
        return whole.longValue();
    }

    /** Of a check: only what is there can be kept there. */
    private long version() {
        Long version = expect();
        if (version == null || version == 0) {
            throw bad("kv_bad_expect", path + "expect of a check must be a version");
        }
        return version;
    }

    /** Null = for ever. */
    private @Nullable Long timeToLive() {
        boolean lasting = flag("forever", forever, false);
        if (lasting == (ttlSeconds != null)) {
            throw bad(
                    "kv_expiry_not_specified",
                    path + "ttlSeconds, or forever:true, must be given, and not both");
        }
        if (ttlSeconds == null) {
            return null;
        }
        BigDecimal whole = ttlSeconds.whole();
        if (whole == null
                || whole.signum() <= 0
                || whole.compareTo(BigDecimal.valueOf(Long.MAX_VALUE)) > 0) {
            throw bad("kv_bad_ttl", path + "ttlSeconds must be a whole number of seconds, above 0");
        }
        return whole.longValue();
    }
}
