package io.queenmq.config;

import java.util.LinkedHashMap;
import java.util.Optional;
import java.util.SequencedMap;

/** Renders what a broker would go by, for {@code queen config}: values and where they come from. */
public final class EffectiveSettings {
    private EffectiveSettings() {}

    /**
     * One line per setting; a value that is not in its range says so. What is set and is no setting
     * stands last, where nobody overlooks it.
     */
    public static String render(Settings settings) {
        StringBuilder text = new StringBuilder();
        int width = Variables.all().stream().mapToInt(v -> v.name().length()).max().orElse(0);
        Variables.bySection()
                .forEach(
                        (heading, variables) -> {
                            text.append(text.isEmpty() ? "# " : "\n# ")
                                    .append(heading)
                                    .append('\n');
                            variables.forEach(
                                    variable ->
                                            text.append(
                                                    ("%-" + width + "s  %s%n")
                                                            .formatted(
                                                                    variable.name(),
                                                                    line(settings, variable))));
                        });
        SequencedMap<String, String> idle = withoutEffect(settings);
        if (!idle.isEmpty()) {
            text.append("\n# Without effect\n");
        }
        idle.forEach((name, why) -> text.append(("%-" + width + "s  %s%n").formatted(name, why)));
        return text.toString();
    }

    /** Names that are set for nothing, and what is to be said of each. */
    private static SequencedMap<String, String> withoutEffect(Settings settings) {
        SequencedMap<String, String> names = new LinkedHashMap<>();
        settings.strangers().forEach(name -> names.put(name, "is no setting" + Nearest.hint(name)));
        settings.withoutEffect()
                .forEach(
                        name ->
                                names.put(
                                        name,
                                        "of other versions: "
                                                + OtherVersions.reason(name)
                                                        .orElse("")
                                                        .replace("`", "")));
        return names;
    }

    /** What holds without it: the value itself, where there is one that can be shown. */
    private static <T> String fallback(Settings settings, Variable<T> variable) {
        if (variable.computed().isEmpty()) {
            return plain(variable) + "  (default)";
        }
        try {
            return settings.effective(variable)
                            .map(value -> variable.display(value.toString()))
                            .orElse("none")
                    + "  (default, "
                    + variable.computed().get().origin().apply(settings)
                    + ")";
        } catch (BadSetting e) {
            return plain(variable) + "  (default, not known as long as that is wrong)";
        }
    }

    private static String plain(Variable<?> variable) {
        return variable.defaultText().replace("`", "");
    }

    private static String line(Settings settings, Variable<?> variable) {
        Optional<Settings.Setting> set = settings.locate(variable);
        if (set.isEmpty()) {
            return fallback(settings, variable);
        }
        String named = set.get().name().equals(variable.name()) ? "" : " as " + set.get().name();
        String line = variable.display(set.get().text()) + "  (" + set.get().source() + named + ")";
        try {
            settings.find(variable);
            return line;
        } catch (BadSetting e) {
            return line + "  must be " + variable.range();
        }
    }
}
