package io.queenmq.testkit;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** A JSON text as maps, lists, strings, booleans and null; numbers keep their spelling. */
public final class Json {
    private static final JsonFactory FACTORY = new JsonFactory();

    private final @Nullable Object value;

    private Json(@Nullable Object value) {
        this.value = value;
    }

    public static Json parse(String text) {
        try (JsonParser parser = FACTORY.createParser(text)) {
            parser.nextToken();
            Json json = new Json(read(parser));
            if (parser.nextToken() != null) {
                throw new AssertionError("more than one value: " + text);
            }
            return json;
        } catch (IOException e) {
            throw new UncheckedIOException("not JSON: " + text, e);
        }
    }

    private static @Nullable Object read(JsonParser parser) throws IOException {
        return switch (parser.currentToken()) {
            case START_OBJECT -> {
                Map<String, @Nullable Object> map = new LinkedHashMap<>();
                while (parser.nextToken() == JsonToken.FIELD_NAME) {
                    String name = parser.currentName();
                    parser.nextToken();
                    map.put(name, read(parser));
                }
                yield map;
            }
            case START_ARRAY -> {
                List<@Nullable Object> list = new ArrayList<>();
                while (parser.nextToken() != JsonToken.END_ARRAY) {
                    list.add(read(parser));
                }
                yield list;
            }
            case VALUE_TRUE -> true;
            case VALUE_FALSE -> false;
            case VALUE_NULL -> null;
            default -> parser.getText();
        };
    }

    /** The value at a path of names and indexes. */
    public Json at(Object... path) {
        Object at = value;
        for (Object step : path) {
            if (at instanceof Map<?, ?> map && step instanceof String && map.containsKey(step)) {
                at = map.get(step);
            } else if (at instanceof List<?> list && step instanceof Integer index) {
                at = list.get(index);
            } else {
                throw new AssertionError("no " + step + " in " + at);
            }
        }
        return new Json(at);
    }

    /** The text of a string, number or boolean; {@code "null"} for null. */
    public String text(Object... path) {
        return String.valueOf(at(path).value);
    }

    public boolean bool(Object... path) {
        return Boolean.TRUE.equals(at(path).value);
    }

    public boolean isNull(Object... path) {
        return at(path).value == null;
    }

    public int size(Object... path) {
        return switch (at(path).value) {
            case List<?> list -> list.size();
            case Map<?, ?> map -> map.size();
            case null, default -> throw new AssertionError("neither array nor object: " + value);
        };
    }

    /** Names of an object in their order. */
    public List<String> names(Object... path) {
        if (at(path).value instanceof Map<?, ?> map) {
            return map.keySet().stream().map(Object::toString).toList();
        }
        throw new AssertionError("not an object: " + value);
    }

    /** One field of every element of an array. */
    public List<String> each(String array, String field) {
        List<String> texts = new ArrayList<>();
        for (int i = 0; i < size(array); i++) {
            texts.add(text(array, i, field));
        }
        return texts;
    }

    @Override
    public String toString() {
        return String.valueOf(value);
    }
}
