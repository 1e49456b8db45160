package io.queenmq.openapi;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Writes out the abbreviations that the files of {@code resources/openapi} use; the first of them
 * says which. Pure.
 */
final class Shorthand {
    private static final String JSON = "application/json";
    private static final String SCHEMA = "schema";
    private static final String PROPERTIES = "properties";

    private Shorthand() {}

    /** A body of a request or an answer: a schema beside its description is that of its JSON. */
    static @Nullable Object body(@Nullable Object told) {
        if (!(told instanceof Map<?, ?>)) {
            return told;
        }
        Map<String, @Nullable Object> body = Trees.map(Trees.copy(told));
        if (body.containsKey(SCHEMA)) {
            Map<String, @Nullable Object> media = new LinkedHashMap<>();
            media.put(SCHEMA, body.remove(SCHEMA));
            if (body.containsKey("example")) {
                media.put("example", body.remove("example"));
            }
            Map<String, @Nullable Object> content = new LinkedHashMap<>();
            content.put(JSON, media);
            body.put("content", content);
        }
        Trees.child(body, "content")
                .replaceAll(
                        (type, one) -> {
                            Map<String, @Nullable Object> media = Trees.map(one);
                            media.computeIfPresent(SCHEMA, (name, schema) -> schema(schema));
                            return media;
                        });
        if (Trees.map(body.get("content")).isEmpty()) {
            body.remove("content");
        }
        return body;
    }

    /** Each of several bodies. */
    static Map<String, @Nullable Object> bodies(@Nullable Object told) {
        Map<String, @Nullable Object> bodies = Trees.map(told);
        bodies.replaceAll((name, body) -> body(body));
        return bodies;
    }

    /** A schema: a property is required unless its name ends in a question mark. */
    static @Nullable Object schema(@Nullable Object told) {
        if (!(told instanceof Map<?, ?>)) {
            return told;
        }
        Map<String, @Nullable Object> schema = Trees.map(told);
        for (String inner : List.of("items", "additionalProperties")) {
            schema.computeIfPresent(inner, (name, value) -> schema(value));
        }
        for (String choice : List.of("anyOf", "oneOf")) {
            if (schema.get(choice) instanceof List<?> several) {
                schema.put(choice, Trees.each(several, Shorthand::schema));
            }
        }
        if (schema.containsKey(PROPERTIES)) {
            Map<String, @Nullable Object> properties = new LinkedHashMap<>();
            List<String> required = new ArrayList<>();
            Trees.map(schema.get(PROPERTIES))
                    .forEach(
                            (name, value) -> {
                                boolean optional = name.endsWith("?");
                                String bare =
                                        optional ? name.substring(0, name.length() - 1) : name;
                                properties.put(bare, schema(value));
                                if (!optional) {
                                    required.add(bare);
                                }
                            });
            schema.put(PROPERTIES, properties);
            if (!required.isEmpty()) {
                schema.put("required", required);
            }
        }
        return schema;
    }
}
