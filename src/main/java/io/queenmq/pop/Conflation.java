package io.queenmq.pop;

import org.jspecify.annotations.Nullable;

/**
 * What a pop has to say about last-value delivery, whatever it delivers.
 *
 * @param applied the group conflates: of each lane its newest message alone is delivered
 * @param conflict the request said something else; what is stored with the group wins
 */
public record Conflation(boolean applied, boolean conflict) {
    public static final Conflation NONE = new Conflation(false, false);

    /** A request that says nothing agrees with everything. */
    static Conflation of(@Nullable Boolean asked, boolean stored) {
        return new Conflation(stored, asked != null && asked != stored);
    }

    /** Nothing is stored that could contradict the request. */
    static Conflation asAsked(@Nullable Boolean asked) {
        return of(asked, Boolean.TRUE.equals(asked));
    }
}
