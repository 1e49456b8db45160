package io.queenmq.fault;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.queenmq.testkit.Contract;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/**
 * Goal: what a pipeline does to keys, and in SQL to tables of the application, happens once per
 * message. Method: the example, smaller, with the broker of this build: its producer, workers and
 * broker are killed at random moments, then it adds up every counter. Its own output says the seed.
 */
@Timeout(240)
final class ExactlyOnceFaultTest {
    private static final Path EXAMPLE = Path.of("examples/exactly-once/exactly_once.py");

    @Test
    @Contract({"tx-1", "tx-14", "tx-reason-3"})
    void everyEffectOfThePipelineHappensOnceWhoeverIsKilled(@TempDir Path folder) throws Exception {
        assumeTrue(isInstalled("python3"), "the example is a script in Python");
        Path output = folder.resolve("output.txt");
        try (PostgresProcess postgres = PostgresProcess.start()) {
            Process example = start(postgres, folder, output);
            try {
                assertEquals(0, example.waitFor(), () -> read(output));
            } finally {
                Children.kill(example);
            }
        }
        String text = read(output);
        assertTrue(text.contains("every effect exactly once"), text);
        assertEquals(isInstalled("psql") ? 2 : 1, text.split(" shipped; stock", -1).length - 1);
        for (String victim : List.of("the broker", "the producer", "a worker of charge")) {
            assertTrue(text.contains("killed " + victim), text);
        }
    }

    private static Process start(PostgresProcess postgres, Path folder, Path output)
            throws IOException {
        ProcessBuilder builder =
                new ProcessBuilder(
                                "python3",
                                EXAMPLE.toString(),
                                "--orders=150",
                                "--rate=60",
                                "--kills=6",
                                "--output=" + folder,
                                "--broker="
                                        + BrokerProcess.command().stream()
                                                .map(word -> "'" + word + "'")
                                                .collect(Collectors.joining(" ")))
                        .redirectErrorStream(true)
                        .redirectOutput(output.toFile());
        builder.environment()
                .putAll(
                        Map.of(
                                "PG_HOST", "127.0.0.1",
                                "PG_PORT", Integer.toString(postgres.port()),
                                "PG_DATABASE", "postgres",
                                "PG_USER", "queen",
                                "PYTHONUNBUFFERED", "1"));
        return Children.start(builder);
    }

    private static String read(Path output) {
        try {
            return Files.readString(output);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean isInstalled(String program) {
        String path = System.getenv().getOrDefault("PATH", "");
        return Arrays.stream(path.split(Pattern.quote(File.pathSeparator)))
                .anyMatch(folder -> Files.isExecutable(Path.of(folder, program)));
    }
}
