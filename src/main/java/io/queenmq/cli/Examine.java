package io.queenmq.cli;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import io.queenmq.config.Settings;
import io.queenmq.db.DatabaseConfig;
import io.queenmq.doctor.Doctor;
import io.queenmq.doctor.DoctorConfig;
import io.queenmq.doctor.Finding;
import io.queenmq.doctor.Finding.Level;
import io.queenmq.runtime.Clock;
import io.queenmq.runtime.LogLevels;
import io.queenmq.runtime.Logging;
import io.queenmq.runtime.Version;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.function.Supplier;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/** {@code queen doctor}: looks at the PostgreSQL server, one line per check. */
@Command(
        name = "doctor",
        description = {
            "Checks the PostgreSQL server that a broker uses or is going to use, and says what to do.",
            "It changes nothing. docs/operations/doctor.md explains every check."
        },
        mixinStandardHelpOptions = true,
        exitCodeListHeading = "%nExit codes:%n",
        exitCodeList = {
            "0:nothing fails (there may be warnings)",
            "1:the server cannot be looked at at all",
            "2:something fails",
            QueenCommand.WRONG
        },
        footerHeading = "%nExamples:%n",
        footer = {
            "  queen doctor                       the embedded server, while it runs",
            "  PG_HOST=db PG_USER=queen PG_PASSWORD=secret PG_DATABASE=queen queen doctor",
            "                                     a server of yours, even before the start",
            "  queen doctor --json | jq '.checks[] | select(.level != \"ok\")'",
        })
final class Examine implements Callable<Integer> {
    private static final int FAILS = 2;

    @Option(names = "--json", description = "Prints one JSON object instead of lines.")
    private boolean json;

    private final Supplier<Settings> settings;
    private final PrintWriter out;

    Examine(Supplier<Settings> settings, PrintWriter out) {
        this.settings = settings;
        this.out = out;
    }

    @Override
    public Integer call() {
        // What fails is a line of the answer; nobody has to read it twice.
        Logging.configure(LogLevels.ERROR, false);
        DatabaseConfig database = DatabaseInUse.of(settings.get());
        List<Finding> findings = new Doctor(database, DoctorConfig.DEFAULT, Clock.SYSTEM).examine();
        out.print(json ? json(database, findings) : lines(database, findings));
        out.flush();
        return count(findings, Level.FAIL) > 0 ? FAILS : 0;
    }

    private static long count(List<Finding> findings, Level level) {
        return findings.stream().filter(finding -> finding.level() == level).count();
    }

    private static String lines(DatabaseConfig database, List<Finding> findings) {
        int width = findings.stream().mapToInt(finding -> finding.name().length()).max().orElse(0);
        StringBuilder text = new StringBuilder();
        for (Finding finding : findings) {
            text.append(
                    ("%-5s %-" + width + "s  %s")
                            .formatted(finding.level().word(), finding.name(), finding.found()));
            if (!finding.advice().isEmpty()) {
                text.append(finding.level() == Level.OK ? "; hint: " : "; do: ")
                        .append(finding.advice());
            }
            text.append('\n');
        }
        return text.append(
                        "%s: %d ok, %d warn, %d fail%n"
                                .formatted(
                                        database,
                                        count(findings, Level.OK),
                                        count(findings, Level.WARN),
                                        count(findings, Level.FAIL)))
                .toString();
    }

    private static String json(DatabaseConfig database, List<Finding> findings) {
        StringWriter text = new StringWriter();
        try (JsonGenerator json = new JsonFactory().createGenerator(text)) {
            json.writeStartObject();
            json.writeStringField("database", database.toString());
            json.writeStringField("version", Version.current());
            for (Level level : Level.values()) {
                json.writeNumberField(level.word(), count(findings, level));
            }
            json.writeArrayFieldStart("checks");
            for (Finding finding : findings) {
                json.writeStartObject();
                json.writeStringField("name", finding.name());
                json.writeStringField("level", finding.level().word());
                json.writeStringField("found", finding.found());
                if (!finding.advice().isEmpty()) {
                    json.writeStringField("advice", finding.advice());
                }
                json.writeEndObject();
            }
            json.writeEndArray();
            json.writeEndObject();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return text + "\n";
    }
}
