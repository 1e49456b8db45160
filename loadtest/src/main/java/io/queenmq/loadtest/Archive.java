package io.queenmq.loadtest;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** What stays of benchmarks: result.json and summary.txt of each, and one table of all. */
final class Archive {
    private final Path folder;
    private final Map<String, String> options;

    Archive(Path folder, Map<String, String> options) {
        this.folder = folder;
        this.options = options;
    }

    /** A figure on one line: reference, must, aim, measured, verdict. */
    static String row(Readings.Line line) {
        Gate gate = line.gate();
        return "%-5s %-12s reference %s | must %s | aim %s | measured %s | %s"
                .formatted(
                        line.id(),
                        gate.figure(),
                        gate.reference(),
                        gate.mustText(),
                        gate.aimText(),
                        line.measured(),
                        line.verdict());
    }

    void write(
            Path where,
            Benchmark benchmark,
            Readings readings,
            String startedAt,
            Map<String, Object> conditions)
            throws IOException {
        Files.createDirectories(where);
        List<Object> figures = new ArrayList<>();
        for (Readings.Line line : readings.lines()) {
            figures.add(json(line));
        }
        Map<String, Object> result = new LinkedHashMap<>();
        result.put("benchmark", benchmark.id());
        result.put("what", benchmark.what());
        result.put("startedAt", startedAt);
        result.put("options", options);
        result.put("conditions", conditions);
        result.put("figures", figures);
        result.put("details", readings.details());
        result.put("violations", readings.violations());
        Files.writeString(where.resolve("result.json"), Json.write(result));

        StringBuilder text = new StringBuilder();
        text.append("%s at %s%n%s%n".formatted(benchmark.id(), startedAt, benchmark.what()));
        for (String condition :
                List.of("commit", "cpu", "cores", "memory", "fdatasyncMicrosMedian")) {
            text.append("%-22s %s%n".formatted(condition, conditions.get(condition)));
        }
        text.append('\n');
        readings.lines().forEach(line -> text.append(row(line)).append('\n'));
        readings.notes().forEach(note -> text.append("  ").append(note).append('\n'));
        readings.violations().forEach(v -> text.append("  VIOLATION ").append(v).append('\n'));
        Files.writeString(where.resolve("summary.txt"), text);
        for (Map.Entry<String, String> file : readings.files().entrySet()) {
            Files.writeString(where.resolve(file.getKey()), file.getValue());
        }
    }

    private static Map<String, Object> json(Readings.Line line) {
        Map<String, Object> figure = new LinkedHashMap<>();
        figure.put("figure", line.gate().figure());
        figure.put("reference", line.gate().reference());
        figure.put("must", line.gate().mustText());
        figure.put("aim", line.gate().aimText());
        switch (line.reading()) {
            case Readings.Reading.Value value -> figure.put("measured", value.value());
            case Readings.Reading.Ratio ratio -> {
                figure.put("measured", ratio.interval().mean());
                figure.put("low", ratio.interval().low());
                figure.put("high", ratio.interval().high());
            }
            case Readings.Reading.NotMeasured none -> figure.put("why", none.why());
        }
        figure.put("verdict", line.verdict().toString());
        return figure;
    }

    /**
     * @param conditions of one of the runs; each has its own in its result.json
     */
    void writeTable(List<Readings.Line> lines, Map<String, Object> conditions) throws IOException {
        StringBuilder table = new StringBuilder();
        conditions.forEach(
                (name, value) ->
                        table.append("- ").append(name).append(": ").append(value).append('\n'));
        table.append('\n');
        table.append("| id | figure | reference | must | aim | measured | verdict |\n");
        table.append("|---|---|---|---|---|---|---|\n");
        for (Readings.Line line : lines) {
            Gate gate = line.gate();
            table.append(
                    "| %s | %s | %s | %s | %s | %s | %s |%n"
                            .formatted(
                                    line.id(),
                                    gate.figure(),
                                    gate.reference(),
                                    gate.mustText(),
                                    gate.aimText(),
                                    line.measured(),
                                    line.verdict()));
        }
        Files.writeString(folder.resolve("table.md"), table);
    }
}
