package io.queenmq.loadtest;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/**
 * A consumer is parked on a queue; a message arrives in a lane that did not exist. Measured from
 * the push's first byte to the last byte of the pop's answer, over and over, each time a new lane.
 */
final class NewLaneScenario {
    private static final long PARK_MILLIS = 100;
    private static final long HIGHEST_MICROS = TimeUnit.MINUTES.toMicros(1);

    private final Target target;
    private final int rounds;
    private final int mustMillis;
    private final String queue = "loadtest-new-lane-" + System.currentTimeMillis();
    private final Histogram micros = new Histogram(HIGHEST_MICROS, 3);
    private final Rng rng = Rng.seeded();

    NewLaneScenario(Target target, Options options) {
        this.target = target;
        this.rounds = options.number("rounds", 100);
        this.mustMillis = options.number("must-millis", 1_000);
    }

    Outcome run() {
        Outcome outcome = new Outcome();
        target.configure(queue);
        int arrived = 0;
        try (EventLoop loop = new EventLoop()) {
            InetSocketAddress address =
                    new InetSocketAddress(target.url().getHost(), target.url().getPort());
            HttpConnection consumer = new HttpConnection(loop, address);
            HttpConnection producer = new HttpConnection(loop, address);
            for (int round = 0; round < rounds; round++) {
                arrived += round(loop, consumer, producer, round) ? 1 : 0;
            }
        }
        outcome.figure("rounds", rounds);
        outcome.figure("arrived", arrived);
        outcome.latency("newLane", micros);
        outcome.must(
                arrived == rounds, "%d of %d first messages arrived".formatted(arrived, rounds));
        outcome.must(
                micros.getMaxValue() <= mustMillis * 1_000L,
                "the slowest first message took %.1f ms (at most %d)"
                        .formatted(micros.getMaxValue() / 1e3, mustMillis));
        return outcome;
    }

    private boolean round(
            EventLoop loop, HttpConnection consumer, HttpConnection producer, int round) {
        Waiting popped = new Waiting();
        Waiting pushed = new Waiting();
        consumer.send(
                "GET",
                "/api/v1/pop/queue/" + queue + "?batch=10&wait=true&timeout=10000&autoAck=true",
                null,
                popped);
        long[] sentAt = new long[1];
        loop.after(
                PARK_MILLIS,
                TimeUnit.MILLISECONDS,
                () -> {
                    sentAt[0] = System.nanoTime();
                    producer.send("POST", "/api/v1/push", message(round), pushed);
                });
        loop.runWhile(() -> popped.status == 0 || pushed.status == 0);
        if (popped.status != 200 || !popped.text.contains("\"round\":" + round + "}")) {
            return false;
        }
        micros.recordValue(Math.clamp((popped.atNanos - sentAt[0]) / 1_000, 0, HIGHEST_MICROS));
        return true;
    }

    private Bytes message(int round) {
        return new Bytes(256)
                .add("{\"items\":[{\"queue\":\"" + queue + "\",\"partition\":\"new-" + round)
                .add("\",\"transactionId\":\"")
                .uuid(rng.uuidHigh(), rng.uuidLow())
                .add("\",\"payload\":{\"round\":" + round + "}}]}");
    }

    private static final class Waiting implements HttpConnection.Exchange {
        private int status;
        private String text = "";
        private long atNanos;

        @Override
        public void answered(int answer, byte[] body, int from, int to) {
            atNanos = System.nanoTime();
            status = answer;
            text = new String(body, from, to - from, StandardCharsets.UTF_8);
        }

        @Override
        public void broken(IOException cause) {
            throw new IllegalStateException(cause);
        }
    }
}
