package io.queenmq.config;

import java.io.IOException;
import java.io.StringReader;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.yaml.snakeyaml.LoaderOptions;
import org.yaml.snakeyaml.Yaml;
import org.yaml.snakeyaml.constructor.SafeConstructor;
import org.yaml.snakeyaml.error.MarkedYAMLException;
import org.yaml.snakeyaml.error.YAMLException;
import org.yaml.snakeyaml.nodes.MappingNode;
import org.yaml.snakeyaml.nodes.Node;
import org.yaml.snakeyaml.nodes.NodeTuple;
import org.yaml.snakeyaml.nodes.ScalarNode;
import org.yaml.snakeyaml.nodes.SequenceNode;
import org.yaml.snakeyaml.nodes.Tag;

/**
 * A YAML file with settings: the names that the environment has, each with a value or a list. A
 * value is taken as it is written, so that {@code on} and {@code 0123} say there what they say in
 * the environment; messages repeat none, for it may be a secret. Pure but for the reading.
 */
final class SettingsFile {
    private final Path path;

    private SettingsFile(Path path) {
        this.path = path;
    }

    /**
     * What the file says.
     *
     * @throws BadSetting naming the line
     */
    static Map<String, String> read(Path path) {
        return new SettingsFile(path).read();
    }

    private Map<String, String> read() {
        try {
            Node root = parse(Files.readString(path));
            if (root == null || root.getTag().equals(Tag.NULL)) {
                return Map.of();
            }
            if (!(root instanceof MappingNode mapping)) {
                throw bad(root, "names and values are expected, as in PORT: 6632");
            }
            Map<String, String> values = new LinkedHashMap<>();
            for (NodeTuple entry : mapping.getValue()) {
                String name = name(entry.getKeyNode());
                if (values.put(name, value(name, entry.getValueNode())) != null) {
                    throw bad(entry.getKeyNode(), name + " stands there twice");
                }
            }
            return values;
        } catch (NoSuchFileException e) {
            throw new BadSetting("QUEEN_CONFIG must be a file, and " + path + " is not there");
        } catch (IOException e) {
            throw new BadSetting(
                    "QUEEN_CONFIG must be a file in UTF-8 that can be read, and "
                            + path
                            + " is none");
        }
    }

    private @Nullable Node parse(String text) {
        Yaml yaml = new Yaml(new SafeConstructor(new LoaderOptions()));
        try {
            return yaml.compose(new StringReader(text));
        } catch (MarkedYAMLException e) {
            // Its own words may repeat what it found.
            throw bad(
                    e.getProblemMark().getLine(),
                    "this is no YAML; a value with signs of YAML's own stands in quotes");
        } catch (YAMLException e) {
            throw new BadSetting(path + " is no YAML");
        }
    }

    private String name(Node key) {
        String name = key instanceof ScalarNode scalar ? scalar.getValue() : "";
        if (name.equals(Variables.CONFIG.name())) {
            throw bad(key, name + " names a file and stands in none");
        }
        boolean known =
                OtherVersions.have(name)
                        || Variables.all().stream().anyMatch(v -> v.names().contains(name));
        if (!known) {
            throw bad(key, '"' + name + "\" is no setting" + Nearest.hint(name));
        }
        return name;
    }

    private String value(String name, Node node) {
        return switch (node) {
            case ScalarNode scalar when scalar.getTag().equals(Tag.NULL) -> "";
            case ScalarNode scalar -> scalar.getValue();
            case SequenceNode list ->
                    list.getValue().stream()
                            .map(
                                    item ->
                                            item instanceof ScalarNode scalar
                                                    ? scalar.getValue()
                                                    : noValue(name, item))
                            .collect(Collectors.joining(","));
            default -> noValue(name, node);
        };
    }

    private String noValue(String name, Node node) {
        throw bad(node, name + " must be a value or a list of values");
    }

    private BadSetting bad(Node node, String sentence) {
        return bad(node.getStartMark().getLine(), sentence);
    }

    private BadSetting bad(int line, String sentence) {
        return new BadSetting("%s line %d: %s".formatted(path, line + 1, sentence));
    }
}
