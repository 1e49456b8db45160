package io.queenmq.openapi;

import io.queenmq.access.Level;
import io.queenmq.access.Role;
import io.queenmq.web.Router;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Joins what is written of routes with how they were registered. A route that nothing is written of
 * is a mistake, and so is a description that no route goes with: the document is whole or not at
 * all. Pure.
 */
final class Document {
    private static final String HEAD = "/openapi/openapi.yaml";

    private static final List<String> PARTS =
            List.of(
                    "messages",
                    "queues",
                    "groups",
                    "keys",
                    "timers",
                    "log",
                    "connectors",
                    "analytics",
                    "operations",
                    "probes");

    /** A name in a pattern: of one segment, or of all that are left. */
    private static final Pattern NAME = Pattern.compile("[:*](\\w+)");

    private static final String PATHS = "paths";
    private static final String COMPONENTS = "components";
    private static final String PARAMETERS = "parameters";
    private static final String RESPONSES = "responses";
    private static final String SCHEMAS = "schemas";

    /** What every route that is not public may answer. */
    private static final Map<String, String> REFUSALS =
            Map.of(
                    "400", "Refused",
                    "401", "Unauthenticated",
                    "403", "Forbidden",
                    "500", "Bug",
                    "503", "Unavailable");

    private Document() {}

    /**
     * @param routes all that are served
     * @param version of the broker
     * @throws IllegalStateException for what is served and not described, or the other way round
     */
    static Map<String, @Nullable Object> of(List<Router.Route> routes, String version) {
        Map<String, @Nullable Object> document = Trees.map(Trees.copy(Trees.resource(HEAD)));
        Trees.child(document, "info").put("version", version);
        Map<String, @Nullable Object> components = Trees.child(document, COMPONENTS);
        Map<String, @Nullable Object> told = new LinkedHashMap<>();
        for (String part : PARTS) {
            Map<String, @Nullable Object> file = Trees.resource("/openapi/" + part + ".yaml");
            told.putAll(Trees.map(file.get(PATHS)));
            Trees.map(Trees.copy(file.get(COMPONENTS)))
                    .forEach((kind, some) -> Trees.child(components, kind).putAll(Trees.map(some)));
        }
        components.put(RESPONSES, Shorthand.bodies(components.get(RESPONSES)));
        Trees.child(components, SCHEMAS).replaceAll((name, schema) -> Shorthand.schema(schema));
        document.put(PATHS, paths(routes, told));
        return document;
    }

    private static Map<String, @Nullable Object> paths(
            List<Router.Route> routes, Map<String, @Nullable Object> told) {
        Set<String> heads =
                routes.stream()
                        .filter(route -> route.method().equals("HEAD"))
                        .map(Router.Route::pattern)
                        .collect(Collectors.toSet());
        Set<String> undescribed = new TreeSet<>();
        Set<String> unserved = new TreeSet<>();
        told.forEach(
                (path, operations) ->
                        Trees.map(operations)
                                .keySet()
                                .forEach(method -> unserved.add(method + ' ' + path)));
        Map<String, @Nullable Object> paths = new LinkedHashMap<>();
        for (Router.Route route : routes) {
            if (route.method().equals("HEAD")) {
                continue;
            }
            String path = NAME.matcher(route.pattern()).replaceAll("{$1}");
            String method = route.method().toLowerCase(Locale.ROOT);
            unserved.remove(method + ' ' + path);
            Map<String, @Nullable Object> operation =
                    Trees.map(Trees.map(told.get(path)).get(method));
            if (operation.isEmpty()) {
                undescribed.add(method + ' ' + path);
                continue;
            }
            Map<String, @Nullable Object> item = Trees.child(paths, path);
            List<Object> names = names(route.pattern());
            if (!names.isEmpty()) {
                item.put(PARAMETERS, names);
            }
            item.put(method, operation(route, operation, heads.contains(route.pattern())));
        }
        if (!undescribed.isEmpty() || !unserved.isEmpty()) {
            throw new IllegalStateException(
                    "served and not described: %s; described and not served: %s"
                            .formatted(undescribed, unserved));
        }
        return paths;
    }

    /** Parameters of a path, in its order. */
    private static List<Object> names(String pattern) {
        List<Object> names = new ArrayList<>();
        Matcher name = NAME.matcher(pattern);
        while (name.find()) {
            names.add(reference(PARAMETERS, name.group(1)));
        }
        return names;
    }

    private static Map<String, @Nullable Object> operation(
            Router.Route route, Map<String, @Nullable Object> told, boolean head) {
        Level level = route.level();
        Map<String, @Nullable Object> operation = Trees.map(Trees.copy(told));
        Map<String, @Nullable Object> responses = Shorthand.bodies(told.get(RESPONSES));
        if (operation.containsKey("requestBody")) {
            operation.put("requestBody", Shorthand.body(told.get("requestBody")));
            responses.computeIfAbsent("413", status -> reference(RESPONSES, "TooLarge"));
        }
        if (level != Level.PUBLIC) {
            REFUSALS.forEach(
                    (status, name) ->
                            responses.computeIfAbsent(status, s -> reference(RESPONSES, name)));
            List<Object> parameters = new ArrayList<>();
            if (operation.get(PARAMETERS) instanceof List<?> some) {
                parameters.addAll(some);
            }
            parameters.add(reference(PARAMETERS, "tenant"));
            operation.put(PARAMETERS, parameters);
        }
        Map<String, @Nullable Object> sorted = new LinkedHashMap<>();
        responses.keySet().stream().sorted().forEach(s -> sorted.put(s, responses.get(s)));
        operation.put(RESPONSES, sorted);
        operation.put("security", security(level));
        operation.put("x-queen-level", level.name().toLowerCase(Locale.ROOT).replace('_', '-'));
        if (route.method().equals("GET")) {
            operation.put("x-queen-head", head);
        }
        return operation;
    }

    /** Any of the roles that pass; or no token, where the broker asks for none. */
    private static List<Object> security(Level level) {
        List<Object> ways = new ArrayList<>();
        if (level != Level.PUBLIC) {
            for (Role role : Role.values()) {
                if (level.admits(EnumSet.of(role))) {
                    ways.add(Map.of("token", List.of(role.id())));
                }
            }
            ways.add(new LinkedHashMap<>());
        }
        return ways;
    }

    private static Map<String, @Nullable Object> reference(String kind, String name) {
        Map<String, @Nullable Object> reference = new LinkedHashMap<>();
        reference.put("$ref", "#/components/%s/%s".formatted(kind, name));
        return reference;
    }
}
