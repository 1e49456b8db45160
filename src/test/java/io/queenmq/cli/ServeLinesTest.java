package io.queenmq.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.Main;
import io.queenmq.testkit.Json;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a process of a broker writes, for whoever reads it. */
class ServeLinesTest {
    @TempDir private Path folder;

    private List<String> refused(String json) throws IOException, InterruptedException {
        return refused(Map.of("PORT", "70000", "QUEEN_LOG_JSON", json));
    }

    /** Of a start with these settings alone. */
    private List<String> refused(Map<String, String> settings)
            throws IOException, InterruptedException {
        ProcessBuilder builder =
                new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Main.class.getName());
        builder.environment().clear();
        builder.environment().putAll(settings);
        builder.directory(folder.toFile());
        Process process = builder.redirectErrorStream(true).start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(1, process.waitFor(), said);
        return said.lines().toList();
    }

    @Test
    void aProgramReadsInTheLogWhyAStartIsRefused() throws IOException, InterruptedException {
        String sentence = "PORT must be a whole number from 0 to 65535, got \"70000\"";
        List<String> lines = refused("true");
        Json refusal = Json.parse(lines.get(lines.size() - 2));
        assertEquals("start refused", refusal.text("message"));
        assertEquals(sentence, refusal.text("error"));
        assertEquals("ERROR", refusal.text("level"));
        assertEquals("queen: " + sentence, lines.getLast());
    }

    /** Where nothing is set the line says so, and does not end where the list would begin. */
    @Test
    void theStartTellsWhatIsSetAndWhatIsSetForNothing() throws IOException, InterruptedException {
        String told = "INFO cli.Serve settings that are not left at their defaults: ";
        List<String> lines = refused(Map.of("QUEEN_TENANCY_HEADR", "on", "PORT", "70000"));
        assertTrue(
                lines.getFirst()
                        .endsWith(
                                "WARN cli.Serve setting is unknown and has no effect"
                                        + " name=QUEEN_TENANCY_HEADR: did you mean"
                                        + " QUEEN_TENANCY_HEADER?"),
                lines.toString());
        assertTrue(lines.get(1).endsWith(told + "PORT=70000"), lines.toString());

        // Without a setting it is the folder that is refused, or the port before it.
        Files.createFile(folder.resolve("data"));
        lines = refused(Map.of());
        assertTrue(lines.getFirst().endsWith(told + "none"), lines.toString());
    }

    @Test
    void aPersonReadsItOnce() throws IOException, InterruptedException {
        List<String> lines = refused("false");
        assertEquals(1, lines.stream().filter(line -> line.contains("65535")).count());
        assertTrue(lines.getLast().startsWith("queen: "), lines.getLast());
    }
}
