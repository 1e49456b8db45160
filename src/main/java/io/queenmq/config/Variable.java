package io.queenmq.config;

import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The declaration of a setting: an environment variable, which may stand in a file as well.
 *
 * @param names the one to use first; the others are understood too, in this order
 * @param fallback value where it is not set; empty = {@code computed}, or none
 * @param defaultText the same for people
 * @param computed the same where it depends on the machine or on other settings
 * @param range for people: what a value may be, completes "must be"
 * @param description one sentence
 * @param secret no message repeats its value
 * @param emptyCounts whether it is set where it is set to nothing
 * @param parser empty = not in the range; an {@link IllegalArgumentException} says what was found
 *     instead of the value
 */
public record Variable<T>(
        List<String> names,
        Optional<T> fallback,
        String defaultText,
        Optional<Computed<T>> computed,
        String range,
        String description,
        boolean secret,
        boolean emptyCounts,
        Function<String, Optional<T>> parser) {

    /**
     * A default that is not always the same.
     *
     * @param value empty = there is none with these settings
     * @param origin what it was computed from, completes "default, "
     */
    record Computed<T>(Function<Settings, Optional<T>> value, Function<Settings, String> origin) {}

    /** An address of version 6 has several colons, or stands in brackets. */
    private static final String HOST =
            "\\s*(?:[^\\s/:,\\[\\]]+|\\[?(?:[0-9A-Fa-f]*:){2,}[0-9A-Fa-f.%a-z]*]?)\\s*";

    /** What may have a user and password, or a query, which may be one. */
    private static final Pattern TELLING_ADDRESS = Pattern.compile(":.*@|://.*\\?");

    private static final Pattern HOSTS = Pattern.compile(HOST + "(?:," + HOST + ")*");

    public String name() {
        return names.getFirst();
    }

    /** A value of it as a sentence may say it. */
    String shown(String text) {
        return isHidden(text) ? "a value of " + text.length() + " characters" : '"' + text + '"';
    }

    /** The same as a list may show it. */
    String display(String text) {
        return isHidden(text) ? "<" + text.length() + " characters>" : text;
    }

    private boolean isHidden(String text) {
        return secret
                || text.contains("\n")
                || text.contains("-----BEGIN")
                || TELLING_ADDRESS.matcher(text).find();
    }

    /** The same, known under further names, for those who come from other versions. */
    Variable<T> also(String... otherNames) {
        List<String> all = Stream.concat(names.stream(), List.of(otherNames).stream()).toList();
        return new Variable<>(
                all,
                fallback,
                defaultText,
                computed,
                range,
                description,
                secret,
                emptyCounts,
                parser);
    }

    /** The same where to be set to nothing says something. */
    Variable<T> orEmpty() {
        return new Variable<>(
                names, fallback, defaultText, computed, range, description, secret, true, parser);
    }

    /** The same with a value that no message repeats. */
    Variable<T> masked() {
        return new Variable<>(
                names,
                fallback,
                defaultText,
                computed,
                range,
                description,
                true,
                emptyCounts,
                parser);
    }

    /** The same with a default that the machine or other settings decide. */
    Variable<T> computed(
            String text, Function<Settings, Optional<T>> value, Function<Settings, String> origin) {
        return new Variable<>(
                names,
                Optional.empty(),
                text,
                Optional.of(new Computed<>(value, origin)),
                range,
                description,
                secret,
                emptyCounts,
                parser);
    }

    /** One with a range of its own. */
    static <T> Variable<T> of(
            String name,
            Optional<T> fallback,
            String defaultText,
            String range,
            String description,
            Function<String, Optional<T>> parser) {
        return new Variable<>(
                List.of(name),
                fallback,
                defaultText,
                Optional.empty(),
                range,
                description,
                false,
                false,
                parser);
    }

    /** One that is none by default, and whose value no message ever repeats. */
    static <T> Variable<T> secret(
            String name, String range, String description, Function<String, Optional<T>> parser) {
        return new Variable<>(
                List.of(name),
                Optional.empty(),
                "none",
                Optional.empty(),
                range,
                description,
                true,
                false,
                parser);
    }

    /** A whole number with its unit. */
    static Variable<Long> number(
            String name, long fallback, long min, long max, String unit, String description) {
        return number(
                name, Optional.of(fallback), Long.toString(fallback), min, max, unit, description);
    }

    /** A whole number whose default is {@link #computed}. */
    static Variable<Long> number(String name, long min, long max, String unit, String description) {
        return number(name, Optional.empty(), "none", min, max, unit, description);
    }

    private static Variable<Long> number(
            String name,
            Optional<Long> fallback,
            String defaultText,
            long min,
            long max,
            String unit,
            String description) {
        return of(
                name,
                fallback,
                defaultText,
                "a whole number from " + min + " to " + max + (unit.isEmpty() ? "" : " " + unit),
                description,
                text -> parseLong(text).filter(value -> value >= min && value <= max));
    }

    private static Optional<Long> parseLong(String text) {
        try {
            return Optional.of(Long.parseLong(text.strip()));
        } catch (NumberFormatException e) {
            return Optional.empty();
        }
    }

    /** A flag whose default is {@link #computed}. */
    static Variable<Boolean> flag(String name, String description) {
        return flag(name, Optional.empty(), "none", description);
    }

    static Variable<Boolean> flag(
            String name, Optional<Boolean> fallback, String defaultText, String description) {
        return of(
                name,
                fallback,
                defaultText,
                "true or false, yes or no, on or off, 1 or 0",
                description,
                text ->
                        switch (text.strip().toLowerCase(Locale.ROOT)) {
                            case "true", "yes", "on", "1" -> Optional.of(true);
                            case "false", "no", "off", "0" -> Optional.of(false);
                            default -> Optional.empty();
                        });
    }

    /** Text that is taken as it is. */
    static Variable<String> text(
            String name, Optional<String> fallback, String defaultText, String description) {
        return of(name, fallback, defaultText, "any text", description, Optional::of);
    }

    /** Names of machines; not the folder of a socket, nor a name with its port. */
    static Variable<String> hosts(String name, String fallback, String description) {
        return of(
                name,
                Optional.of(fallback),
                fallback,
                "names or addresses of machines, without a port, separated by commas",
                description,
                text -> Optional.of(text).filter(hosts -> HOSTS.matcher(hosts).matches()));
    }

    /** A key in hexadecimal digits, none by default. */
    static Variable<String> key(String name, int bytes, String description) {
        return secret(name, keyRange(bytes), description, text -> hex(text, bytes));
    }

    /** Several of them, separated by commas. */
    static Variable<List<String>> keys(String name, int bytes, String description) {
        return secret(
                name,
                keyRange(bytes) + " each",
                description,
                text -> {
                    String[] texts = text.split(",", -1);
                    List<String> keys =
                            Arrays.stream(texts).flatMap(key -> hex(key, bytes).stream()).toList();
                    return keys.size() == texts.length ? Optional.of(keys) : Optional.empty();
                });
    }

    private static String keyRange(int bytes) {
        return 2 * bytes + " hexadecimal digits, " + bytes + " bytes";
    }

    private static Optional<String> hex(String text, int bytes) {
        return Optional.of(text.strip())
                .filter(hex -> hex.matches("[0-9a-fA-F]{" + 2 * bytes + "}"));
    }

    /** One of several words, in whatever case; it is the word as it stands here. */
    static Variable<String> choice(
            String name, String fallback, List<String> choices, String description) {
        return of(
                name,
                Optional.of(fallback),
                fallback,
                String.join(" or ", choices),
                description,
                text ->
                        choices.stream()
                                .filter(choice -> choice.equalsIgnoreCase(text.strip()))
                                .findFirst());
    }
}
