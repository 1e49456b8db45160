package io.queenmq.runtime;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A message of ours, which is fixed text and then {@code key=value}, taken apart. A value goes on
 * to the next key, for what others say is not quoted.
 *
 * @param text the fixed text
 * @param fields what follows
 */
record LogEvent(String text, Map<String, String> fields) {
    private static final Pattern KEY = Pattern.compile("(?<=\\s)([a-z][a-zA-Z_]*)=");

    static LogEvent of(String message) {
        Matcher key = KEY.matcher(message);
        if (!key.find()) {
            return new LogEvent(message, Map.of());
        }
        String text = message.substring(0, key.start()).strip();
        Map<String, String> fields = new LinkedHashMap<>();
        String name = key.group(1);
        int from = key.end();
        while (key.find()) {
            fields.put(name, message.substring(from, key.start()).strip());
            name = key.group(1);
            from = key.end();
        }
        fields.put(name, message.substring(from).strip());
        return new LogEvent(text, fields);
    }
}
