package io.queenmq.loadtest;

import java.util.ArrayList;
import java.util.List;

/**
 * How far a store grows, and of what.
 *
 * @param steps messages retained at each measurement, ascending
 * @param singles share of them in segments of one, as pushes of single messages make them
 * @param twinLanes lanes of the store that stays empty
 * @param rules of rotation that are compared
 */
record GrowthSizes(List<Long> steps, double singles, int twinLanes, List<EpochRule> rules) {
    GrowthSizes {
        steps = List.copyOf(steps);
        rules = List.copyOf(rules);
        for (int i = 0; i < steps.size(); i++) {
            if (steps.get(i) < 0 || (i > 0 && steps.get(i) <= steps.get(i - 1))) {
                throw new IllegalArgumentException("--growth wants rising numbers, got " + steps);
            }
        }
        if (steps.isEmpty() || steps.getLast() == 0) {
            throw new IllegalArgumentException("--growth wants a number above 0, got " + steps);
        }
        if (!(singles >= 0 && singles <= 1)) {
            throw new IllegalArgumentException("--singles is a share from 0 to 1, got " + singles);
        }
        if (twinLanes < Sediment.ACTIVE) {
            throw new IllegalArgumentException(
                    "--twin-lanes must be at least " + Sediment.ACTIVE + ", got " + twinLanes);
        }
    }

    static GrowthSizes of(Options options, boolean quick) {
        return new GrowthSizes(
                steps(options.text("growth", quick ? "0,20000,100000" : "0,10000000,50000000")),
                options.ratio("singles", quick ? 0.02 : 0),
                options.number("twin-lanes", 1_000),
                EpochRule.all(
                        options.text(
                                "epoch-rules",
                                quick ? "rows=5000000,rows=10000" : "rows=5000000,rows=50000")));
    }

    private static List<Long> steps(String text) {
        List<Long> steps = new ArrayList<>();
        for (String step : text.split(",", -1)) {
            try {
                steps.add(Long.parseLong(step));
            } catch (NumberFormatException e) {
                throw new IllegalArgumentException("--growth wants numbers, got " + text, e);
            }
        }
        return steps;
    }

    /** The smallest store that is not empty. */
    long first() {
        return steps.getFirst() > 0 ? steps.getFirst() : steps.get(1);
    }

    long last() {
        return steps.getLast();
    }
}
