package io.queenmq.loadtest;

import java.util.Arrays;
import java.util.List;

/**
 * Draws lines over steps of equal width as a picture that reads on light and on dark pages, without
 * a script and without a font of its own.
 */
final class CurveSvg {
    /** Values by step; NaN = none. */
    record Line(String name, double[] values) {}

    /** Lines over the same steps. */
    record Chart(String title, List<String> steps, List<Line> lines) {
        boolean showsAnything() {
            return highest() > 0;
        }

        double highest() {
            return lines.stream()
                    .flatMapToDouble(line -> Arrays.stream(line.values()))
                    .filter(value -> !Double.isNaN(value))
                    .max()
                    .orElse(0);
        }
    }

    private static final int COLUMNS = 2;
    private static final int WIDTH = 400;
    private static final int HEIGHT = 240;
    private static final int HEAD = 64;
    private static final int LEFT = 64;
    private static final int RIGHT = 20;
    private static final int TOP = 34;
    private static final int BOTTOM = 52;
    private static final int COLOURS = 4;
    private static final String STYLE =
            """
            <style>
              svg { font: 12px system-ui, sans-serif }
              .page { fill: #ffffff } text { fill: #24292f } .title { font-weight: 600 }
              .head { font-size: 15px; font-weight: 600 }
              .grid { stroke: #d0d7de } .axis { stroke: #57606a }
              polyline { fill: none; stroke-width: 2 }
              .s0 { stroke: #0550ae } .s1 { stroke: #bc4c00 }
              .s2 { stroke: #1a7f37 } .s3 { stroke: #8250df }
              polyline.s1 { stroke-dasharray: 6 3 } polyline.s2 { stroke-dasharray: 2 3 }
              circle { stroke-width: 2; fill: #ffffff }
              @media (prefers-color-scheme: dark) {
                .page, circle { fill: #0d1117 } text { fill: #e6edf3 }
                .grid { stroke: #30363d } .axis { stroke: #8b949e }
                .s0 { stroke: #58a6ff } .s1 { stroke: #f0883e }
                .s2 { stroke: #3fb950 } .s3 { stroke: #bc8cff }
              }
            </style>
            """;

    private CurveSvg() {}

    static String render(String title, String axis, List<Chart> charts) {
        int rows = (charts.size() + COLUMNS - 1) / COLUMNS;
        int width = COLUMNS * WIDTH;
        int height = HEAD + rows * HEIGHT;
        StringBuilder svg = new StringBuilder();
        svg.append(
                ("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\""
                                + " height=\"%d\" role=\"img\">%n<title>%s</title>%n")
                        .formatted(width, height, width, height, escaped(title)));
        svg.append(STYLE);
        svg.append("<rect class=\"page\" width=\"%d\" height=\"%d\"/>%n".formatted(width, height));
        text(svg, 16, 26, "head", "start", title);
        if (!charts.isEmpty()) {
            legend(svg, charts.getFirst().lines());
        }
        for (int i = 0; i < charts.size(); i++) {
            svg.append(
                    "<g transform=\"translate(%d %d)\">%n"
                            .formatted(i % COLUMNS * WIDTH, HEAD + i / COLUMNS * HEIGHT));
            chart(svg, charts.get(i), axis);
            svg.append("</g>\n");
        }
        return svg.append("</svg>\n").toString();
    }

    private static void legend(StringBuilder svg, List<Line> lines) {
        int x = 16;
        for (int i = 0; i < lines.size(); i++) {
            svg.append(
                    "<polyline class=\"s%d\" points=\"%d,48 %d,48\"/>%n"
                            .formatted(i % COLOURS, x, x + 28));
            text(svg, x + 34, 52, "", "start", lines.get(i).name());
            x += 60 + 7 * lines.get(i).name().length();
        }
    }

    private static void chart(StringBuilder svg, Chart chart, String axis) {
        double tick = tick(chart.highest());
        double top = tick * Math.max(1, Math.ceil(chart.highest() * 1.05 / tick));
        text(svg, 16, 20, "title", "start", chart.title());
        for (double value = 0; value <= top + tick / 2; value += tick) {
            double y = y(value, top);
            svg.append(
                    "<line class=\"%s\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/>%n"
                            .formatted(value == 0 ? "axis" : "grid", LEFT, WIDTH - RIGHT, y, y));
            text(svg, LEFT - 6, y + 4, "", "end", Gate.number(value));
        }
        int steps = chart.steps().size();
        for (int step = 0; step < steps; step++) {
            text(svg, x(step, steps), HEIGHT - BOTTOM + 18, "", "middle", chart.steps().get(step));
        }
        text(svg, (LEFT + WIDTH - RIGHT) / 2.0, HEIGHT - BOTTOM + 36, "", "middle", axis);
        for (int i = 0; i < chart.lines().size(); i++) {
            line(svg, chart.lines().get(i).values(), i % COLOURS, steps, top);
        }
    }

    private static void line(
            StringBuilder svg, double[] values, int colour, int steps, double top) {
        StringBuilder points = new StringBuilder();
        StringBuilder dots = new StringBuilder();
        for (int step = 0; step < values.length; step++) {
            if (!Double.isNaN(values[step])) {
                double x = x(step, steps);
                double y = y(values[step], top);
                points.append("%.1f,%.1f ".formatted(x, y));
                dots.append(
                        "<circle class=\"s%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\"><title>%s</title></circle>%n"
                                .formatted(colour, x, y, Gate.number(values[step])));
            }
        }
        svg.append(
                "<polyline class=\"s%d\" points=\"%s\"/>%n"
                        .formatted(colour, points.toString().strip()));
        svg.append(dots);
    }

    private static double x(int step, int steps) {
        double room = (WIDTH - LEFT - RIGHT) / (double) steps;
        return LEFT + room * (step + 0.5);
    }

    private static double y(double value, double top) {
        return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * value / top;
    }

    /** A round distance that fits four or five times. */
    static double tick(double highest) {
        double size = Math.pow(10, Math.floor(Math.log10(highest)));
        for (double part : new double[] {0.2, 0.25, 0.5, 1, 2}) {
            if (highest / (size * part) <= 5) {
                return size * part;
            }
        }
        return size * 2;
    }

    private static void text(
            StringBuilder svg, double x, double y, String style, String anchor, String text) {
        svg.append(
                "<text class=\"%s\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>%n"
                        .formatted(style, x, y, anchor, escaped(text)));
    }

    private static String escaped(String text) {
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;");
    }
}
