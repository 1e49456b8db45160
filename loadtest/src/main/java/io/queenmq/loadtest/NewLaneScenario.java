package io.queenmq.loadtest;

import org.HdrHistogram.Histogram;

/**
 * A consumer is parked on a queue; a message arrives in a lane that did not exist, over and over,
 * each time a new lane.
 */
final class NewLaneScenario {
    private final Target target;
    private final int rounds;
    private final int mustMillis;

    NewLaneScenario(Target target, Options options) {
        this.target = target;
        this.rounds = options.number("rounds", 100);
        this.mustMillis = options.number("must-millis", 1_000);
    }

    Outcome run() {
        Outcome outcome = new Outcome();
        String queue = "loadtest-new-lane-" + System.currentTimeMillis();
        target.configure(queue);
        try (EventLoop loop = new EventLoop()) {
            Wake wake = new Wake(loop, target.url(), queue);
            Histogram micros = wake.run(rounds, round -> "new-" + round);
            outcome.figure("rounds", rounds);
            outcome.figure("arrived", wake.arrived());
            outcome.latency("newLane", micros);
            outcome.must(
                    wake.arrived() == rounds,
                    "%d of %d first messages arrived".formatted(wake.arrived(), rounds));
            outcome.must(
                    micros.getMaxValue() <= mustMillis * 1_000L,
                    "the slowest first message took %.1f ms (at most %d)"
                            .formatted(micros.getMaxValue() / 1e3, mustMillis));
        }
        return outcome;
    }
}
