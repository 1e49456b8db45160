package io.queenmq.cli;

import io.queenmq.BrokerConfig;
import io.queenmq.config.ConfigurationPage;
import io.queenmq.config.EffectiveSettings;
import io.queenmq.config.Settings;
import io.queenmq.runtime.StartRefused;
import java.io.PrintWriter;
import java.util.function.Supplier;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code queen config}: what a broker would go by, or the manual of all settings. */
@Command(
        name = "config",
        description = {
            "Prints every setting, its value, and where that comes from; no secret is shown.",
            "It says of every value whether a broker would start with it, and names what has no effect."
        },
        mixinStandardHelpOptions = true,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:a broker would start with these settings",
            "1:it would not; the line on standard error says why",
            QueenCommand.WRONG
        },
        footerHeading = "%nExamples:%n",
        footer = {
            "  queen config                       what holds here",
            "  queen config --config queen.yaml   what would hold with that file",
            "  queen config --manual              all settings, as docs/configuration.md has them"
        })
final class ShowConfig implements Runnable {
    @Option(names = "--manual", description = "Prints the manual of all settings, in Markdown.")
    private boolean manual;

    private final Supplier<Settings> settings;
    private final PrintWriter out;

    ShowConfig(Supplier<Settings> settings, PrintWriter out) {
        this.settings = settings;
        this.out = out;
    }

    /**
     * Says it in full before it judges.
     *
     * @throws StartRefused what the start would
     */
    @Override
    public void run() {
        if (manual) {
            out.print(ConfigurationPage.render());
            out.flush();
            return;
        }
        Settings given = settings.get();
        out.print(EffectiveSettings.render(given));
        out.flush();
        BrokerConfig.from(given);
    }
}
