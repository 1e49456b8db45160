package io.queenmq.cli;

import io.queenmq.runtime.Version;
import java.io.PrintWriter;
import picocli.CommandLine.Command;

/** {@code queen version}: the same as the option, for whoever tries that first. */
@Command(
        name = "version",
        description = "Prints the version, as --version does.",
        mixinStandardHelpOptions = true,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {"0:always", QueenCommand.WRONG},
        footerHeading = "%nExamples:%n",
        footer = "  queen version                      the same as queen --version")
final class ShowVersion implements Runnable {
    private final PrintWriter out;

    ShowVersion(PrintWriter out) {
        this.out = out;
    }

    @Override
    public void run() {
        out.println("queen " + Version.current());
    }
}
