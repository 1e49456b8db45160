package io.queenmq.config;

import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What may be set, and what may not.
 *
 * @param names all that it is known by
 * @param text the range as people read it
 * @param bad values outside of it
 */
public record SettingRange(List<String> names, String text, List<String> bad) {
    private static final Pattern NUMBER = Pattern.compile("a whole number from (\\d+) to (\\d+).*");

    /** Of every setting that does not take any text. */
    public static List<SettingRange> all() {
        return Variables.all().stream()
                .filter(variable -> !variable.range().equals("any text"))
                .map(
                        variable ->
                                new SettingRange(variable.names(), variable.range(), bad(variable)))
                .toList();
    }

    private static List<String> bad(Variable<?> variable) {
        List<String> bad = new ArrayList<>();
        Matcher number = NUMBER.matcher(variable.range());
        if (number.matches()) {
            bad.add(String.valueOf(Long.parseLong(number.group(1)) - 1));
            bad.add(String.valueOf(Long.parseLong(number.group(2)) + 1));
            bad.add("1.5");
            bad.add("9".repeat(30));
        }
        bad.add("z z");
        for (String each : bad) {
            if (isTaken(variable, each)) {
                throw new AssertionError(variable.name() + " takes " + each);
            }
        }
        return bad;
    }

    private static boolean isTaken(Variable<?> variable, String text) {
        try {
            return !Optional.empty().equals(variable.parser().apply(text));
        } catch (IllegalArgumentException e) {
            return false;
        }
    }
}
