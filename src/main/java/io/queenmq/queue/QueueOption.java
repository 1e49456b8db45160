package io.queenmq.queue;

import io.queenmq.model.Excerpt;
import io.queenmq.model.Failure;
import io.queenmq.model.Names;
import io.queenmq.model.QueenException;
import io.queenmq.web.WholeNumber;
import java.util.Locale;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.ToIntFunction;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Every option of a queue: what clients call it, the column that stores it, what it may be. */
enum QueueOption {
    NAMESPACE("namespace", "namespace"),
    TASK("task", "task"),
    LEASE_TIME("leaseTime", "lease_seconds", 1, Integer.MAX_VALUE, "s"),
    RETRY_LIMIT("retryLimit", "retry_limit", 0, Integer.MAX_VALUE, ""),
    RETRY_DELAY("retryDelay", "retry_delay_ms", 0, Integer.MAX_VALUE, "ms"),
    DEAD_LETTER_QUEUE("deadLetterQueue", "dead_letter_queue", Kind.BOOLEAN),
    DLQ_AFTER_MAX_RETRIES("dlqAfterMaxRetries", "dlq_after_max_retries", Kind.BOOLEAN),
    DELAYED_PROCESSING(
            "delayedProcessing", "delayed_processing_seconds", 0, Integer.MAX_VALUE, "s"),
    WINDOW_BUFFER("windowBuffer", "window_buffer_seconds", 0, Integer.MAX_VALUE, "s"),
    MIN_POP_WAIT_TIME("minPopWaitTime", "min_pop_wait_ms", Kind.CLAMPED, 0, 60_000, "ms"),
    RETENTION_ENABLED("retentionEnabled", "retention_enabled", Kind.BOOLEAN),
    RETENTION_SECONDS("retentionSeconds", "retention_seconds", 0, Integer.MAX_VALUE, "s"),
    COMPLETED_RETENTION_SECONDS(
            "completedRetentionSeconds", "completed_retention_seconds", 0, Integer.MAX_VALUE, "s"),
    MAX_WAIT_TIME_SECONDS("maxWaitTimeSeconds", "max_wait_seconds", 0, Integer.MAX_VALUE, "s"),
    ENCRYPTION_ENABLED("encryptionEnabled", "encryption_enabled", Kind.BOOLEAN),
    DEDUP_WINDOW_SECONDS(
            "dedupWindowSeconds", "dedup_window_seconds", Kind.CLAMPED, 0, Integer.MAX_VALUE, "s"),
    PRIORITY("priority", "priority", Integer.MIN_VALUE, Integer.MAX_VALUE, ""),
    MAX_SIZE("maxSize", "max_size", 0, Integer.MAX_VALUE, ""),
    TTL("ttl", "ttl_seconds", 0, Integer.MAX_VALUE, "s"),
    RETENTION_SINK_HOLD("retentionSinkHold", "retention_sink_hold"),
    RETENTION_SINK_HOLD_MAX_SECONDS(
            "retentionSinkHoldMaxSeconds", "retention_sink_hold_max_seconds", 60, 31_536_000, "s");

    private enum Kind {
        TEXT,
        BOOLEAN,
        INTEGER,
        /** A whole number that is brought into its range instead of refused. */
        CLAMPED
    }

    private static final Pattern SINK_NAME = Pattern.compile("[A-Za-z0-9._-]{0,64}");
    private static final Pattern INTEGER = Pattern.compile("[+-]?[0-9]{1,18}");

    private final String wireName;
    private final String column;
    private final Kind kind;
    private final long min;
    private final long max;
    private final String unit;

    QueueOption(String wireName, String column) {
        this(wireName, column, Kind.TEXT);
    }

    QueueOption(String wireName, String column, Kind kind) {
        this(wireName, column, kind, 0, 0, "");
    }

    QueueOption(String wireName, String column, long min, long max, String unit) {
        this(wireName, column, Kind.INTEGER, min, max, unit);
    }

    QueueOption(String wireName, String column, Kind kind, long min, long max, String unit) {
        this.wireName = wireName;
        this.column = column;
        this.kind = kind;
        this.min = min;
        this.max = max;
        this.unit = unit;
    }

    String wireName() {
        return wireName;
    }

    String column() {
        return column;
    }

    /**
     * What the server stores for the value of a request: a String, Integer or Boolean, or null for
     * the default.
     *
     * @throws QueenException {@code BAD_REQUEST}
     */
    @Nullable Object parse(Queues.Option option) {
        String text = option.text();
        if (option.kind() == Queues.Option.Kind.NULL || text == null) {
            if (option.kind() == Queues.Option.Kind.COMPOSITE) {
                throw bad("must be a plain value, got an array or object");
            }
            return null;
        }
        return switch (kind) {
            case TEXT -> text(option.kind(), text);
            case BOOLEAN -> bool(text);
            case INTEGER, CLAMPED -> integer(option.kind(), text);
        };
    }

    private String text(Queues.Option.Kind given, String text) {
        if (given != Queues.Option.Kind.STRING) {
            throw bad("must be a string, got " + Excerpt.of(text));
        }
        Names.checked(wireName, text, Names.NAME_BYTES_MAX);
        if (this == RETENTION_SINK_HOLD && !SINK_NAME.matcher(text).matches()) {
            throw bad("must match [A-Za-z0-9._-]{0,64}, got " + Excerpt.of(text));
        }
        return text;
    }

    /**
     * The value in a row.
     *
     * @param text reads a column of text; so do {@code bool} and {@code integer} theirs
     */
    Object read(
            Function<String, String> text, Predicate<String> bool, ToIntFunction<String> integer) {
        return switch (kind) {
            case TEXT -> text.apply(column);
            case BOOLEAN -> bool.test(column);
            case INTEGER, CLAMPED -> integer.applyAsInt(column);
        };
    }

    /** PostgreSQL takes any unambiguous beginning of these words. */
    private Boolean bool(String text) {
        String word = text.strip().toLowerCase(Locale.ROOT);
        if (!word.isEmpty()) {
            if (word.equals("1")
                    || "true".startsWith(word)
                    || "yes".startsWith(word)
                    || word.equals("on")) {
                return true;
            }
            if (word.equals("0")
                    || "false".startsWith(word)
                    || "no".startsWith(word)
                    || word.equals("of")
                    || word.equals("off")) {
                return false;
            }
        }
        throw bad("must be true or false, got " + Excerpt.of(text));
    }

    private Integer integer(Queues.Option.Kind given, String text) {
        Long value =
                switch (given) {
                    case NUMBER -> WholeNumber.exact(text);
                    case STRING ->
                            INTEGER.matcher(text.strip()).matches()
                                    ? Long.valueOf(text.strip())
                                    : null;
                    case BOOLEAN, NULL, COMPOSITE -> null;
                };
        if (value == null) {
            throw bad("must be a whole number, got " + Excerpt.of(text));
        }
        if (kind == Kind.CLAMPED) {
            return (int) Math.clamp(value.longValue(), min, max);
        }
        if (value < min || value > max) {
            String unitText = unit.isEmpty() ? "" : " " + unit;
            throw bad("must be between " + min + " and " + max + unitText + ", got " + value);
        }
        return value.intValue();
    }

    private QueenException bad(String what) {
        return new QueenException(Failure.BAD_REQUEST, wireName + " " + what);
    }
}
