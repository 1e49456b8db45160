package io.queenmq.loadtest;

import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Pushes of one message each from many producers, nothing else, so that every commit of the
 * database is one of theirs; what they stored is consumed and verified afterwards.
 */
final class SinglesScenario {
    private final Target target;
    private final Traffic.Shape shape;
    private final int seconds;
    private final int warmup;
    private final int drainSeconds;
    private final double mustShare;

    SinglesScenario(Target target, Options options) {
        this.target = target;
        this.shape =
                Traffic.Shape.of(
                        "loadtest-w5-" + System.currentTimeMillis(),
                        options.over(
                                "lanes=64 producers=64 push-batch=1 consumers=8 pop-batch=1000"
                                        + " partitions=8 backlog=2147483647"));
        this.seconds = options.number("seconds", 60);
        this.warmup = options.number("warmup", 10);
        this.drainSeconds = options.number("drain-seconds", 120);
        this.mustShare = options.ratio("must-share", 5);
    }

    Outcome run() {
        Outcome outcome = new Outcome();
        target.configure(shape.queue());
        Optional<Server> server = target.jdbcUrl().map(Server::new);
        try (Traffic traffic = new Traffic(target.url(), shape)) {
            server.ifPresent(Server::checkpoint);
            traffic.startProducers();
            Window window =
                    Window.measure(
                            traffic,
                            target.cpu(),
                            server,
                            TimeUnit.SECONDS.toNanos(warmup),
                            TimeUnit.SECONDS.toNanos(seconds));
            traffic.stopProducers();
            traffic.startConsumers();
            traffic.drain(TimeUnit.SECONDS.toNanos(drainSeconds));
            window.report(outcome);
            outcome.verdict(traffic.ledger().verdict());
            window.messagesPerCommit()
                    .ifPresent(
                            share -> {
                                outcome.figure("messagesPerCommit", share);
                                outcome.must(
                                        share >= mustShare,
                                        "%.1f messages share a commit (at least %.0f)"
                                                .formatted(share, mustShare));
                            });
        } finally {
            server.ifPresent(Server::close);
        }
        return outcome;
    }
}
