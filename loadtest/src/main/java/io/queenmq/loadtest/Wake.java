package io.queenmq.loadtest;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.HdrHistogram.Histogram;

/**
 * From the first byte of a push to the last byte of the answer of a pop that was parked: over and
 * over, one message at a time, in a lane of the caller's choice.
 */
final class Wake {
    private static final long PARK_MILLIS = 100;
    private static final long HIGHEST_MICROS = TimeUnit.MINUTES.toMicros(1);

    private final EventLoop loop;
    private final String queue;
    private final HttpConnection consumer;
    private final HttpConnection producer;
    private final Histogram micros = new Histogram(HIGHEST_MICROS, 3);
    private final Rng rng = Rng.seeded();
    private int round;
    private int arrived;

    /** Names the lane of a round. */
    interface LaneOf {
        String name(int round);
    }

    Wake(EventLoop loop, URI url, String queue) {
        InetSocketAddress address = new InetSocketAddress(url.getHost(), url.getPort());
        this.loop = loop;
        this.queue = queue;
        this.consumer = new HttpConnection(loop, address);
        this.producer = new HttpConnection(loop, address);
    }

    /** Times of these rounds alone. */
    Histogram run(int rounds, LaneOf lanes) {
        micros.reset();
        for (int i = 0; i < rounds; i++) {
            round(lanes.name(round));
            round++;
        }
        return micros;
    }

    int rounds() {
        return round;
    }

    /** Rounds in which the message came to the consumer that waited for it. */
    int arrived() {
        return arrived;
    }

    private void round(String lane) {
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
                    producer.send("POST", "/api/v1/push", message(lane), pushed);
                });
        loop.runWhile(() -> popped.status == 0 || pushed.status == 0);
        if (popped.status == 200 && popped.text.contains("\"round\":" + round + "}")) {
            arrived++;
            micros.recordValue(Math.clamp((popped.atNanos - sentAt[0]) / 1_000, 0, HIGHEST_MICROS));
        }
    }

    private Bytes message(String lane) {
        return new Bytes(256)
                .add("{\"items\":[{\"queue\":\"" + queue + "\",\"partition\":\"" + lane)
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
