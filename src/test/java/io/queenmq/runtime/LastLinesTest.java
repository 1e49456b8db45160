package io.queenmq.runtime;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.IOException;
import java.lang.System.Logger.Level;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.logging.LogManager;
import org.junit.jupiter.api.Test;

/** What a broker says while its process ends is read by somebody: an own process ends here. */
class LastLinesTest {
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
            // As Java itself does at this moment, in a thread beside this one.
            LogManager.getLogManager().reset();
            log.log(Level.INFO, "the last word");
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
