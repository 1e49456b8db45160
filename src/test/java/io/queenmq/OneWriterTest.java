package io.queenmq;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

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
    private static final Pattern UPDATE =
            Pattern.compile("update\\s+(?:queen_store\\.)?segments", Pattern.CASE_INSENSITIVE);
    private static final Pattern DELETE =
            Pattern.compile(
                    "delete\\s+from\\s+(?:queen_store\\.)?segments", Pattern.CASE_INSENSITIVE);
    private static final Pattern NOTIFY =
            Pattern.compile("\\bpg_notify\\b|\\bnotify\\b|queen\\.wake");

    @Test
    void onlyAppendInsertsSegmentsAndEvacuationMovesThem() throws IOException {
        assertEquals(
                List.of("queen_store.evacuate", "queen_store.append"),
                SqlTree.functions().stream()
                        .filter(f -> INSERT.matcher(f.statements()).find())
                        .map(SqlFunction::name)
                        .toList());
        assertEquals(List.of(), sourcesWith(INSERT));
    }

    /** What is moved is the row as it was, but for the payloads that have expired. */
    @Test
    void whatEvacuationInsertsItHasDeletedInTheSameStatement() throws IOException {
        String code =
                SqlTree.functions().stream()
                        .filter(f -> f.name().equals("queen_store.evacuate"))
                        .findAny()
                        .orElseThrow()
                        .statements()
                        .replaceAll("\\s+", " ");
        assertTrue(
                code.contains(
                        "returning s.partition_id, s.base_offset, s.end_offset, s.created_at,"
                                + " s.flush_id, s.keys, s.frames ), placed as ( insert into"
                                + " queen_store.segments ( epoch, partition_id, base_offset,"
                                + " end_offset, created_at, flush_id, keys, frames) select 0,"
                                + " m.partition_id, m.base_offset, m.end_offset, m.created_at,"
                                + " m.flush_id, m.keys, case when m.end_offset >= p.log_start then"
                                + " m.frames end from moved m"),
                code);
    }

    @Test
    void nothingChangesASegment() throws IOException {
        assertEquals(
                List.of(),
                SqlTree.functions().stream()
                        .filter(f -> UPDATE.matcher(f.statements()).find())
                        .map(SqlFunction::name)
                        .toList());
        assertEquals(List.of(), sourcesWith(UPDATE));
    }

    @Test
    void segmentsAreDeletedWhereTheyMoveOrAreDeadInEpochZeroOrNobodys() throws IOException {
        assertEquals(
                List.of(
                        "queen_store.evacuate",
                        "queen_store.sweep_epoch",
                        "queen_store.purge_segments"),
                SqlTree.functions().stream()
                        .filter(f -> DELETE.matcher(f.statements()).find())
                        .map(SqlFunction::name)
                        .toList());
        assertEquals(List.of(), sourcesWith(DELETE));
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
