package io.queenmq.loadtest;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import java.util.function.ToDoubleFunction;

/**
 * Points of a benchmark that measures at several sizes: a table for machines, a picture for people.
 */
final class Curve {
    private record Column(String name, Function<CurvePoint, String> text) {
        static Column number(String name, ToDoubleFunction<CurvePoint> value) {
            return new Column(name, point -> plain(value.applyAsDouble(point)));
        }
    }

    private static final List<Column> COLUMNS =
            List.of(
                    new Column("series", CurvePoint::series),
                    Column.number("retained", CurvePoint::retained),
                    Column.number("batch", CurvePoint::batch),
                    Column.number("windows", CurvePoint::windows),
                    Column.number("messages_before", p -> p.stand().messages()),
                    Column.number("segments_before", p -> p.stand().segments()),
                    Column.number("epochs", p -> p.stand().epochs()),
                    Column.number("epoch_bytes", p -> p.stand().bytes()),
                    Column.number("expired_bytes_not_free", p -> p.stand().deadBytes()),
                    Column.number("pushed_per_second", p -> p.sample().pushed()),
                    Column.number("popped_and_acked_per_second", p -> p.sample().consumed()),
                    Column.number("broker_cpu_us_per_message", p -> p.sample().brokerMicros()),
                    Column.number("postgres_cpu_us_per_message", p -> p.sample().postgresMicros()),
                    Column.number("end_to_end_p99_ms", p -> p.sample().p99Millis()),
                    Column.number("wal_bytes_per_message", p -> p.sample().walBytes()),
                    Column.number(
                            "wal_bytes_per_message_without_full_pages",
                            p -> p.sample().walBytesWithoutPages()),
                    Column.number("buffers_per_pop", CurvePoint::buffersPerPop));

    private final List<CurvePoint> points = new ArrayList<>();

    void add(CurvePoint point) {
        points.add(point);
    }

    List<CurvePoint> points() {
        return points;
    }

    /** A line of names, then a line per point; what was not measured is empty. */
    String csv() {
        StringBuilder csv = new StringBuilder();
        line(csv, Column::name);
        for (CurvePoint point : points) {
            line(csv, column -> column.text().apply(point));
        }
        return csv.toString();
    }

    private static void line(StringBuilder csv, Function<Column, String> cell) {
        csv.append(String.join(",", COLUMNS.stream().map(c -> quoted(cell.apply(c))).toList()))
                .append('\n');
    }

    private static String quoted(String text) {
        return text.contains(",") || text.contains("\"")
                ? '"' + text.replace("\"", "\"\"") + '"'
                : text;
    }

    private static String plain(double value) {
        if (Double.isNaN(value)) {
            return "";
        }
        String text = value == Math.rint(value) ? "%.0f" : "%.3f";
        return text.formatted(value);
    }

    /** Small charts from 0 up, a row per figure and beside each other the batches. */
    String svg(String title) {
        List<CurveSvg.Chart> charts = new ArrayList<>();
        row(charts, "CPU per message, µs", p -> p.sample().serverMicros());
        row(charts, "messages/s each way", p -> p.sample().consumed());
        row(charts, "end-to-end p99, ms", p -> p.sample().p99Millis());
        row(
                charts,
                "WAL per message, no full pages, bytes",
                p -> p.sample().walBytesWithoutPages());
        row(charts, "expired and not free, MB", p -> p.stand().deadBytes() / 1e6);
        row(charts, "buffers per pop and ack", CurvePoint::buffersPerPop);
        return CurveSvg.render(
                title,
                "messages retained",
                charts.stream().filter(CurveSvg.Chart::showsAnything).toList());
    }

    private void row(
            List<CurveSvg.Chart> charts, String name, ToDoubleFunction<CurvePoint> figure) {
        for (int batch : points.stream().mapToInt(CurvePoint::batch).distinct().toArray()) {
            charts.add(chart(name + ", batch " + batch, batch, figure));
        }
    }

    private CurveSvg.Chart chart(String name, int batch, ToDoubleFunction<CurvePoint> figure) {
        List<CurvePoint> shown = points.stream().filter(p -> p.batch() == batch).toList();
        List<CurveSvg.Line> lines = new ArrayList<>();
        for (String series : shown.stream().map(CurvePoint::series).distinct().toList()) {
            lines.add(
                    new CurveSvg.Line(
                            series,
                            shown.stream()
                                    .filter(p -> p.series().equals(series))
                                    .mapToDouble(figure)
                                    .toArray()));
        }
        return new CurveSvg.Chart(
                name, shown.stream().map(p -> label(p.retained())).distinct().toList(), lines);
    }

    /** 50000000 as 50 M. */
    static String label(long messages) {
        if (messages >= 1_000_000) {
            return Gate.number(messages / 1e6) + " M";
        }
        return messages >= 1_000 ? Gate.number(messages / 1e3) + " k" : Long.toString(messages);
    }
}
