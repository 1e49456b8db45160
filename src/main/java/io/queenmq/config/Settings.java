package io.queenmq.config;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeSet;

/** What the environment and a file say, read once at start-up. The environment wins. */
public final class Settings {
    /** Read by the launcher script, not by the broker. */
    private static final List<String> LAUNCHER = List.of("QUEEN_JAVA_OPTS");

    /** Of names that belong to Queen, in whatever version. */
    private static final List<String> PREFIXES = List.of("QUEEN_", "JWT_", "FILE_BUFFER_", "PG_");

    /** Where values come from, the first before the second. */
    private final List<Source> sources;

    /** Names and values, as texts. */
    private record Source(String name, Map<String, String> values) {}

    /** What is set, under which name, and where. */
    record Setting(String name, String text, String source) {}

    private Settings(List<Source> sources) {
        this.sources = List.copyOf(sources);
    }

    /** Of this process. */
    public static Settings ofProcess() {
        return of(System.getenv());
    }

    public static Settings of(Map<String, String> environment) {
        return new Settings(List.of(new Source("environment", Map.copyOf(environment))));
    }

    /**
     * The same with those of a file.
     *
     * @param file which one; empty = the one that is set, if any
     * @throws BadSetting it cannot be read, or has what is no setting
     */
    public Settings withFile(Optional<Path> file) {
        Optional<Path> named = file.or(() -> find(Variables.CONFIG).map(Path::of));
        if (named.isEmpty()) {
            return this;
        }
        List<Source> all = new ArrayList<>(sources);
        all.add(new Source(named.get().toString(), SettingsFile.read(named.get())));
        return new Settings(all);
    }

    /**
     * The value, or the default.
     *
     * @throws BadSetting out of range, or not set where there is no default
     */
    public <T> T get(Variable<T> variable) {
        return effective(variable)
                .orElseThrow(() -> new BadSetting(variable.name() + " must be set"));
    }

    /**
     * The value, or the default if there is one.
     *
     * @throws BadSetting out of range, or what decides the default is
     */
    public <T> Optional<T> effective(Variable<T> variable) {
        return find(variable)
                .or(variable::fallback)
                .or(() -> variable.computed().flatMap(computed -> computed.value().apply(this)));
    }

    /**
     * Looks at all that is set, used or not: what is wrong would be found out when it is.
     *
     * @throws BadSetting out of range
     */
    public void check() {
        Variables.all().forEach(this::find);
    }

    /**
     * The value where it is set.
     *
     * @throws BadSetting out of range
     */
    public <T> Optional<T> find(Variable<T> variable) {
        return locate(variable).map(setting -> parse(variable, setting));
    }

    private <T> T parse(Variable<T> variable, Setting setting) {
        String found = variable.shown(setting.text());
        try {
            Optional<T> value = variable.parser().apply(setting.text());
            if (value.isPresent()) {
                return value.get();
            }
        } catch (IllegalArgumentException e) {
            found = String.valueOf(e.getMessage());
        }
        String source = setting.source();
        throw new BadSetting(
                setting.name()
                        + " must be "
                        + variable.range()
                        + ", got "
                        + found
                        + (source.equals(sources.getFirst().name()) ? "" : " in " + source));
    }

    /** Where a variable is set, by whichever of its names. */
    Optional<Setting> locate(Variable<?> variable) {
        for (Source source : sources) {
            for (String name : variable.names()) {
                String text = source.values().get(name);
                if (text != null && (variable.emptyCounts() || !text.isEmpty())) {
                    return Optional.of(new Setting(name, text, source.name()));
                }
            }
        }
        return Optional.empty();
    }

    /**
     * Names in the environment that look like ours and are not, each with the one that may have
     * been meant: a setting without effect must not go unnoticed.
     */
    public List<String> unknown() {
        return strangers().stream().map(name -> name + Nearest.hint(name)).toList();
    }

    /** Names of these, however they are written. */
    SortedSet<String> strangers() {
        TreeSet<String> unknown = new TreeSet<>();
        for (String name : sources.getFirst().values().keySet()) {
            if (PREFIXES.stream().anyMatch(name.toUpperCase(Locale.ROOT)::startsWith)) {
                unknown.add(name);
            }
        }
        LAUNCHER.forEach(unknown::remove);
        unknown.removeIf(OtherVersions::have);
        Variables.all().forEach(variable -> unknown.removeAll(variable.names()));
        return unknown;
    }

    /** What is set that has a meaning in other versions of Queen alone. */
    public List<String> withoutEffect() {
        return sources.stream()
                .flatMap(source -> source.values().keySet().stream())
                .filter(OtherVersions::have)
                .distinct()
                .sorted()
                .toList();
    }

    /** What is set, as {@code NAME=value}; no secret is repeated. */
    public List<String> changed() {
        return Variables.all().stream()
                .flatMap(
                        variable ->
                                locate(variable).stream()
                                        .map(
                                                set ->
                                                        variable.name()
                                                                + "="
                                                                + variable.display(set.text())))
                .toList();
    }
}
