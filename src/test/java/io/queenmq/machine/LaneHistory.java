package io.queenmq.machine;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * What many pushed to one lane at once, against what is stored there: every message that was
 * acknowledged stands where that was said, nothing else stands there, no id twice, and whoever
 * began after another had been answered stands behind it.
 */
final class LaneHistory {
    /** Ids that were told to be stored from an offset on. */
    record Stored(long start, long end, long base, List<String> ids) {}

    /** An id that was told to stand at an offset already. */
    record Duplicate(String id, long offset) {}

    private final List<Stored> stored = new ArrayList<>();
    private final List<Duplicate> duplicates = new ArrayList<>();
    private final List<String> refused = new ArrayList<>();

    void stored(Stored answer) {
        stored.add(answer);
    }

    void duplicate(Duplicate answer) {
        duplicates.add(answer);
    }

    /** An id of a bundle that was undone, which nobody else pushed. */
    void refused(String id) {
        refused.add(id);
    }

    /** What contradicts the ids that the lane holds, from offset 0 on. */
    List<String> contradictions(String lane, List<String> log) {
        List<String> findings = new ArrayList<>();
        Map<Long, String> told = new HashMap<>();
        for (Stored answer : stored) {
            for (int i = 0; i < answer.ids().size(); i++) {
                if (told.put(answer.base() + i, answer.ids().get(i)) != null) {
                    findings.add(lane + ": offset " + (answer.base() + i) + " was given out twice");
                }
            }
        }
        Map<String, Long> offsets = new HashMap<>();
        for (int i = 0; i < log.size(); i++) {
            String id = log.get(i);
            if (!id.equals(told.remove((long) i))) {
                findings.add(lane + ": nobody was told that " + id + " stands at " + i);
            }
            if (offsets.put(id, (long) i) != null) {
                findings.add(lane + ": " + id + " is stored twice");
            }
        }
        told.forEach((offset, id) -> findings.add(lane + ": lost " + id + " at " + offset));
        for (Duplicate duplicate : duplicates) {
            if (!Long.valueOf(duplicate.offset()).equals(offsets.get(duplicate.id()))) {
                findings.add(
                        lane + ": " + duplicate + ", stored at " + offsets.get(duplicate.id()));
            }
        }
        for (String id : refused) {
            if (offsets.containsKey(id)) {
                findings.add(lane + ": " + id + " of a bundle that was undone is stored");
            }
        }
        findings.addAll(overtaken(lane));
        return findings;
    }

    private List<String> overtaken(String lane) {
        List<String> findings = new ArrayList<>();
        List<Stored> byOffset = new ArrayList<>(stored);
        byOffset.sort(Comparator.comparingLong(Stored::base));
        long latestStart = -1;
        for (Stored answer : byOffset) {
            if (answer.end() < latestStart) {
                findings.add(lane + ": " + answer + " stands behind one that began after it");
            }
            latestStart = Math.max(latestStart, answer.start());
        }
        return findings;
    }
}
