package io.queenmq.kv;

import io.queenmq.model.Failure;
import io.queenmq.model.Names;
import io.queenmq.model.QueenException;
import io.queenmq.model.Slice;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** What operations may look like: nothing travels on that the database would refuse. Pure. */
final class KvRules {
    /** Beyond that a time to live leads out of the calendar. */
    static final long TTL_SECONDS_MAX = 100_000_000_000L;

    /** Operations and keys of a transaction. */
    private static final int TRANSACTION_OPS_MAX = 64;

    private static final int TRANSACTION_KEYS_MAX = 256;

    private static final Pattern NAMESPACE = Pattern.compile("[a-z0-9][a-z0-9._-]{0,63}");

    /** The server reads a value with a call per level, on a stack of its own measure. */
    private static final int DEPTH_MAX = 1_000;

    private final KvConfig config;

    KvRules(KvConfig config) {
        this.config = config;
    }

    /** Refuses operations that cannot be a call of their own. */
    void check(List<KvOp> ops) {
        within(ops, config.opsMax(), config.keysMax());
        checkEach(ops);
    }

    /** Refuses operations that cannot be part of a transaction. */
    void checkTransaction(List<KvOp> ops) {
        for (KvOp op : ops) {
            if (op instanceof KvOp.GetPrefix) {
                throw bad(
                        "kv_get_prefix_not_allowed_in_transaction",
                        "getPrefix is no part of a transaction");
            }
        }
        within(
                ops,
                Math.min(TRANSACTION_OPS_MAX, config.opsMax()),
                Math.min(TRANSACTION_KEYS_MAX, config.keysMax()));
        checkEach(ops);
    }

    private static void within(List<KvOp> ops, int opsMax, int keysMax) {
        if (ops.size() > opsMax) {
            throw bad(
                    "kv_too_many_ops",
                    "a call takes at most %d operations, got %d".formatted(opsMax, ops.size()));
        }
        long keys = ops.stream().mapToLong(KvOp::keys).sum();
        if (keys > keysMax) {
            throw bad(
                    "kv_too_many_keys",
                    "a call takes at most %d keys, got %d".formatted(keysMax, keys));
        }
    }

    private void checkEach(List<KvOp> ops) {
        Set<List<String>> written = new HashSet<>();
        for (KvOp op : ops) {
            namespace(op.namespace());
            switch (op) {
                case KvOp.Get get -> key(get.key());
                case KvOp.GetMany many -> many.names().forEach(this::key);
                case KvOp.GetPrefix page -> prefix(page);
                case KvOp.Put put -> {
                    key(put.key());
                    value(put.value());
                    timeToLive(put.ttlSeconds());
                }
                case KvOp.Incr incr -> {
                    key(incr.key());
                    timeToLive(incr.ttlSeconds());
                }
                case KvOp.Delete delete -> key(delete.key());
                case KvOp.Check check -> key(check.key());
            }
            if (op instanceof KvOp.Write write
                    && !written.add(List.of(write.namespace(), write.key()))) {
                throw bad(
                        "kv_duplicate_key_in_call",
                        "a call writes a key at most once, got \"%s\" of \"%s\" again"
                                .formatted(write.key(), write.namespace()));
            }
        }
    }

    static void namespace(String namespace) {
        if (!NAMESPACE.matcher(namespace).matches()) {
            throw bad(
                    "kv_bad_namespace",
                    "ns must be 1 to 64 characters a-z, 0-9, ., _ and -, the first a letter or"
                            + " digit");
        }
    }

    private void key(String key) {
        if (key.isEmpty()) {
            throw bad("kv_bad_key", "key must not be empty");
        }
        storable("key", key);
        int bytes = key.getBytes(StandardCharsets.UTF_8).length;
        if (bytes > config.keyBytesMax()) {
            throw new QueenException(
                    Failure.PAYLOAD_TOO_LARGE,
                    "kv_key_too_large",
                    "key must be at most %d bytes, got %d".formatted(config.keyBytesMax(), bytes));
        }
    }

    private static void prefix(KvOp.GetPrefix page) {
        if (page.prefix().isEmpty()) {
            throw bad("kv_prefix_required", "prefix must not be empty");
        }
        storable("prefix", page.prefix());
        if (page.after() != null) {
            storable("after", page.after());
        }
    }

    static void storable(String field, String text) {
        try {
            Names.checked(field, text, Integer.MAX_VALUE);
        } catch (QueenException e) {
            throw bad("kv_bad_key", e.detail());
        }
    }

    private void value(Slice value) {
        if (value.length() > config.valueBytesMax()) {
            throw new QueenException(
                    Failure.PAYLOAD_TOO_LARGE,
                    "kv_value_too_large",
                    "value must be at most %d bytes, got %d"
                            .formatted(config.valueBytesMax(), value.length()));
        }
        if (depth(value) > DEPTH_MAX) {
            throw bad("kv_bad_request", "value must nest at most " + DEPTH_MAX + " deep");
        }
    }

    /** How deep well-formed JSON nests. */
    private static int depth(Slice json) {
        int depth = 0;
        int deepest = 0;
        boolean quoted = false;
        for (int i = json.offset(); i < json.offset() + json.length(); i++) {
            switch (json.array()[i]) {
                case '"' -> quoted = !quoted;
                case '\\' -> i++;
                case '[', '{' -> {
                    if (!quoted) {
                        deepest = Math.max(deepest, ++depth);
                    }
                }
                case ']', '}' -> {
                    if (!quoted) {
                        depth--;
                    }
                }
                default -> {}
            }
        }
        return deepest;
    }

    static void timeToLive(@Nullable Long seconds) {
        if (seconds != null && (seconds < 1 || seconds > TTL_SECONDS_MAX)) {
            throw bad(
                    "kv_bad_ttl",
                    "ttlSeconds must be 1 to %d, got %d".formatted(TTL_SECONDS_MAX, seconds));
        }
    }

    static QueenException bad(String reason, String detail) {
        return new QueenException(Failure.BAD_REQUEST, reason, detail);
    }
}
