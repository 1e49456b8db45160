package io.queenmq.pop;

import io.queenmq.group.StartRule;
import io.queenmq.ready.Findings;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Lanes to try, in serving order.
 *
 * @param rule where a group that is not registered begins in them; null = the groups are
 * @param limit most lanes that may deliver; 0 = no cap
 */
record Candidates(List<Lane> lanes, @Nullable StartRule rule, int limit) {
    static final Candidates NONE = new Candidates(List.of(), null, 1);

    /**
     * A lane.
     *
     * @param home who is told what the claim finds
     */
    record Lane(long number, int queueId, int groupId, Findings home) {}

    /** Only one lane will do: it has been looked at, and there is no other. */
    boolean isPinned() {
        return rule != null;
    }

    /** Whether the lease, in the eyes of SQL, may span more than one lane. */
    boolean several() {
        return limit != 1;
    }

    boolean isEmpty() {
        return lanes.isEmpty();
    }
}
