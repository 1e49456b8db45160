package io.queenmq.web;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.core.util.JsonRecyclerPools;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.model.Slice;
import java.io.IOException;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * A request body read as a stream of JSON tokens. Values that are passed on are taken as slices of
 * the body: their syntax is checked and their bytes are never touched, so no number, string or key
 * is too long or too odd. Refuses a body that is not exactly one JSON object in strict UTF-8. For
 * one thread.
 */
public final class JsonBody implements AutoCloseable {
    /** How deep arrays and objects may nest. */
    public static final int DEPTH_MAX = 10_000;

    // Symbols: the names in a payload are the client's, so however badly they hash they are legal.
    // Recycling: a pool, since the parser's thread-local buffers do nothing for virtual threads.
    private static final JsonFactory FACTORY =
            JsonFactory.builder()
                    .disable(JsonFactory.Feature.INTERN_FIELD_NAMES)
                    .disable(JsonFactory.Feature.FAIL_ON_SYMBOL_HASH_OVERFLOW)
                    .recyclerPool(JsonRecyclerPools.newConcurrentDequePool())
                    .streamReadConstraints(
                            StreamReadConstraints.builder()
                                    .maxNestingDepth(DEPTH_MAX)
                                    .maxNumberLength(Integer.MAX_VALUE)
                                    .maxStringLength(Integer.MAX_VALUE)
                                    .maxNameLength(Integer.MAX_VALUE)
                                    .build())
                    .build();
    private static final Pattern SOURCE = Pattern.compile("\\[Source: [^;]*; ([^]]*)]");

    /** How to change the parser. */
    private static final Pattern FOR_PROGRAMMERS =
            Pattern.compile(": enable `[^`]*` to allow|, from `[^`]*`");

    private static final int BYTES_THAT_TELL_THE_ENCODING = 4;

    private final byte[] body;
    private final JsonParser parser;

    /** Begins with the one object that the body must be. */
    public JsonBody(byte[] body) {
        this(body, false);
    }

    /** The same for a body that may be an array as well; its first token tells. */
    public static JsonBody arrayOrObject(byte[] body) {
        return new JsonBody(body, true);
    }

    private JsonBody(byte[] body, boolean array) {
        this.body = body;
        int bad = Utf8.firstBad(body);
        if (bad >= 0) {
            throw bad("invalid UTF-8 at byte " + bad);
        }
        // The parser would take NULs for a sign of UTF-16 and a byte order mark for nothing at all.
        for (int i = 0; i < Math.min(body.length, BYTES_THAT_TELL_THE_ENCODING); i++) {
            if (body[i] == 0 || (i == 0 && body[i] == (byte) 0xef)) {
                throw bad("must be a JSON object in UTF-8 without a byte order mark");
            }
        }
        try {
            parser = FACTORY.createParser(body, 0, body.length);
            JsonToken first = parser.nextToken();
            if (first != JsonToken.START_OBJECT && !(array && first == JsonToken.START_ARRAY)) {
                throw bad(array ? "must be a JSON array or object" : "must be a JSON object");
            }
        } catch (IOException e) {
            throw malformed(e);
        }
    }

    /** Refusal of a body that does not say what it should. */
    public static QueenException bad(String what) {
        return new QueenException(Failure.BAD_REQUEST, "bad body: " + what);
    }

    private static QueenException malformed(IOException e) {
        String message = e.getMessage();
        if (e instanceof JsonProcessingException parse) {
            message =
                    FOR_PROGRAMMERS
                                    .matcher(
                                            SOURCE.matcher(parse.getOriginalMessage())
                                                    .replaceAll("$1"))
                                    .replaceAll("")
                            + (parse.getLocation() == null
                                    ? ""
                                    : " at line "
                                            + parse.getLocation().getLineNr()
                                            + " column "
                                            + parse.getLocation().getColumnNr());
        }
        return bad(message == null ? "malformed" : message);
    }

    /** Steps to the next name of the current object, and on to its value; null at its end. */
    public @Nullable String nextName() {
        try {
            if (parser.nextToken() != JsonToken.FIELD_NAME) {
                return null;
            }
            String name = parser.currentName();
            parser.nextToken();
            return name;
        } catch (IOException e) {
            throw malformed(e);
        }
    }

    /** Steps to the next element of the current array; false at its end. */
    public boolean nextElement() {
        try {
            return parser.nextToken() != JsonToken.END_ARRAY;
        } catch (IOException e) {
            throw malformed(e);
        }
    }

    /** Type of the current value, or the token that ends a structure. */
    public JsonToken token() {
        return parser.currentToken();
    }

    /** The current value as text, its escapes resolved; a number as it is spelled. */
    public String text() {
        try {
            return parser.getText();
        } catch (IOException e) {
            throw malformed(e);
        }
    }

    /** The current string; {@code likely} itself when it says the same, to save the copy. */
    public String text(@Nullable String likely) {
        try {
            int length = parser.getTextLength();
            if (likely != null && likely.length() == length) {
                char[] characters = parser.getTextCharacters();
                int offset = parser.getTextOffset();
                int i = 0;
                while (i < length && characters[offset + i] == likely.charAt(i)) {
                    i++;
                }
                if (i == length) {
                    return likely;
                }
            }
            return parser.getText();
        } catch (IOException e) {
            throw malformed(e);
        }
    }

    /** The current string, or null for JSON null; anything else refuses the body. */
    public @Nullable String textOrNull(String field) {
        return switch (token()) {
            case VALUE_NULL -> null;
            case VALUE_STRING -> text();
            default -> throw bad(field + " must be a string, got " + kind());
        };
    }

    /** The whole number that the current value is; null if it is something else, or no long. */
    public @Nullable Long whole() {
        return token().isNumeric() ? WholeNumber.exact(text()) : null;
    }

    /** The current value byte for byte, checked to its end. */
    public Slice raw() {
        try {
            int from = (int) parser.currentTokenLocation().getByteOffset();
            int to;
            if (token() == JsonToken.VALUE_STRING) {
                to = endOfString(from);
            } else {
                parser.skipChildren();
                to = (int) parser.currentLocation().getByteOffset();
            }
            return new Slice(body, from, to - from);
        } catch (IOException e) {
            throw malformed(e);
        }
    }

    // The parser would decode the whole string to find its end; it checks it as it steps over it.
    private int endOfString(int from) {
        int i = from + 1;
        while (i < body.length && body[i] != '"') {
            i += body[i] == '\\' ? 2 : 1;
        }
        if (i >= body.length) {
            throw bad("unexpected end of a string");
        }
        return i + 1;
    }

    /** Passes over the current value. */
    public void skip() {
        try {
            parser.skipChildren();
        } catch (IOException e) {
            throw malformed(e);
        }
    }

    /** Checks that nothing follows the object. */
    public void end() {
        try {
            if (parser.nextToken() != null) {
                throw bad("more than one JSON value");
            }
        } catch (IOException e) {
            throw malformed(e);
        }
    }

    /** Type of the current value in words. */
    public String kind() {
        return switch (token()) {
            case START_OBJECT -> "an object";
            case START_ARRAY -> "an array";
            case VALUE_STRING -> "a string";
            case VALUE_NUMBER_INT, VALUE_NUMBER_FLOAT -> "a number";
            case VALUE_TRUE, VALUE_FALSE -> "a boolean";
            case VALUE_NULL -> "null";
            default -> "nothing";
        };
    }

    @Override
    public void close() {
        try {
            parser.close();
        } catch (IOException e) {
            throw new IllegalStateException("closing a parser over an array", e);
        }
    }
}
