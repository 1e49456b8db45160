package io.queenmq.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What a broker says while its process ends is read by somebody: an own process ends here. */
class LastLinesTest {
    /** Java's own end of all logging, which runs beside ours. */
    private static final String JAVAS_END = "java.util.logging.LogManager$Cleaner";

    /** A program that has something to say at its very end. */
    static final class Program {
        private Program() {}

        public static void main(String[] args) {
            Logging.outlast();
            System.Logger log = System.getLogger("io.queenmq.runtime.Program");
            Logging.configure(LogLevels.INFO, true);
            Runtime.getRuntime().addShutdownHook(Thread.ofPlatform().unstarted(() -> sayLast(log)));
        }

        private static void sayLast(System.Logger log) {
            for (Thread thread : Thread.getAllStackTraces().keySet()) {
                if (thread.getClass().getName().equals(JAVAS_END)) {
                    joined(thread);
                }
            }
            log.log(Level.INFO, "the last word");
        }

        private static void joined(Thread thread) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Test
    void linesAreWrittenUntilTheProcessIsGone() throws IOException, InterruptedException {
        Process process =
                new ProcessBuilder(
                                List.of(
                                        Path.of(System.getProperty("java.home"), "bin", "java")
                                                .toString(),
                                        "-cp",
                                        System.getProperty("java.class.path"),
                                        Program.class.getName()))
                        .redirectErrorStream(true)
                        .start();
        String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        assertEquals(0, process.waitFor(), said);
        assertEquals(
                "{\"ts\":_,\"level\":\"INFO\",\"target\":\"runtime.Program\","
                        + "\"message\":\"the last word\"}\n",
                said.replaceFirst("\"ts\":\"[^\"]*\"", "\"ts\":_"));
    }
}
