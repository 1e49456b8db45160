package io.queenmq.cli;

import io.queenmq.config.Settings;
import io.queenmq.db.Database;
import io.queenmq.maintain.Reclaim;
import io.queenmq.maintain.ReclaimPlan;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.ByteSize;
import io.queenmq.runtime.Clock;
import io.queenmq.runtime.LogLevels;
import io.queenmq.runtime.Logging;
import java.io.PrintWriter;
import java.time.Duration;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import picocli.CommandLine.Command;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;
import picocli.CommandLine.TypeConversionException;

/** {@code queen reclaim}: gives bytes of the log back to the disk. */
@Command(
        name = "reclaim",
        description = {
            "Gives bytes of expired messages back to the disk now, beside brokers that go on.",
            "Nothing that is retained is removed. docs/operations/space.md says how it works."
        },
        mixinStandardHelpOptions = true,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:so much is free now (with --dry-run: would be)",
            "1:the database cannot be reached, or broke off",
            "2:less than that is free; the last line says what stopped it",
            QueenCommand.WRONG
        },
        footerHeading = "%nExamples:%n",
        footer = {
            "  queen reclaim 10GB --dry-run       what it would do, and free",
            "  queen reclaim 10GB                 do it",
            "  queen reclaim 500MB --wait 600     wait ten minutes for who is in the way"
        })
final class ReclaimSpace implements Callable<Integer> {
    private static final int LESS = 2;

    @Parameters(
            paramLabel = "SIZE",
            description = "How much: 10GB, 500MB; a number alone is bytes.",
            converter = Size.class)
    private ByteSize size = new ByteSize(0);

    @Option(names = "--dry-run", description = "Changes nothing; says what would be done.")
    private boolean dryRun;

    @Option(
            names = "--wait",
            paramLabel = "SECONDS",
            description =
                    "How long to wait without progress for whoever is in the way"
                            + " (${DEFAULT-VALUE}).")
    private int waitSeconds = 60;

    private final Supplier<Settings> settings;
    private final PrintWriter out;

    ReclaimSpace(Supplier<Settings> settings, PrintWriter out) {
        this.settings = settings;
        this.out = out;
    }

    /** Reads a size, and says what one looks like. */
    static final class Size implements ITypeConverter<ByteSize> {
        @Override
        public ByteSize convert(String text) {
            return ByteSize.parse(text)
                    .filter(size -> size.bytes() > 0)
                    .orElseThrow(
                            () ->
                                    new TypeConversionException(
                                            "\"" + text + "\" is no size such as 500MB or 10GB"));
        }
    }

    @Override
    public Integer call() {
        Logging.configure(LogLevels.ERROR, false);
        try (Metrics metrics = new Metrics();
                Database database =
                        new Database(
                                DatabaseInUse.of(settings.get()).withPoolSize(1),
                                metrics,
                                Clock.SYSTEM)) {
            Reclaim reclaim = new Reclaim(database, metrics, Clock.SYSTEM);
            return dryRun ? foresee(reclaim) : free(reclaim);
        } finally {
            out.flush();
        }
    }

    private int foresee(Reclaim reclaim) {
        ReclaimPlan plan = reclaim.plan(size.bytes());
        for (ReclaimPlan.Step step : plan.steps()) {
            out.printf(
                    "epoch %d, %s, %s: %sfree about %s%s%n",
                    step.epoch(),
                    step.state(),
                    new ByteSize(step.bytes()),
                    step.isOpen() ? "close it, " : "",
                    new ByteSize(step.freedBytes()),
                    step.survivorBytes() > 0
                            ? ", move about " + new ByteSize(step.survivorBytes())
                            : "");
        }
        reclaim.oldestTransaction()
                .ifPresent(who -> out.printf("in the way at this moment: %s%n", who));
        boolean enough = plan.freedBytes() >= size.bytes();
        out.printf(
                "%s would be free%s%n",
                new ByteSize(plan.freedBytes()),
                enough ? "" : ", not " + size + ": the rest is alive, a retention keeps it");
        return enough ? 0 : LESS;
    }

    private int free(Reclaim reclaim) {
        Reclaim.Outcome outcome =
                reclaim.run(
                        size.bytes(),
                        Duration.ofSeconds(waitSeconds),
                        line -> {
                            out.println(line);
                            out.flush();
                        });
        outcome.slot().ifPresent(slot -> out.printf("%s, so that the disk gains less%n", slot));
        out.printf(
                "%s are free%s%n",
                new ByteSize(outcome.freedBytes()),
                outcome.stoppedBy().map(who -> "; stopped by " + who).orElse(""));
        return outcome.stoppedBy().isEmpty() ? 0 : LESS;
    }
}
