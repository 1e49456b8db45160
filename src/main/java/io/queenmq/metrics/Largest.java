package io.queenmq.metrics;

import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * Numbers by names that people chose, as metrics may show them: the largest under their names, all
 * others as one. A name that reads like that of the others is among them: a series is written once.
 *
 * @param shown by name, {@link #OTHER} included where anything is left for it
 */
public record Largest(Map<String, Long> shown) {
    /** Stands for all that are not named. */
    public static final String OTHER = "other";

    /** Of these so many with the largest numbers, those of equal ones by name. */
    public static Largest of(Map<String, ? extends Number> all, int limit) {
        List<Map.Entry<String, Long>> sorted =
                all.entrySet().stream()
                        .map(entry -> Map.entry(entry.getKey(), entry.getValue().longValue()))
                        .sorted(
                                Map.Entry.<String, Long>comparingByValue(Comparator.reverseOrder())
                                        .thenComparing(Map.Entry.comparingByKey()))
                        .toList();
        Map<String, Long> shown = new TreeMap<>();
        for (int i = 0; i < sorted.size(); i++) {
            String name = i < limit ? sorted.get(i).getKey() : OTHER;
            shown.merge(name, sorted.get(i).getValue(), Long::sum);
        }
        return new Largest(shown);
    }
}
