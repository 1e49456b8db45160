package io.queenmq.admin;

/**
 * Families of metrics whose labels are names that people chose, in the text format of Prometheus.
 * For one thread.
 */
final class MetricsText {
    private final StringBuilder text;

    /**
     * @param before what stands before it
     */
    MetricsText(String before) {
        this.text = new StringBuilder(before);
    }

    /** Begins a family: its samples follow. */
    MetricsText gauge(String name, String help) {
        text.append("# HELP ").append(name).append(' ').append(help).append('\n');
        text.append("# TYPE ").append(name).append(" gauge\n");
        return this;
    }

    MetricsText sample(String name, String label, String value, long number) {
        text.append(name).append('{').append(label).append("=\"");
        for (int i = 0; i < value.length(); i++) {
            char c = value.charAt(i);
            switch (c) {
                case '\\' -> text.append("\\\\");
                case '"' -> text.append("\\\"");
                case '\n' -> text.append("\\n");
                default -> text.append(c);
            }
        }
        text.append("\"} ").append(number).append("\n");
        return this;
    }

    @Override
    public String toString() {
        return text.toString();
    }
}
