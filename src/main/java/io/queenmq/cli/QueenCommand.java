package io.queenmq.cli;

import io.queenmq.config.Settings;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.StartRefused;
import io.queenmq.runtime.Version;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Optional;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.IVersionProvider;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.ScopeType;
import picocli.CommandLine.UnmatchedArgumentException;

/** The command line of {@code ./queen}; without a subcommand it serves. */
@Command(
        name = "queen",
        description = "A message broker that keeps every byte of its state in PostgreSQL.",
        mixinStandardHelpOptions = true,
        versionProvider = QueenCommand.Versions.class,
        exitCodeListHeading = "%nExit codes of serve; the help of other commands has theirs:%n",
        exitCodeList = {Serve.STOPPED, Serve.REFUSED, QueenCommand.WRONG, Serve.THREAD_DIED},
        footerHeading = "%nExamples:%n",
        footer = {
            "  queen                              serve on port 6632 with a PostgreSQL of its own"
                    + " in ./data",
            "  PORT=7000 queen serve              the same on another port",
            "  PG_HOST=db PG_USER=queen PG_PASSWORD=secret PG_DATABASE=queen queen serve",
            "                                     serve from a PostgreSQL of yours, 15 to 18",
            "  queen doctor                       what to do about the PostgreSQL server",
            "  queen reclaim 10GB                 give space of expired messages back now",
            "  queen config                       every setting, and where it comes from",
            "  queen help reclaim                 how one of these commands is used",
            "  queen --config queen.yaml          settings from a file; the environment wins",
            "",
            "Settings are environment variables, or lines of a file: see docs/configuration.md."
        })
public final class QueenCommand implements Runnable {
    /** One number for all commands, none that a verdict has: a slip of the pen is no finding. */
    static final int USAGE = 64;

    /** The same in the help of each. */
    static final String WRONG = "64:the command line is wrong";

    private static final int HELP_COLUMNS = 100;

    private final Settings environment;

    @Option(
            names = "--config",
            paramLabel = "FILE",
            scope = ScopeType.INHERIT,
            description = "A YAML file with settings, in place of the one that QUEEN_CONFIG names.")
    private @Nullable Path file;

    private QueenCommand(Settings environment) {
        this.environment = environment;
    }

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

    /**
     * All commands.
     *
     * @param settings of the environment
     * @param out where those beside a broker write
     */
    static CommandLine commandLine(Settings settings, PrintWriter out) {
        QueenCommand queen = new QueenCommand(settings);
        CommandLine line = new CommandLine(queen);
        line.addSubcommand(new Serve(queen::settings));
        line.addSubcommand(new ShowConfig(queen::settings, out));
        line.addSubcommand(new Examine(queen::settings, out));
        line.addSubcommand(new ReclaimSpace(queen::settings, out));
        line.addSubcommand(new ShowVersion(out));
        line.addSubcommand(new Help());
        line.getSubcommands()
                .values()
                .forEach(command -> command.getCommandSpec().versionProvider(new Versions()));
        line.setUsageHelpWidth(HELP_COLUMNS);
        line.setParameterExceptionHandler((wrong, args) -> explain(wrong));
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

    /** What is wrong stays in sight: the whole help would push it off the screen. */
    private static int explain(ParameterException wrong) {
        CommandLine command = wrong.getCommandLine();
        PrintWriter err = command.getErr();
        err.println("queen: " + wrong.getMessage());
        UnmatchedArgumentException.printSuggestions(wrong, err);
        err.printf("%s --help says how it is used.%n", command.getCommandSpec().qualifiedName());
        err.flush();
        return USAGE;
    }

    /** With those of the file, once the command line is read. */
    private Settings settings() {
        return environment.withFile(Optional.ofNullable(file));
    }

    @Override
    public void run() {
        new Serve(this::settings).run();
    }
}
