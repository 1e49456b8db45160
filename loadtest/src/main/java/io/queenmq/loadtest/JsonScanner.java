package io.queenmq.loadtest;

import java.nio.charset.StandardCharsets;

/**
 * Walks JSON in place, without an object per value: the generator shares the cores with what it
 * measures. The caller knows the shape; what it does not ask for is skipped.
 */
final class JsonScanner {
    private byte[] json = {};
    private int at;
    private int end;
    private int keyFrom;
    private int keyTo;
    private int valueFrom;
    private int valueTo;

    void reset(byte[] bytes, int from, int to) {
        json = bytes;
        at = from;
        end = to;
    }

    byte[] bytes() {
        return json;
    }

    /** First byte of the string read last, or of the value skipped last. */
    int valueFrom() {
        return valueFrom;
    }

    /** Byte after the string read last (its quote), or after the value skipped last. */
    int valueTo() {
        return valueTo;
    }

    void enterObject() {
        expect('{');
    }

    void enterArray() {
        expect('[');
    }

    /** Moves to the value of the next field; false = the object has ended. */
    boolean nextField() {
        if (!nextItem('}')) {
            return false;
        }
        string();
        keyFrom = valueFrom;
        keyTo = valueTo;
        expect(':');
        return true;
    }

    /** Moves to the next element; false = the array has ended. */
    boolean nextElement() {
        return nextItem(']');
    }

    boolean keyIs(byte[] key) {
        return keyTo - keyFrom == key.length && matches(keyFrom, key);
    }

    /** True if the string read last equals the given bytes. */
    boolean valueIs(byte[] value) {
        return valueTo - valueFrom == value.length && matches(valueFrom, value);
    }

    boolean atNull() {
        return peek() == 'n';
    }

    boolean atString() {
        return peek() == '"';
    }

    /** Reads a string; its raw bytes, escapes untouched, are between valueFrom and valueTo. */
    void string() {
        expect('"');
        valueFrom = at;
        while (at < end && json[at] != '"') {
            at += json[at] == '\\' ? 2 : 1;
        }
        valueTo = at;
        expect('"');
    }

    long number() {
        peek();
        boolean negative = json[at] == '-';
        if (negative) {
            at++;
        }
        int first = at;
        long value = 0;
        while (at < end && json[at] >= '0' && json[at] <= '9') {
            value = value * 10 + (json[at++] - '0');
        }
        if (at == first) {
            throw wrong("a number");
        }
        return negative ? -value : value;
    }

    boolean bool() {
        boolean value = peek() == 't';
        skipValue();
        return value;
    }

    void skipValue() {
        byte first = peek();
        int from = at;
        if (first == '"') {
            string();
        } else if (first == '{' || first == '[') {
            skipNested();
        } else {
            while (at < end && ",]} \n\r\t".indexOf(json[at]) < 0) {
                at++;
            }
        }
        valueFrom = from;
        valueTo = at;
    }

    private void skipNested() {
        int depth = 0;
        do {
            byte next = peek();
            if (next == '"') {
                string();
                continue;
            }
            if (next == '{' || next == '[') {
                depth++;
            } else if (next == '}' || next == ']') {
                depth--;
            }
            at++;
        } while (depth > 0);
    }

    private boolean nextItem(char close) {
        byte next = peek();
        if (next == ',') {
            at++;
            peek();
            return true;
        }
        if (next == close) {
            at++;
            return false;
        }
        return true;
    }

    private byte peek() {
        while (at < end && (json[at] == ' ' || json[at] == '\n' || json[at] == '\r')) {
            at++;
        }
        if (at >= end) {
            throw wrong("more");
        }
        return json[at];
    }

    private void expect(char wanted) {
        if (peek() != wanted) {
            throw wrong("'" + wanted + "'");
        }
        at++;
    }

    private boolean matches(int from, byte[] wanted) {
        for (int i = 0; i < wanted.length; i++) {
            if (json[from + i] != wanted[i]) {
                return false;
            }
        }
        return true;
    }

    private IllegalStateException wrong(String wanted) {
        int from = Math.max(0, at - 60);
        int to = Math.min(end, at + 60);
        return new IllegalStateException(
                "expected %s after: %s"
                        .formatted(
                                wanted, new String(json, from, to - from, StandardCharsets.UTF_8)));
    }
}
