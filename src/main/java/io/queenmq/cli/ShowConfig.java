package io.queenmq.cli;

import io.queenmq.config.ConfigurationPage;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import picocli.CommandLine.Command;

/** {@code queen config}: the reference of all settings, as {@code docs/configuration.md} has it. */
@Command(
        name = "config",
        description = "Prints every setting with its default and range.",
        mixinStandardHelpOptions = true)
final class ShowConfig implements Runnable {
    @Override
    public void run() {
        PrintWriter out = new PrintWriter(System.out, true, StandardCharsets.UTF_8);
        out.print(ConfigurationPage.render());
        out.flush();
    }
}
