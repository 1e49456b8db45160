package io.queenmq.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonToken;
import io.queenmq.config.Settings;
import io.queenmq.embedded.EmbeddedPostgres;
import io.queenmq.metrics.Metrics;
import io.queenmq.runtime.Clock;
import io.queenmq.testkit.TestDatabase;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import picocli.CommandLine;

/** What an operator sees of {@code queen doctor}: lines, JSON and the exit code. */
class ExamineTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private int run(Map<String, String> environment, String... args) {
        CommandLine line =
                QueenCommand.commandLine(Settings.of(environment), new PrintWriter(out, true));
        line.setOut(new PrintWriter(out, true));
        line.setErr(new PrintWriter(err, true));
        return line.execute(args);
    }

    private static Map<String, String> on(TestDatabase database) {
        return Map.of(
                "PG_HOST", database.host(),
                "PG_PORT", Integer.toString(database.port()),
                "PG_DATABASE", database.name(),
                "PG_USER", database.user());
    }

    @Test
    void aServerThatMayLoseDataEndsItWithTwo() {
        try (TestDatabase database = TestDatabase.migrated()) {
            assertEquals(2, run(on(database), "doctor"));
            List<String> lines = out.toString().lines().toList();
            assertTrue(
                    lines.stream().anyMatch(line -> line.matches("fail  fsync +off: .+; do: .+")),
                    out.toString());
            for (String line : lines.subList(0, lines.size() - 1)) {
                assertTrue(line.matches("(ok  |warn|fail)  \\w+ +\\S.*"), line);
            }
            assertTrue(
                    lines.getLast().matches("queen@.+: \\d+ ok, \\d+ warn, [1-9]\\d* fail"),
                    lines.getLast());
        }
    }

    @Test
    void machinesReadTheSameAsJson() throws IOException {
        try (TestDatabase database = TestDatabase.migrated()) {
            assertEquals(2, run(on(database), "doctor", "--json"));
        }
        List<String> names = new ArrayList<>();
        int depth = 0;
        int checks = 0;
        try (JsonParser json = new JsonFactory().createParser(out.toString())) {
            for (JsonToken token = json.nextToken(); token != null; token = json.nextToken()) {
                switch (token) {
                    case START_OBJECT -> {
                        depth++;
                        checks += depth == 2 ? 1 : 0;
                    }
                    case END_OBJECT -> depth--;
                    case FIELD_NAME -> {
                        if (depth == 1) {
                            names.add(json.currentName());
                        }
                    }
                    case VALUE_STRING -> {
                        if (json.currentName() != null && json.currentName().equals("level")) {
                            assertTrue(json.getText().matches("ok|warn|fail"), json.getText());
                        }
                    }
                    default -> {}
                }
            }
        }
        assertEquals(List.of("database", "version", "ok", "warn", "fail", "checks"), names);
        assertTrue(checks > 30, checks + " checks");
    }

    @Test
    void theEmbeddedServerIsFoundWhileItRuns(@TempDir Path folder) {
        Map<String, String> environment = Map.of("QUEEN_DATA_DIR", folder.toString());
        assertEquals(1, run(environment, "doctor"));
        assertTrue(
                err.toString().contains("no embedded PostgreSQL runs in " + folder),
                err.toString());
        try (EmbeddedPostgres server =
                EmbeddedPostgres.start(folder, new Metrics(), Clock.SYSTEM)) {
            assertEquals(0, run(environment, "doctor"), out.toString());
            assertTrue(out.toString().contains(", 0 fail"), out.toString());
            assertTrue(out.toString().contains(":" + server.port() + "/queen"), out.toString());
        }
        assertEquals(1, run(environment, "doctor"));
    }

    @Test
    void aServerThatCannotBeReachedEndsItWithOne() {
        assertEquals(1, run(Map.of("PG_HOST", "127.0.0.1", "PG_PORT", "1"), "doctor"));
        assertTrue(
                err.toString().contains("cannot reach postgres@127.0.0.1:1/postgres"),
                err.toString());
        assertEquals("", out.toString());
    }

    @Test
    void aWrongCommandLineIsNoVerdict() {
        assertEquals(64, run(Map.of(), "doctor", "--xml"));
        assertEquals(0, run(Map.of(), "doctor", "--help"));
        assertTrue(out.toString().contains("PG_HOST=db"), out.toString());
    }
}
