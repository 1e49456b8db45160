package io.queenmq.testkit;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The SQL sources of the product as tests read them: files, and functions with their heads. */
public final class SqlTree {
    private static final Path ROOT = Path.of("src/main/resources/sql");

    private static final Pattern FUNCTION =
            Pattern.compile(
                    "create or replace function ([a-z_]+\\.[a-z_0-9]+)\\s*\\(.*?"
                            + "(?:as \\$\\$(.*?)\\$\\$;|\\nreturn (.*?);\\n)",
                    Pattern.DOTALL);
    private static final Pattern LABEL = Pattern.compile("^-- ([A-Z][a-z]+(?: by)?) {2,}(.*)$");

    private SqlTree() {}

    /**
     * A function as its source says it.
     *
     * @param head all lines of the comment right above it
     * @param labels what the head says after "Called by", "Locks", "Returns", "Raises" and "Cost"
     * @param code from "create" to the end of the body
     */
    public record SqlFunction(
            Path file,
            String name,
            List<String> head,
            String purpose,
            Map<String, String> labels,
            String code) {

        /** The code without its comments. */
        public String statements() {
            return code.replaceAll("--[^\\n]*", "");
        }

        /** What the head says it locks, on one line. */
        public String locks() {
            return labels.getOrDefault("Locks", "");
        }

        @Override
        public String toString() {
            return name + " in " + file.getFileName();
        }
    }

    /** Files of one folder of the tree, in the order in which a migration runs them. */
    public static List<Path> files(String folder) throws IOException {
        try (Stream<Path> files = Files.list(ROOT.resolve(folder))) {
            return files.filter(f -> f.toString().endsWith(".sql")).sorted().toList();
        }
    }

    /** All files. */
    public static List<Path> files() throws IOException {
        List<Path> files = new ArrayList<>(files("schema"));
        files.addAll(files("functions"));
        files.addAll(files("views"));
        return files;
    }

    /** All functions. */
    public static List<SqlFunction> functions() throws IOException {
        List<SqlFunction> functions = new ArrayList<>();
        for (Path file : files()) {
            String text = Files.readString(file);
            Matcher matcher = FUNCTION.matcher(text);
            while (matcher.find()) {
                functions.add(
                        function(
                                file,
                                matcher.group(1),
                                commentAbove(text, matcher.start()),
                                matcher.group()));
            }
        }
        return functions;
    }

    private static List<String> commentAbove(String text, int position) {
        List<String> lines = text.substring(0, position).lines().toList();
        int from = lines.size();
        while (from > 0 && lines.get(from - 1).startsWith("--")) {
            from--;
        }
        return lines.subList(from, lines.size());
    }

    private static SqlFunction function(Path file, String name, List<String> head, String code) {
        StringBuilder purpose = new StringBuilder();
        Map<String, String> labels = new LinkedHashMap<>();
        String label = "";
        for (String line : head) {
            Matcher matcher = LABEL.matcher(line);
            if (matcher.matches()) {
                label = matcher.group(1);
                labels.merge(label, matcher.group(2).strip(), (a, b) -> a + " " + b);
            } else if (label.isEmpty()) {
                purpose.append(line.substring(2));
            } else {
                labels.merge(label, line.substring(2).strip(), (a, b) -> a + " " + b);
            }
        }
        return new SqlFunction(file, name, head, purpose.toString().strip(), labels, code);
    }
}
