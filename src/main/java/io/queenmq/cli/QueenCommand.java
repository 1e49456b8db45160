package io.queenmq.cli;

import io.queenmq.config.Settings;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.StartRefused;
import io.queenmq.runtime.Version;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;

/** The command line of {@code ./queen}; without a subcommand it serves. */
@Command(
        name = "queen",
        description = "A message broker that keeps every byte of its state in PostgreSQL.",
        mixinStandardHelpOptions = true,
        versionProvider = QueenCommand.Versions.class,
        subcommands = {Serve.class, ShowConfig.class},
        footerHeading = "%nExamples:%n",
        footer = {
            "  queen                              serve on port 6632 with a PostgreSQL of its own"
                    + " in ./data",
            "  PORT=7000 queen serve              the same on another port",
            "  PG_HOST=db PG_USER=queen PG_PASSWORD=secret PG_DATABASE=queen queen serve",
            "                                     serve from a PostgreSQL of yours, 15 to 18",
            "  queen doctor                       what to do about the PostgreSQL server",
            "  queen reclaim 10GB                 give space of expired messages back now",
            "  queen config                       every setting, with its default and range",
            "",
            "Settings are environment variables: see docs/configuration.md."
        })
public final class QueenCommand implements Runnable {
    /** Says the version of the build. */
    static final class Versions implements IVersionProvider {
        @Override
        public String[] getVersion() {
            return new String[] {"queen " + Version.current()};
        }
    }

    /** Returns the exit code once the command has ended. */
    public static int run(String... args) {
        PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
        return commandLine(Settings.ofProcess(), out).execute(args);
    }

    /** All commands; those beside a broker have these settings and write there. */
    static CommandLine commandLine(Settings settings, PrintWriter out) {
        CommandLine line = new CommandLine(new QueenCommand());
        line.addSubcommand(new Examine(settings, out));
        line.addSubcommand(new ReclaimSpace(settings, out));
        line.setExecutionExceptionHandler(
                (exception, command, parsed) -> {
                    if (exception instanceof StartRefused || exception instanceof QueenException) {
                        PrintWriter err = command.getErr();
                        err.println("queen: " + exception.getMessage());
                        err.flush();
                        return 1;
                    }
                    throw exception;
                });
        return line;
    }

    @Override
    public void run() {
        new Serve().run();
    }
}
