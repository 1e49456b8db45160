package io.queenmq.pop;

import io.queenmq.group.StartRule;
import io.queenmq.ready.Findings;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Lanes to try, in serving order.
 *
 * @param rule where a group that is not registered begins in them; null = the groups are
 */
record Candidates(List<Lane> lanes, @Nullable StartRule rule) {
    static final Candidates NONE = new Candidates(List.of(), null);

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

    boolean isEmpty() {
        return lanes.isEmpty();
    }
}
