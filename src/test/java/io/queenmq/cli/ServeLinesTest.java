package io.queenmq.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.Main;
import io.queenmq.testkit.Json;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a process of a broker writes, for whoever reads it. */
class ServeLinesTest {
    private static List<String> refused(String json) throws IOException, InterruptedException {
        ProcessBuilder builder =
                new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Main.class.getName());
        builder.environment().put("PORT", "70000");
        builder.environment().put("QUEEN_LOG_JSON", json);
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

    @Test
    void aPersonReadsItOnce() throws IOException, InterruptedException {
        List<String> lines = refused("false");
        assertEquals(1, lines.stream().filter(line -> line.contains("65535")).count());
        assertTrue(lines.getLast().startsWith("queen: "), lines.getLast());
    }
}
