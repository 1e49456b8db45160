package io.queenmq.openapi;

import com.networknt.schema.Error;
import com.networknt.schema.InputFormat;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaLocation;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SpecificationVersion;
import io.queenmq.web.Router;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The document as a judge of requests and answers: what it says about one must hold, and an answer
 * may have no field that it does not name.
 */
final class Description {
    private static final String HERE = "https://queen.test/openapi";

    private final Map<String, @Nullable Object> document;
    private final SchemaRegistry registry;
    private final Map<String, Schema> schemas = new TreeMap<>();

    /** One operation of it. */
    record Operation(String path, String method, Map<String, @Nullable Object> told) {
        String id() {
            return String.valueOf(told.get("operationId"));
        }
    }

    Description(List<Router.Route> routes) {
        document = Document.of(routes, "test");
        registry =
                SchemaRegistry.withDefaultDialect(
                        SpecificationVersion.DRAFT_2020_12,
                        builder ->
                                builder.schemas(
                                        Map.of(HERE, Trees.json(Trees.map(closed(document))))));
    }

    /** The same, where an object that lists its properties has no others unless it says so. */
    private static @Nullable Object closed(@Nullable Object tree) {
        return switch (tree) {
            case Map<?, ?> map -> {
                Map<String, @Nullable Object> copy = Trees.map(map);
                copy.replaceAll((name, value) -> name.equals("example") ? value : closed(value));
                if (copy.get("properties") instanceof Map<?, ?> && copy.containsKey("type")) {
                    copy.putIfAbsent("additionalProperties", false);
                }
                yield copy;
            }
            case List<?> list -> Trees.each(list, Description::closed);
            case null, default -> tree;
        };
    }

    /** All operations, sorted by path. */
    List<Operation> operations() {
        List<Operation> operations = new ArrayList<>();
        new TreeMap<>(Trees.map(document.get("paths")))
                .forEach(
                        (path, item) ->
                                Trees.map(item)
                                        .forEach(
                                                (method, told) -> {
                                                    if (told instanceof Map<?, ?>) {
                                                        operations.add(
                                                                new Operation(
                                                                        path,
                                                                        method,
                                                                        Trees.map(told)));
                                                    }
                                                }));
        return operations;
    }

    Operation operation(String method, String path) {
        return operations().stream()
                .filter(o -> o.path().equals(path) && o.method().equals(method))
                .findFirst()
                .orElseThrow(() -> new AssertionError("nothing is told of " + method + ' ' + path));
    }

    /** What stands at a path of names, through references. */
    Map<String, @Nullable Object> at(Map<String, @Nullable Object> from, String... names) {
        Map<String, @Nullable Object> at = followed(from);
        for (String name : names) {
            at = followed(Trees.map(at.get(name)));
        }
        return at;
    }

    private Map<String, @Nullable Object> followed(Map<String, @Nullable Object> map) {
        if (!(map.get("$ref") instanceof String reference)) {
            return map;
        }
        Map<String, @Nullable Object> at = document;
        for (String name : reference.substring(2).split("/", -1)) {
            at = Trees.map(at.get(name));
        }
        return at;
    }

    /** Everything that is there, each place with what it holds and the pointer to it. */
    Map<String, Map<String, @Nullable Object>> places() {
        Map<String, Map<String, @Nullable Object>> places = new LinkedHashMap<>();
        collect("#", document, places);
        return places;
    }

    private static void collect(
            String pointer,
            @Nullable Object tree,
            Map<String, Map<String, @Nullable Object>> places) {
        if (tree instanceof Map<?, ?> map) {
            places.put(pointer, Trees.map(map));
            map.forEach(
                    (name, value) ->
                            collect(pointer + '/' + escaped(String.valueOf(name)), value, places));
        }
    }

    private static String escaped(String name) {
        return name.replace("~", "~0").replace("/", "~1");
    }

    /** What is wrong with an answer; empty = nothing. */
    List<String> complaints(Operation operation, int status, String type, String body) {
        Map<String, @Nullable Object> responses = Trees.map(operation.told().get("responses"));
        Map<String, @Nullable Object> response = Trees.map(responses.get("" + status));
        if (response.isEmpty()) {
            return List.of(status + " is not told of");
        }
        String pointer =
                response.get("$ref") instanceof String reference
                        ? reference
                        : "#/paths/%s/%s/responses/%d"
                                .formatted(escaped(operation.path()), operation.method(), status);
        Map<String, @Nullable Object> content = at(response, "content");
        String media = type.replaceFirst(";.*", "");
        if (content.isEmpty()) {
            return body.isEmpty() ? List.of() : List.of("a body is not told of: " + body);
        }
        if (!content.containsKey(media)) {
            return List.of(media + " is not told of");
        }
        return media.equals("application/json")
                ? complaints(pointer + "/content/application~1json/schema", body)
                : List.of();
    }

    /** What is wrong with a text by the schema at a pointer. */
    List<String> complaints(String pointer, String json) {
        return schemas
                .computeIfAbsent(pointer, p -> registry.getSchema(SchemaLocation.of(HERE + p)))
                .validate(
                        json,
                        InputFormat.JSON,
                        context -> context.executionConfig(c -> c.formatAssertionsEnabled(true)))
                .stream()
                .map(Error::toString)
                .toList();
    }
}
