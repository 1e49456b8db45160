package io.queenmq.loadtest;

import java.io.IOException;
import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Runs benchmarks of the catalogue on brokers of their own, prints a line per figure and archives
 * what was seen.
 */
final class BenchMain {
    private final PrintStream out;
    private final Options options;
    private final Plan plan;
    private final Path launcher;
    private final Path scratch;
    private final Path folder;
    private final Optional<Path> binaries;
    private final Optional<Path> kept;

    BenchMain(Options options, PrintStream out) {
        this.out = out;
        this.options = options;
        this.plan = Plan.of(options);
        this.launcher = Path.of(options.text("launcher", "./queen")).toAbsolutePath();
        this.scratch = Path.of(options.text("scratch", System.getProperty("java.io.tmpdir")));
        this.folder = Path.of(options.text("out", "target/result"));
        this.binaries = options.text("pg-bin").filter(text -> !text.isEmpty()).map(Path::of);
        this.kept = options.text("keep").filter(text -> !text.isEmpty()).map(Path::of);
    }

    static void list(PrintStream out) {
        for (Benchmark benchmark : Catalog.all()) {
            out.printf("%-5s %s%n", benchmark.id(), benchmark.what());
            for (Gate gate : benchmark.gates()) {
                out.printf(
                        "        %-12s reference %s; must %s; aim %s%n",
                        gate.figure(), gate.reference(), gate.mustText(), gate.aimText());
            }
        }
        for (Benchmark table : Catalog.tables()) {
            out.printf("%-5s %s%n", table.id(), table.what());
        }
    }

    /** True if nothing that was measured missed its must. */
    boolean run(List<Benchmark> benchmarks) throws IOException {
        String commit = options.text("commit", "");
        options.checkAllUsed();
        Files.createDirectories(folder);
        Archive archive = new Archive(folder, options.used());
        List<Readings.Line> all = new ArrayList<>();
        Map<String, Object> last = Map.of();
        for (Benchmark benchmark : benchmarks) {
            String startedAt = Instant.now().toString();
            Readings readings = new Readings(benchmark);
            last = measure(benchmark, readings, commit);
            Path own = benchmarks.size() == 1 ? folder : folder.resolve(benchmark.id());
            archive.write(own, benchmark, readings, startedAt, last);
            readings.lines().forEach(line -> out.println(Archive.row(line)));
            if (benchmark.gates().isEmpty()) {
                readings.notes().forEach(out::println);
            }
            readings.violations().forEach(text -> out.println("  VIOLATION " + text));
            all.addAll(readings.lines());
        }
        if (benchmarks.size() > 1) {
            archive.writeTable(all, last);
        }
        return all.stream().noneMatch(line -> line.verdict() == Gate.Verdict.MISSED);
    }

    private Map<String, Object> measure(Benchmark benchmark, Readings readings, String commit)
            throws IOException {
        try (Lab lab = new Lab(plan, launcher, scratch, binaries, kept, readings, out)) {
            Thread cleanUp = new Thread(lab::close, "clean-up");
            Runtime.getRuntime().addShutdownHook(cleanUp);
            try {
                benchmark.experiment().run(lab, readings);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                readings.notMeasured("interrupted");
            } catch (Exception e) {
                readings.notMeasured(reason(e));
                e.printStackTrace(out);
            }
            Map<String, Object> conditions = conditions(lab, commit);
            Runtime.getRuntime().removeShutdownHook(cleanUp);
            return conditions;
        }
    }

    private Map<String, Object> conditions(Lab lab, String commit) throws IOException {
        Optional<Rig> rig = lab.firstRig().filter(Rig::brokerAlive);
        return Conditions.collect(
                commit,
                rig.map(Rig::brokerPid).orElse(0L),
                rig.map(r -> r.server().settings()).orElse(Map.of()),
                scratch);
    }

    /** The first line of what went wrong. */
    private static String reason(Exception e) {
        String text = String.valueOf(e.getMessage());
        return "failed: " + text.lines().findFirst().orElse(e.getClass().getSimpleName());
    }
}
