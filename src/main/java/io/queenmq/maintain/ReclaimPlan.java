package io.queenmq.maintain;

import java.util.ArrayList;
import java.util.List;

/**
 * Which epochs have to go so that so many bytes become free; the oldest goes first, whatever it
 * holds, for only then may the next one go.
 *
 * @param steps oldest first; empty = nothing is dead anywhere
 */
public record ReclaimPlan(List<Step> steps) {

    /**
     * An epoch that is to go.
     *
     * @param bytes on disk
     * @param survivorBytes of these, how many are alive and move to epoch 0; an estimate
     */
    public record Step(int epoch, String state, long bytes, long survivorBytes) {
        public long freedBytes() {
            return bytes - survivorBytes;
        }

        /** Appends go there, so that another one has to be opened first. */
        public boolean isOpen() {
            return state.equals("open");
        }
    }

    /** As many of these, oldest first, as it takes; behind the last dead byte none. */
    static ReclaimPlan of(List<Step> all, long bytes) {
        List<Step> steps = new ArrayList<>();
        int useful = 0;
        long freed = 0;
        for (Step step : all) {
            if (freed >= bytes) {
                break;
            }
            steps.add(step);
            freed += step.freedBytes();
            useful = step.freedBytes() > 0 ? steps.size() : useful;
        }
        return new ReclaimPlan(List.copyOf(steps.subList(0, useful)));
    }

    public boolean isEmpty() {
        return steps.isEmpty();
    }

    /** What becomes free when all of it is done; an estimate. */
    public long freedBytes() {
        return steps.stream().mapToLong(Step::freedBytes).sum();
    }

    /** What has to be moved for that. */
    public long survivorBytes() {
        return steps.stream().mapToLong(Step::survivorBytes).sum();
    }

    boolean goesTo(int epoch) {
        return !isEmpty() && epoch <= steps.getLast().epoch();
    }

    boolean closes(int epoch) {
        return !isEmpty() && steps.getLast().isOpen() && steps.getLast().epoch() == epoch;
    }
}
