package io.queenmq.loadtest;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.HdrHistogram.Histogram;
import org.jspecify.annotations.Nullable;

/**
 * Connections that each send what a script tells them, one request after the answer to the last;
 * all on one event loop.
 */
final class Callers implements AutoCloseable {
    private static final long HIGHEST_MICROS = TimeUnit.MINUTES.toMicros(10);
    private static final long RETRY_MILLIS = 200;
    private static final double FINISH_SECONDS = 60;

    /** What the callers say, and what they make of the answers. */
    interface Script {
        /**
         * The path of a caller's next request; null = this caller has finished.
         *
         * @param body empty; what is written there makes the request a POST
         */
        @Nullable String next(int caller, Bytes body);

        /** Any status; the body lies between from and to until this method returns. */
        void answered(int caller, int status, byte[] body, int from, int to);
    }

    private final EventLoop loop = new EventLoop();
    private final Script script;
    private final List<Caller> callers = new ArrayList<>();
    private final Histogram micros = new Histogram(HIGHEST_MICROS, 3);
    private boolean running;
    private int busy;
    private long answers;
    private long broken;

    Callers(URI url, int count, Script script) {
        this.script = script;
        InetSocketAddress address = new InetSocketAddress(url.getHost(), url.getPort());
        for (int i = 0; i < count; i++) {
            callers.add(new Caller(i, new HttpConnection(loop, address)));
        }
    }

    /** Starts some of the callers for good; they go on whenever the loop turns. */
    void start(int from, int to) {
        running = true;
        busy += to - from;
        for (Caller caller : callers.subList(from, to)) {
            caller.go();
        }
    }

    /** Turns the loop for a time. */
    void goOn(double seconds) {
        turn(() -> true, seconds);
    }

    /** Calls for a time, or until every caller has finished; waits for what is under way then. */
    void run(double seconds) {
        start(0, callers.size());
        turn(() -> busy > 0, seconds);
        running = false;
        turn(() -> busy > 0, FINISH_SECONDS);
        if (busy > 0) {
            throw new IllegalStateException(busy + " requests were not answered");
        }
        if (broken > 0) {
            throw new IllegalStateException(broken + " connections broke");
        }
    }

    private void turn(BooleanSupplier condition, double seconds) {
        long until = System.nanoTime() + Plan.nanos(seconds);
        loop.runWhile(() -> condition.getAsBoolean() && System.nanoTime() < until);
    }

    EventLoop loop() {
        return loop;
    }

    long answers() {
        return answers;
    }

    /** Requests without a whole answer. */
    long broken() {
        return broken;
    }

    Histogram micros() {
        return micros;
    }

    private final class Caller implements HttpConnection.Exchange {
        private final int number;
        private final HttpConnection connection;
        private final Bytes body = new Bytes(256);
        private long sentNanos;

        Caller(int number, HttpConnection connection) {
            this.number = number;
            this.connection = connection;
        }

        void go() {
            Optional<String> path = Optional.empty();
            body.clear();
            if (running) {
                path = Optional.ofNullable(script.next(number, body));
            }
            if (path.isEmpty()) {
                busy--;
                return;
            }
            sentNanos = System.nanoTime();
            boolean post = body.size() > 0;
            connection.send(post ? "POST" : "GET", path.get(), post ? body : null, this);
        }

        @Override
        public void answered(int status, byte[] bytes, int from, int to) {
            answers++;
            micros.recordValue(
                    Math.clamp((System.nanoTime() - sentNanos) / 1_000, 0, HIGHEST_MICROS));
            script.answered(number, status, bytes, from, to);
            go();
        }

        @Override
        public void broken(IOException cause) {
            broken++;
            loop.after(RETRY_MILLIS, TimeUnit.MILLISECONDS, this::go);
        }
    }

    /** Refuses every answer but the one that was expected. */
    static void expect(int expected, int status, byte[] body, int from, int to) {
        if (status != expected) {
            throw new IllegalStateException(
                    "expected %d, got %d: %s"
                            .formatted(
                                    expected,
                                    status,
                                    new String(body, from, to - from, StandardCharsets.UTF_8)));
        }
    }

    @Override
    public void close() {
        loop.close();
    }
}
