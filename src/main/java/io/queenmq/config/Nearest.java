package io.queenmq.config;

import java.util.Comparator;
import java.util.Locale;
import java.util.Optional;

/** Finds the name that somebody may have meant. Pure. */
final class Nearest {
    /** One wrong letter in so many is a slip; more is another word. */
    private static final int LETTERS_PER_SLIP = 4;

    private Nearest() {}

    /** Completes a sentence about a name that is none; empty where no name is near. */
    static String hint(String name) {
        return of(name).map(near -> ": did you mean " + near + "?").orElse("");
    }

    private static Optional<String> of(String text) {
        String name = text.toUpperCase(Locale.ROOT);
        return Variables.all().stream()
                .flatMap(variable -> variable.names().stream())
                .min(Comparator.comparingInt(known -> distance(name, known)))
                .filter(near -> distance(name, near) <= 1 + name.length() / LETTERS_PER_SLIP);
    }

    /** How many letters must be put in, left out or changed to make one of the other. */
    private static int distance(String a, String b) {
        int[] row = new int[b.length() + 1];
        for (int j = 0; j <= b.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int changed = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(changed, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[b.length()];
    }
}
