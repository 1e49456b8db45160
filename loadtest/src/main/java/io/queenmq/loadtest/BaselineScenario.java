package io.queenmq.loadtest;

import java.util.concurrent.TimeUnit;

/**
 * What {@code queen_store.append} takes in the two shapes that the other figures are held against.
 */
final class BaselineScenario {
    private static final int WIDE_LANES = 16;
    private static final int WIDE_MESSAGES = 100;
    private static final int SINGLE_LANES = 64;

    private final String jdbcUrl;
    private final String queue;
    private final int threads;
    private final Payload.Kind payload;
    private final int bytes;
    private final int seconds;

    BaselineScenario(Target target, Options options) {
        this.jdbcUrl =
                target.jdbcUrl()
                        .orElseThrow(() -> new IllegalArgumentException("a baseline needs --jdbc"));
        this.queue = "loadtest-bare-" + System.currentTimeMillis();
        this.threads = options.number("baseline-threads", 3);
        this.payload = Payload.Kind.of(options.text("payload", "order"));
        this.bytes = options.number("bytes", 256);
        this.seconds = options.number("baseline-seconds", 10);
    }

    Outcome run() {
        Outcome outcome = new Outcome();
        record(outcome, "bare16x100", wide());
        record(outcome, "bare64x1", singles());
        return outcome;
    }

    /** Calls of 16 lanes, 100 messages each. */
    BareAppend.Result wide() {
        return run(WIDE_LANES, WIDE_MESSAGES);
    }

    /** Calls of 64 lanes, one message each. */
    BareAppend.Result singles() {
        return run(SINGLE_LANES, 1);
    }

    private BareAppend.Result run(int lanes, int messages) {
        try (BareAppend bare =
                new BareAppend(
                        jdbcUrl,
                        queue,
                        new BareAppend.Shape(threads, lanes, messages, payload, bytes))) {
            return bare.run(TimeUnit.SECONDS.toNanos(seconds));
        }
    }

    static void record(Outcome outcome, String name, BareAppend.Result result) {
        outcome.figure(name + "PerSecond", Math.round(result.perSecond()));
        outcome.line(
                "%-12s %,.0f msg/s in %,.0f calls/s"
                        .formatted(name, result.perSecond(), result.calls() / result.seconds()));
    }
}
