package io.queenmq.config;

import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeSet;

/** What the environment says, read once at start-up. */
public final class Settings {
    /** Read by the launcher script, not by the broker. */
    private static final List<String> LAUNCHER = List.of("QUEEN_JAVA_OPTS");

    /** Of names that belong to Queen, in whatever version. */
    private static final List<String> PREFIXES = List.of("QUEEN_", "JWT_", "FILE_BUFFER_");

    private final Map<String, String> environment;

    private Settings(Map<String, String> environment) {
        this.environment = Map.copyOf(environment);
    }

    /** Of this process. */
    public static Settings ofProcess() {
        return new Settings(System.getenv());
    }

    public static Settings of(Map<String, String> environment) {
        return new Settings(environment);
    }

    /**
     * The value, or the declared default.
     *
     * @throws BadSetting out of range, or not set where there is no default
     */
    public <T> T get(Variable<T> variable) {
        return find(variable)
                .or(variable::fallback)
                .orElseThrow(() -> new BadSetting(variable.name() + " must be set"));
    }

    /**
     * The value where it is set.
     *
     * @throws BadSetting out of range
     */
    public <T> Optional<T> find(Variable<T> variable) {
        for (String name : variable.names()) {
            String text = environment.get(name);
            if (text != null && (variable.emptyCounts() || !text.isEmpty())) {
                Optional<T> value = variable.parser().apply(text);
                if (value.isEmpty()) {
                    String got =
                            variable.secret()
                                    ? "a value of " + text.length() + " characters"
                                    : '"' + text + '"';
                    throw new BadSetting(name + " must be " + variable.range() + ", got " + got);
                }
                return value;
            }
        }
        return Optional.empty();
    }

    /**
     * Variables that look like ours and are not: a setting without effect must not go unnoticed.
     */
    public List<String> unknown() {
        TreeSet<String> unknown = new TreeSet<>();
        for (String name : environment.keySet()) {
            if (PREFIXES.stream().anyMatch(name::startsWith)) {
                unknown.add(name);
            }
        }
        LAUNCHER.forEach(unknown::remove);
        Variables.bySection()
                .values()
                .forEach(section -> section.forEach(v -> unknown.removeAll(v.names())));
        return List.copyOf(unknown);
    }
}
