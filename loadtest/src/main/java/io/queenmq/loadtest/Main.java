package io.queenmq.loadtest;

import java.io.IOException;
import java.io.PrintStream;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;

/**
 * Runs one scenario against a running broker, prints what it showed and archives it. Exit code 0 =
 * everything held, 1 = a limit was missed, 2 = it could not run.
 */
public final class Main {
    private static final String USAGE =
            """
            usage: queen-loadtest cycle|baseline|w5|new-lane|list|all|ID [--option value]...

            scenarios, against a broker that runs

              --url URL                broker, http://127.0.0.1:6632
              --jdbc URL               its database: for the baseline, commits and WAL
              --broker-pid N           its process, if on this machine: for processor time
              --postgres-pid N         the postmaster, likewise
              --out DIR                where result.json and summary.txt go
              --commit TEXT            version of the broker, for the archive
              --seconds N --warmup N   measured time (60) and what comes before it (10)
              --producers N --push-batch N --rate MSG_PER_S (0 = all they can) --lanes N
              --consumers N --pop-batch N --partitions N --backlog N
              --payload order|random|filler --bytes N
              --baseline-threads N --baseline-seconds N

            benchmarks, each on brokers of its own (list names them)
              --quick 1                small enough to see that it works; figures say nothing
              --seconds N --long-seconds N --warmup N --ramp N
              --pairs N --pair-seconds N
              --many-lanes N --retained N --pollers N --clients N
              --growth N,N --singles SHARE --twin-lanes N --epoch-rules rows=N,mb=N
                                       sizes of a store that grows (M13, M14, rules), its share of
                                       segments of one message, lanes of its empty twin, when
                                       epochs are rotated
              --keep DIR               keeps what took long to store (M12) for runs of the same sizes
              --pg-bin DIR             programs of an installed PostgreSQL, in place of the
                                       embedded one
              --scratch DIR            where databases live while a benchmark runs
              --launcher FILE --out DIR --commit TEXT
            """;

    private Main() {}

    /** Entry point. */
    public static void main(String[] args) throws IOException {
        // Figures are written with a decimal point wherever this runs.
        Locale.setDefault(Locale.ROOT);
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        if (args.length == 0) {
            out.print(USAGE);
            System.exit(2);
        }
        try {
            System.exit(run(args, out) ? 0 : 1);
        } catch (IllegalArgumentException | IllegalStateException e) {
            out.println(e.getMessage());
            if (e.getCause() != null) {
                out.println("  " + e.getCause());
            }
            System.exit(2);
        }
    }

    private static boolean run(String[] args, PrintStream out) throws IOException {
        if (args[0].equals("list")) {
            BenchMain.list(out);
            return true;
        }
        // Before the benchmarks, one of which has the name of a scenario in other letters.
        Optional<Scenario> known = scenario(args[0]);
        if (known.isEmpty()) {
            List<Benchmark> benchmarks = Catalog.named(args[0]);
            if (benchmarks.isEmpty()) {
                throw new IllegalArgumentException(USAGE);
            }
            return new BenchMain(Options.parse(args, 1), out).run(benchmarks);
        }
        Scenario scenario = known.get();
        Options options = Options.parse(args, 1);
        URI url = URI.create(options.text("url", "http://127.0.0.1:6632"));
        Optional<String> jdbcUrl = options.text("jdbc");
        long brokerPid = options.number("broker-pid", 0);
        long postgresPid = options.number("postgres-pid", 0);
        String commit = options.text("commit", "");
        Path folder = Path.of(options.text("out", "target/result"));
        Files.createDirectories(folder);
        Map<String, String> postgres = Map.of();
        if (jdbcUrl.isPresent()) {
            try (Server server = new Server(jdbcUrl.get())) {
                postgres = server.settings();
            }
        }
        Map<String, Object> conditions = Conditions.collect(commit, brokerPid, postgres, folder);

        Target target = new Target(url, jdbcUrl, new Cpu(brokerPid, postgresPid));
        String startedAt = Instant.now().toString();
        Outcome outcome = scenario.run(target, options);
        options.checkAllUsed();

        Map<String, Object> result = new LinkedHashMap<>();
        result.put("scenario", args[0]);
        result.put("startedAt", startedAt);
        result.put("options", options.used());
        result.put("conditions", conditions);
        result.put("figures", outcome.figures());
        result.put("missed", outcome.missed());
        Files.writeString(folder.resolve("result.json"), Json.write(result));
        String summary = summary(args[0], startedAt, conditions, outcome.lines());
        Files.writeString(folder.resolve("summary.txt"), summary);
        out.print(summary);
        return outcome.missed().isEmpty();
    }

    private static Optional<Scenario> scenario(String name) {
        for (Scenario scenario : Scenario.values()) {
            if (scenario.name().toLowerCase(Locale.ROOT).replace('_', '-').equals(name)) {
                return Optional.of(scenario);
            }
        }
        return Optional.empty();
    }

    private static String summary(
            String name, String startedAt, Map<String, Object> conditions, List<String> lines) {
        StringBuilder text = new StringBuilder();
        text.append(name).append(" at ").append(startedAt).append('\n');
        for (String condition :
                List.of("commit", "cpu", "cores", "memory", "fdatasyncMicrosMedian")) {
            text.append("%-22s %s%n".formatted(condition, conditions.get(condition)));
        }
        text.append('\n');
        for (String line : lines) {
            text.append(line).append('\n');
        }
        return text.toString();
    }
}
