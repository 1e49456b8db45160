package io.queenmq.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.config.Settings;
import io.queenmq.runtime.Version;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import picocli.CommandLine;

/** What holds for every command, whichever comes to be added. */
class QueenCommandTest {
    private final StringWriter out = new StringWriter();
    private final StringWriter err = new StringWriter();

    private CommandLine line() {
        CommandLine line =
                QueenCommand.commandLine(Settings.of(Map.of()), new PrintWriter(out, true));
        line.setOut(new PrintWriter(out, true));
        line.setErr(new PrintWriter(err, true));
        return line;
    }

    private int run(String... args) {
        out.getBuffer().setLength(0);
        err.getBuffer().setLength(0);
        return line().execute(args);
    }

    private List<String> commands() {
        return List.copyOf(line().getSubcommands().keySet());
    }

    @Test
    void aWrongCommandLineHasOneExitCodeAndSaysWhereToLook() {
        List<List<String>> wrong = new ArrayList<>();
        wrong.add(List.of("docter"));
        wrong.add(List.of("--nope"));
        wrong.add(List.of("--config"));
        wrong.add(List.of("help", "docter"));
        wrong.add(List.of("reclaim", "10GB", "--wait", "soon"));
        wrong.add(List.of("doctor", "--json=5"));
        for (String command : commands()) {
            wrong.add(List.of(command, "--nope"));
            wrong.add(List.of(command, "one", "two", "three"));
            wrong.add(List.of(command, "--config"));
        }
        for (List<String> args : wrong) {
            assertEquals(64, run(args.toArray(String[]::new)), args.toString());
            assertEquals("", out.toString(), args.toString());
            List<String> lines = err.toString().lines().toList();
            assertTrue(lines.getFirst().startsWith("queen: "), args + " gave " + err);
            assertTrue(
                    lines.getLast().matches("queen.* --help says how it is used\\."),
                    err::toString);
            assertTrue(lines.size() <= 3, err::toString);
        }
    }

    @Test
    void theHelpOfEveryCommandHasItsExitCodesAndExamples() {
        for (String command : Stream.concat(Stream.of(""), commands().stream()).toList()) {
            String[] args =
                    command.isEmpty() ? new String[] {"--help"} : new String[] {command, "--help"};
            assertEquals(0, run(args), command);
            String help = out.toString();
            assertTrue(help.matches("(?s).*\n +64 +the command line is wrong\n.*"), help);
            assertTrue(help.contains("\nExamples:\n  "), help);
            assertTrue(help.lines().allMatch(one -> one.length() <= 100), help);
        }
    }

    @Test
    void helpIsACommandToo() {
        assertEquals(0, run("--help"));
        String help = out.toString();
        assertEquals(0, run("help"));
        assertEquals(help, out.toString());
        for (String command : commands()) {
            assertEquals(0, run(command, "--help"));
            String itsHelp = out.toString();
            assertEquals(0, run("help", command));
            assertEquals(itsHelp, out.toString());
        }
    }

    @Test
    void theVersionIsSaidHoweverItIsAskedFor() {
        String version = "queen " + Version.current();
        assertFalse(version.endsWith("unknown"), version);
        for (String asked : List.of("version", "--version", "-V")) {
            assertEquals(0, run(asked));
            assertEquals(version, out.toString().strip());
        }
        for (String command : commands()) {
            assertEquals(0, run(command, "--version"));
            assertEquals(version, out.toString().strip(), command);
        }
    }
}
