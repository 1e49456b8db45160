package io.queenmq.loadtest;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.HdrHistogram.Histogram;

/** Figures of one run for machines, the same in lines for people, and what they failed to show. */
final class Outcome {
    private final Map<String, Object> figures = new LinkedHashMap<>();
    private final List<String> lines = new ArrayList<>();
    private final List<String> missed = new ArrayList<>();

    void figure(String name, Object value) {
        figures.put(name, value);
    }

    void line(String text) {
        lines.add(text);
    }

    /** A limit that the run had to keep. */
    void must(boolean kept, String text) {
        lines.add((kept ? "ok      " : "MISSED  ") + text);
        if (!kept) {
            missed.add(text);
        }
    }

    void latency(String name, Histogram micros) {
        Map<String, Object> values = new LinkedHashMap<>();
        values.put("count", micros.getTotalCount());
        values.put("p50", micros.getValueAtPercentile(50));
        values.put("p90", micros.getValueAtPercentile(90));
        values.put("p99", micros.getValueAtPercentile(99));
        values.put("p999", micros.getValueAtPercentile(99.9));
        values.put("max", micros.getMaxValue());
        figures.put(name + "Micros", values);
        line(
                "%-12s p50 %.2f  p90 %.2f  p99 %.2f  p99.9 %.2f  max %.2f ms"
                        .formatted(
                                name,
                                micros.getValueAtPercentile(50) / 1e3,
                                micros.getValueAtPercentile(90) / 1e3,
                                micros.getValueAtPercentile(99) / 1e3,
                                micros.getValueAtPercentile(99.9) / 1e3,
                                micros.getMaxValue() / 1e3));
    }

    void verdict(Ledger.Verdict verdict) {
        Map<String, Object> values = new LinkedHashMap<>();
        values.put("lost", verdict.lost());
        values.put("outOfOrder", verdict.outOfOrder());
        values.put("unexplainedDuplicates", verdict.unexplained());
        values.put("explainedRedeliveries", verdict.redelivered());
        values.put("misplaced", verdict.misplaced());
        figures.put("verdict", values);
        must(
                verdict.clean(),
                ("%d lost, %d out of order, %d unexplained duplicates, %d misplaced"
                                + " (%d redelivered for a reason)")
                        .formatted(
                                verdict.lost(),
                                verdict.outOfOrder(),
                                verdict.unexplained(),
                                verdict.misplaced(),
                                verdict.redelivered()));
    }

    Map<String, Object> figures() {
        return figures;
    }

    List<String> lines() {
        return lines;
    }

    List<String> missed() {
        return missed;
    }
}
