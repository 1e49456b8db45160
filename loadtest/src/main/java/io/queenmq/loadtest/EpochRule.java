package io.queenmq.loadtest;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** When the log goes on in another epoch, as a broker is told by its settings. */
record EpochRule(String name, Map<String, String> environment) {
    private static final Map<String, String> SETTINGS =
            Map.of(
                    "rows", "QUEEN_EPOCH_ROWS",
                    "mb", "QUEEN_EPOCH_MB",
                    "hours", "QUEEN_EPOCH_HOURS");

    /**
     * Rules with commas between, each of one or more settings: {@code rows=50000,mb=256+hours=1}.
     */
    static List<EpochRule> all(String text) {
        List<EpochRule> rules = new ArrayList<>();
        for (String rule : text.split(",", -1)) {
            Map<String, String> environment = new LinkedHashMap<>();
            for (String part : rule.split("\\+", -1)) {
                int equals = part.indexOf('=');
                String setting = equals < 0 ? null : SETTINGS.get(part.substring(0, equals));
                if (setting == null) {
                    throw new IllegalArgumentException(
                            "a rule is rows=N, mb=N, hours=N, or several with + between; got "
                                    + part);
                }
                environment.put(setting, part.substring(equals + 1));
            }
            rules.add(new EpochRule(rule, environment));
        }
        return rules;
    }
}
