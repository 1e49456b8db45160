package io.queenmq.cli;

import java.util.Objects;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.Spec;

/**
 * {@code queen help}: the help of all, or of one command. That of the library lets a wrong command
 * line pass.
 */
@Command(
        name = "help",
        description = "Says how a command is used, as its --help does.",
        mixinStandardHelpOptions = true,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {"0:always", QueenCommand.WRONG},
        footerHeading = "%nExamples:%n",
        footer = "  queen help reclaim                 the same as queen reclaim --help")
final class Help implements Runnable {
    @Parameters(arity = "0..1", paramLabel = "COMMAND", description = "Which one; none: all.")
    private @Nullable String name;

    @Spec private @Nullable CommandSpec spec;

    @Override
    public void run() {
        CommandLine self = Objects.requireNonNull(spec).commandLine();
        CommandLine asked =
                name == null ? self.getParent() : self.getParent().getSubcommands().get(name);
        if (asked == null) {
            throw new ParameterException(self, "there is no command " + name);
        }
        asked.usage(self.getOut());
    }
}
