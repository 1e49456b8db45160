package io.queenmq.config;

import java.util.List;

/** Renders {@code docs/configuration.md} from the declarations. */
public final class ConfigurationPage {
    private ConfigurationPage() {}

    public static String render() {
        StringBuilder page = new StringBuilder();
        page.append("# Configuration\n\n")
                .append(
                        "Everything is set by environment variables. A value out of its range refuses to")
                .append(
                        " start and names\nvariable, value and range; an empty one counts as not set, unless it says otherwise.")
                .append(" Written by `make docs`.\n");
        Variables.bySection()
                .forEach(
                        (heading, variables) -> {
                            page.append("\n## ").append(heading).append("\n\n");
                            page.append("| variable | default | must be | what it does |\n");
                            page.append("|---|---|---|---|\n");
                            variables.forEach(variable -> row(page, variable));
                        });
        page.append("\n## Launcher\n\n")
                .append("`./queen` finds a JDK ≥ 25 in `JAVA_HOME`, on the `PATH` or in the usual")
                .append(
                        " folders, and passes\n`QUEEN_JAVA_OPTS` to it (default: see the script).\n");
        return page.toString();
    }

    private static void row(StringBuilder page, Variable<?> variable) {
        List<String> names = variable.names();
        page.append("| `").append(names.getFirst()).append('`');
        if (names.size() > 1) {
            page.append(" (also `")
                    .append(String.join("`, `", names.subList(1, names.size())))
                    .append("`)");
        }
        page.append(" | ")
                .append(variable.defaultText())
                .append(" | ")
                .append(variable.range())
                .append(" | ")
                .append(variable.description())
                .append(" |\n");
    }
}
