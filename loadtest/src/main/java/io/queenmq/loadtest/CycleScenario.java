package io.queenmq.loadtest;

import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Producers and consumers at once, with explicit acks of every message and deduplication on. With a
 * database at hand the bare function is measured before and after, for the ratio of one run.
 */
final class CycleScenario {
    private final Target target;
    private final Traffic.Shape shape;
    private final int seconds;
    private final int warmup;
    private final int drainSeconds;
    private final double mustRatio;
    private final Optional<BaselineScenario> baseline;

    CycleScenario(Target target, Options options) {
        this.target = target;
        this.shape = Traffic.Shape.of("loadtest-cycle-" + System.currentTimeMillis(), options);
        this.seconds = options.number("seconds", 60);
        this.warmup = options.number("warmup", 10);
        this.drainSeconds = options.number("drain-seconds", 30);
        this.mustRatio = options.ratio("must-ratio", 0.12);
        this.baseline =
                target.jdbcUrl().isPresent()
                        ? Optional.of(new BaselineScenario(target, options))
                        : Optional.empty();
    }

    Outcome run() {
        Outcome outcome = new Outcome();
        Optional<BareAppend.Result> before = baseline.map(BaselineScenario::wide);
        before.ifPresent(b -> BaselineScenario.record(outcome, "bareBefore", b));
        double perSecond = cycle(outcome);
        Optional<BareAppend.Result> after = baseline.map(BaselineScenario::wide);
        if (before.isPresent() && after.isPresent()) {
            BaselineScenario.record(outcome, "bareAfter", after.get());
            double bare = (before.get().perSecond() + after.get().perSecond()) / 2;
            double ratio = perSecond / bare;
            outcome.figure("ratioOfBare", ratio);
            // At a rate the figure is the rate: only a run that gives all it can is held against
            // it.
            outcome.must(
                    ratio >= mustRatio || shape.rate() > 0,
                    "full cycle is %.3f of the bare function (at least %.2f)"
                            .formatted(ratio, mustRatio));
        }
        return outcome;
    }

    private double cycle(Outcome outcome) {
        target.configure(shape.queue());
        Optional<Server> server = target.jdbcUrl().map(Server::new);
        try (Traffic traffic = new Traffic(target.url(), shape)) {
            server.ifPresent(Server::checkpoint);
            traffic.startConsumers();
            traffic.startProducers();
            Window window =
                    Window.measure(
                            traffic,
                            target.cpu(),
                            server,
                            TimeUnit.SECONDS.toNanos(warmup),
                            TimeUnit.SECONDS.toNanos(seconds));
            traffic.drain(TimeUnit.SECONDS.toNanos(drainSeconds));
            window.report(outcome);
            outcome.verdict(traffic.ledger().verdict());
            return window.consumedPerSecond();
        } finally {
            server.ifPresent(Server::close);
        }
    }
}
