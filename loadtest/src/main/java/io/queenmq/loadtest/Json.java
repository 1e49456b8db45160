package io.queenmq.loadtest;

import java.util.Iterator;
import java.util.List;
import java.util.Map;

/** Writes maps, lists, strings, numbers and booleans as indented JSON. */
final class Json {
    private Json() {}

    static String write(Object value) {
        StringBuilder out = new StringBuilder();
        write(out, value, "\n");
        return out.append('\n').toString();
    }

    private static void write(StringBuilder out, Object value, String indent) {
        switch (value) {
            case Map<?, ?> map -> object(out, map, indent);
            case List<?> list -> array(out, list, indent);
            case Number number -> out.append(number);
            case Boolean flag -> out.append(flag);
            default -> string(out, value.toString());
        }
    }

    private static void object(StringBuilder out, Map<?, ?> map, String indent) {
        String deeper = indent + "  ";
        out.append('{');
        Iterator<? extends Map.Entry<?, ?>> entries = map.entrySet().iterator();
        while (entries.hasNext()) {
            Map.Entry<?, ?> entry = entries.next();
            out.append(deeper);
            string(out, entry.getKey().toString());
            out.append(": ");
            write(out, entry.getValue(), deeper);
            out.append(entries.hasNext() ? "," : indent);
        }
        out.append('}');
    }

    private static void array(StringBuilder out, List<?> list, String indent) {
        String deeper = indent + "  ";
        out.append('[');
        Iterator<?> elements = list.iterator();
        while (elements.hasNext()) {
            out.append(deeper);
            write(out, elements.next(), deeper);
            out.append(elements.hasNext() ? "," : indent);
        }
        out.append(']');
    }

    private static void string(StringBuilder out, String text) {
        out.append('"');
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ') {
                out.append("\\u%04x".formatted((int) c));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }
}
