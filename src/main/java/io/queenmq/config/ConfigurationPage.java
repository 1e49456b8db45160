package io.queenmq.config;

import java.util.List;

/** Renders {@code docs/configuration.md} from the declarations. */
public final class ConfigurationPage {
    private ConfigurationPage() {}

    public static String render() {
        StringBuilder page = new StringBuilder();
        page.append(
                """
                # Configuration

                Everything is set by environment variables, or in a YAML file that `QUEEN_CONFIG` or the option
                `--config` names: the same names, each with a value or a list. The environment wins. A value out of
                its range refuses to start and names variable, value and range, and so does a name in the file that
                is none; an empty value counts as not set, unless it says otherwise. `./queen config` prints what
                holds, and where each value comes from. This page is written by `make docs`.

                ```yaml
                PORT: 7000
                PG_HOST: [db-1.example, db-2.example]
                PG_USE_SSL: on
                LOG_LEVEL: info,web=debug
                ```
                """);
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
        page.append(
                """

                ## Other versions of Queen

                What stands here has no effect: it is accepted, and the start says so in one line.

                | variable | why |
                |---|---|
                """);
        for (OtherVersions.Group group : OtherVersions.GROUPS) {
            page.append("| `")
                    .append(String.join("`, `", group.names()))
                    .append("` | ")
                    .append(group.reason())
                    .append(" |\n");
        }
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
