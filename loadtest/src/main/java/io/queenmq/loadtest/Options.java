package io.queenmq.loadtest;

import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/** Options of one run: {@code --name value}. What no scenario asks for is a mistake. */
final class Options {
    private final Map<String, String> given;
    private final Map<String, String> used;

    private Options(Map<String, String> given) {
        this(given, new TreeMap<>());
    }

    private Options(Map<String, String> given, Map<String, String> used) {
        this.given = given;
        this.used = used;
    }

    static Options parse(String[] args, int from) {
        Map<String, String> given = new HashMap<>();
        for (int i = from; i < args.length; i += 2) {
            if (!args[i].startsWith("--") || i + 1 == args.length) {
                throw new IllegalArgumentException(
                        "expected --name value, got "
                                + Arrays.asList(args).subList(i, args.length));
            }
            given.put(args[i].substring(2), args[i + 1]);
        }
        return new Options(given);
    }

    /** Options in one line: {@code lanes=16 push-batch=1}. */
    static Options of(String line) {
        return new Options(Map.of()).over(line);
    }

    /** The same, with other defaults: {@code lanes=16 push-batch=1}. */
    Options over(String defaults) {
        Map<String, String> all = new HashMap<>();
        for (String pair : defaults.split(" ", -1)) {
            int equals = pair.indexOf('=');
            if (equals > 0) {
                all.put(pair.substring(0, equals), pair.substring(equals + 1));
            }
        }
        all.putAll(given);
        return new Options(all, used);
    }

    String text(String name, String byDefault) {
        String value = given.getOrDefault(name, byDefault);
        used.put(name, value);
        return value;
    }

    Optional<String> text(String name) {
        Optional<String> value = Optional.ofNullable(given.get(name));
        used.put(name, value.orElse(""));
        return value;
    }

    int number(String name, int byDefault) {
        String value = text(name, Integer.toString(byDefault));
        try {
            return Integer.parseInt(value);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("--" + name + " wants a number, got " + value, e);
        }
    }

    double ratio(String name, double byDefault) {
        String value = text(name, Double.toString(byDefault));
        try {
            return Double.parseDouble(value);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException("--" + name + " wants a number, got " + value, e);
        }
    }

    /** Refuses what was given and never asked for. */
    void checkAllUsed() {
        Set<String> unknown = new TreeSet<>(given.keySet());
        unknown.removeAll(used.keySet());
        if (!unknown.isEmpty()) {
            throw new IllegalArgumentException("unknown options: " + unknown);
        }
    }

    /** Every option with its value in this run, for the archive. */
    Map<String, String> used() {
        return used;
    }
}
