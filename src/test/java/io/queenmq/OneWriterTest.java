package io.queenmq;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.queenmq.testkit.SqlTree;
import io.queenmq.testkit.SqlTree.SqlFunction;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Who may write the log, and who may wake brokers. */
class OneWriterTest {
    private static final Pattern INSERT =
            Pattern.compile(
                    "insert\\s+into\\s+(?:queen_store\\.)?segments", Pattern.CASE_INSENSITIVE);
    private static final Pattern CHANGE =
            Pattern.compile(
                    "(?:update|delete\\s+from)\\s+(?:queen_store\\.)?segments",
                    Pattern.CASE_INSENSITIVE);
    private static final Pattern NOTIFY =
            Pattern.compile("\\bpg_notify\\b|\\bnotify\\b|queen\\.wake");

    @Test
    void onlyAppendInsertsSegments() throws IOException {
        assertEquals(
                List.of("queen_store.append"),
                SqlTree.functions().stream()
                        .filter(f -> INSERT.matcher(f.statements()).find())
                        .map(SqlFunction::name)
                        .toList());
        assertEquals(List.of(), sourcesWith(INSERT));
    }

    @Test
    void nothingChangesASegment() throws IOException {
        assertEquals(
                List.of(),
                SqlTree.functions().stream()
                        .filter(f -> CHANGE.matcher(f.statements()).find())
                        .map(SqlFunction::name)
                        .toList());
        assertEquals(List.of(), sourcesWith(CHANGE));
    }

    @Test
    void onlyTheApiNotifies() throws IOException {
        assertEquals(
                List.of(),
                SqlTree.functions().stream()
                        .filter(f -> f.name().startsWith("queen_store."))
                        .filter(f -> NOTIFY.matcher(f.statements()).find())
                        .map(SqlFunction::name)
                        .toList());
    }

    private static List<Path> sourcesWith(Pattern pattern) throws IOException {
        try (Stream<Path> files = Files.walk(Path.of("src/main/java"))) {
            return files.filter(f -> f.toString().endsWith(".java"))
                    .filter(f -> pattern.matcher(read(f)).find())
                    .toList();
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
