package io.queenmq.web;

import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The parameters of a query, typed: a value that does not fit refuses the request and names the
 * parameter. Unknown parameters are ignored.
 */
public final class Query {
    private final Map<String, String> raw = new HashMap<>();
    private final Set<String> repeated = new HashSet<>();

    Query(String text) {
        if (text.isEmpty()) {
            return;
        }
        for (String pair : text.split("&", -1)) {
            int equals = pair.indexOf('=');
            String name = Percent.decode(equals < 0 ? pair : pair.substring(0, equals), true);
            if (name == null || name.isEmpty()) {
                continue;
            }
            String value = equals < 0 ? "" : pair.substring(equals + 1);
            if (raw.putIfAbsent(name, value) != null) {
                repeated.add(name);
            }
        }
    }

    private static QueenException invalid(String name, String why) {
        return new QueenException(
                Failure.BAD_REQUEST, "invalid query parameter " + name + ": " + why);
    }

    /** Whether the parameter was sent, with or without a value. */
    public boolean has(String name) {
        return raw.containsKey(name);
    }

    /** The decoded value; null when absent. */
    public @Nullable String text(String name) {
        String value = raw.get(name);
        if (value == null) {
            return null;
        }
        if (repeated.contains(name)) {
            throw invalid(name, "given more than once");
        }
        String decoded = Percent.decode(value, true);
        if (decoded == null) {
            throw invalid(name, "not percent-encoded UTF-8, got " + value);
        }
        return decoded;
    }

    /** A whole number of 32 bits. */
    public int int32(String name, int absent) {
        String value = text(name);
        if (value == null) {
            return absent;
        }
        try {
            return Integer.parseInt(value);
        } catch (NumberFormatException e) {
            throw invalid(
                    name,
                    "must be a whole number of -2147483648 to 2147483647, got \"" + value + '"');
        }
    }

    /** A whole number of 0 or more, of 64 unsigned bits; what a long cannot hold is its maximum. */
    public long unsigned64(String name, long absent) {
        String value = text(name);
        if (value == null) {
            return absent;
        }
        try {
            long parsed = Long.parseUnsignedLong(value);
            return parsed < 0 ? Long.MAX_VALUE : parsed;
        } catch (NumberFormatException e) {
            throw invalid(name, "must be a whole number of at least 0, got \"" + value + '"');
        }
    }

    /** Exactly {@code true} or {@code false}. */
    public boolean bool(String name, boolean absent) {
        String value = text(name);
        return switch (value) {
            case null -> absent;
            case "true" -> true;
            case "false" -> false;
            default -> throw invalid(name, "must be true or false, got \"" + value + '"');
        };
    }
}
