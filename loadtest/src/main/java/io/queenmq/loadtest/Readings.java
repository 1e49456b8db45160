package io.queenmq.loadtest;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/** What one benchmark has read, figure by figure, held against its gates. */
final class Readings {
    /** A figure, or why there is none. */
    sealed interface Reading {
        /** One number. */
        record Value(double value) implements Reading {}

        /** The ratio of two arms. */
        record Ratio(Interval interval) implements Reading {}

        /** Nothing that could be held against a limit. */
        record NotMeasured(String why) implements Reading {}
    }

    /** One line of the table. */
    record Line(String id, Gate gate, Reading reading, Gate.Verdict verdict) {
        String measured() {
            return switch (reading) {
                case Reading.Value value -> Gate.number(value.value());
                case Reading.Ratio ratio ->
                        "%s (%s to %s)"
                                .formatted(
                                        Gate.number(ratio.interval().mean()),
                                        Gate.number(ratio.interval().low()),
                                        Gate.number(ratio.interval().high()));
                case Reading.NotMeasured none -> "– (" + none.why() + ")";
            };
        }
    }

    private final Benchmark benchmark;
    private final Map<String, Reading> readings = new LinkedHashMap<>();
    private final Map<String, Object> details = new LinkedHashMap<>();
    private final Map<String, String> files = new LinkedHashMap<>();
    private final List<String> notes = new ArrayList<>();
    private final List<String> violations = new ArrayList<>();
    private Optional<String> unavailable = Optional.empty();

    Readings(Benchmark benchmark) {
        this.benchmark = benchmark;
    }

    String id() {
        return benchmark.id();
    }

    void value(String figure, double value) {
        put(figure, new Reading.Value(value));
    }

    void ratio(String figure, Interval interval) {
        put(figure, new Reading.Ratio(interval));
    }

    void notMeasured(String figure, String why) {
        put(figure, new Reading.NotMeasured(why));
    }

    /** Nothing of what is still missing can be measured. */
    void notMeasured(String why) {
        unavailable = Optional.of(why);
    }

    private void put(String figure, Reading reading) {
        if (benchmark.gates().stream().noneMatch(gate -> gate.figure().equals(figure))) {
            throw new IllegalArgumentException(benchmark.id() + " has no figure " + figure);
        }
        readings.put(figure, reading);
    }

    /** Something that explains a figure; no limit holds it. */
    void detail(String name, Object value) {
        details.put(name, value);
        notes.add(name + " " + (value instanceof Double number ? Gate.number(number) : value));
    }

    void note(String text) {
        notes.add(text);
    }

    /** A file that is archived beside the figures. */
    void file(String name, String content) {
        files.put(name, content);
    }

    /** The verifier of a load speaks; what it finds fails the benchmark whatever was measured. */
    void verified(Ledger.Verdict verdict) {
        if (!verdict.clean()) {
            violations.add(verdict.toString());
        }
    }

    List<String> notes() {
        return notes;
    }

    Map<String, Object> details() {
        return details;
    }

    Map<String, String> files() {
        return files;
    }

    List<String> violations() {
        return violations;
    }

    List<Line> lines() {
        List<Line> lines = new ArrayList<>();
        for (Gate gate : benchmark.gates()) {
            Reading reading =
                    readings.getOrDefault(
                            gate.figure(),
                            new Reading.NotMeasured(unavailable.orElse("no figure was read")));
            Gate.Verdict verdict =
                    switch (reading) {
                        case Reading.Value value -> gate.judge(value.value());
                        case Reading.Ratio ratio -> gate.judge(ratio.interval());
                        case Reading.NotMeasured none -> Gate.Verdict.NOT_MEASURED;
                    };
            if (!violations.isEmpty() && verdict != Gate.Verdict.NOT_MEASURED) {
                verdict = Gate.Verdict.MISSED;
            }
            lines.add(new Line(benchmark.id(), gate, reading, verdict));
        }
        return lines;
    }
}
