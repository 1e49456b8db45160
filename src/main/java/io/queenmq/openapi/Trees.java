package io.queenmq.openapi;

import io.queenmq.web.JsonBuffer;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.DumperOptions;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;

/** Documents as trees of maps, lists, texts, numbers and booleans. Pure. */
final class Trees {
    private static final int LINE_LENGTH = 120;

    private Trees() {}

    /** A file of the jar. */
    static Map<String, @Nullable Object> resource(String name) {
        try (InputStream in = Trees.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IllegalStateException("not in the jar: " + name);
            }
            return map(new Yaml(new SafeConstructor(new LoaderOptions())).load(in));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** A map with the same entries; nothing = an empty one. */
    static Map<String, @Nullable Object> map(@Nullable Object tree) {
        Map<String, @Nullable Object> map = new LinkedHashMap<>();
        if (tree instanceof Map<?, ?> other) {
            other.forEach((key, value) -> map.put(String.valueOf(key), value));
        }
        return map;
    }

    /** The map that stands under a name; made, where there is none. */
    static Map<String, @Nullable Object> child(Map<String, @Nullable Object> map, String name) {
        Map<String, @Nullable Object> child = map(map.get(name));
        map.put(name, child);
        return child;
    }

    /** The same, shared with nobody: what is shared would be written as a reference. */
    static @Nullable Object copy(@Nullable Object tree) {
        return switch (tree) {
            case Map<?, ?> map -> {
                Map<String, @Nullable Object> copy = map(map);
                copy.replaceAll((name, value) -> copy(value));
                yield copy;
            }
            case List<?> list -> each(list, Trees::copy);
            case null, default -> tree;
        };
    }

    /** What becomes of every element. */
    static List<@Nullable Object> each(
            List<?> list, Function<@Nullable Object, @Nullable Object> change) {
        List<@Nullable Object> changed = new ArrayList<>(list.size());
        for (Object element : list) {
            changed.add(change.apply(element));
        }
        return changed;
    }

    static String json(@Nullable Object tree) {
        JsonBuffer json = new JsonBuffer(1 << 18);
        write(json, tree);
        return json.toString();
    }

    private static void write(JsonBuffer json, @Nullable Object tree) {
        switch (tree) {
            case Map<?, ?> map -> {
                json.raw('{');
                map.forEach(
                        (name, value) -> {
                            json.raw(json.endsWith('{') ? "" : ",");
                            json.string(String.valueOf(name)).raw(':');
                            write(json, value);
                        });
                json.raw('}');
            }
            case List<?> list -> {
                json.raw('[');
                list.forEach(
                        value -> {
                            json.raw(json.endsWith('[') ? "" : ",");
                            write(json, value);
                        });
                json.raw(']');
            }
            case Boolean bool -> json.bool(bool);
            case Number number -> json.raw(number.toString());
            case null -> json.raw("null");
            default -> json.string(String.valueOf(tree));
        }
    }

    static String yaml(Object tree) {
        DumperOptions options = new DumperOptions();
        options.setDefaultFlowStyle(DumperOptions.FlowStyle.BLOCK);
        options.setWidth(LINE_LENGTH);
        return new Yaml(options).dump(tree);
    }
}
