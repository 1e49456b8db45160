package io.queenmq.metrics;

import java.math.BigDecimal;
import java.math.RoundingMode;
import java.util.Map;

/**
 * Families of metrics whose labels are names that people chose, in the text format of Prometheus.
 * For one thread.
 */
public final class MetricsText {
    private static final int DECIMALS = 3;

    private final StringBuilder text;

    /**
     * @param before what stands before it
     */
    public MetricsText(String before) {
        this.text = new StringBuilder(before);
    }

    /** Begins a family: its samples follow. */
    public MetricsText gauge(String name, String help) {
        return family(name, "gauge", help);
    }

    /** The same of what never falls. */
    public MetricsText counter(String name, String help) {
        return family(name, "counter", help);
    }

    private MetricsText family(String name, String type, String help) {
        text.append("# HELP ").append(name).append(' ').append(help).append('\n');
        text.append("# TYPE ").append(name).append(' ').append(type).append('\n');
        return this;
    }

    /**
     * A line of the family.
     *
     * @param labels pairs of name and value
     */
    public MetricsText sample(String name, Number number, String... labels) {
        text.append(name);
        for (int i = 0; i < labels.length; i += 2) {
            text.append(i == 0 ? '{' : ',').append(labels[i]).append("=\"");
            escaped(labels[i + 1]);
            text.append('"');
        }
        text.append(labels.length > 0 ? "} " : " ").append(plain(number)).append('\n');
        return this;
    }

    /**
     * A line for each name.
     *
     * @param label that has the names
     */
    public MetricsText samples(String name, String label, Largest numbers) {
        for (Map.Entry<String, Long> each : numbers.shown().entrySet()) {
            sample(name, each.getValue(), label, each.getKey());
        }
        return this;
    }

    private static String plain(Number number) {
        return BigDecimal.valueOf(number.doubleValue())
                .setScale(DECIMALS, RoundingMode.HALF_EVEN)
                .stripTrailingZeros()
                .toPlainString();
    }

    private void escaped(String value) {
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            switch (c) {
                case '\\' -> text.append("\\\\");
                case '"' -> text.append("\\\"");
                case '\n' -> text.append("\\n");
                default -> text.append(c);
            }
        }
    }

    @Override
    public String toString() {
        return text.toString();
    }
}
