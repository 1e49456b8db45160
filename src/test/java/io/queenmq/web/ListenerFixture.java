package io.queenmq.web;

import io.queenmq.access.Access;
import io.queenmq.access.Level;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** A listener with handlers that show what a handler gets to see. */
final class ListenerFixture implements AutoCloseable {
    static final int BODY_MAX = 1 << 20;

    final Metrics metrics = new Metrics();
    final BlockingQueue<Parked> parked = new LinkedBlockingQueue<>();
    final Listener listener;
    final int port;

    /** A request that waits, and what it has seen. */
    static final class Parked {
        final Connection connection;
        final BlockingQueue<String> events = new LinkedBlockingQueue<>();

        Parked(Connection connection) {
            this.connection = connection;
        }

        String next() throws InterruptedException {
            String event = events.poll(10, TimeUnit.SECONDS);
            return event == null ? "nothing within 10 s" : event;
        }
    }

    ListenerFixture() {
        this(Duration.ofSeconds(30), Duration.ofSeconds(5), 64, 16L * BODY_MAX);
    }

    /** One that keeps idle connections only so long. */
    ListenerFixture(Duration keepAlive) {
        this(Duration.ofSeconds(30), keepAlive, Duration.ofSeconds(5), 64, 16L * BODY_MAX, 1_000);
    }

    ListenerFixture(Duration bodyTime, Duration admissionWait, int requestsMax, long bytesMax) {
        this(bodyTime, Duration.ofMinutes(5), admissionWait, requestsMax, bytesMax, 1_000);
    }

    /** One that has only so many connections at once. */
    static ListenerFixture ofConnections(int connectionsMax) {
        return new ListenerFixture(
                Duration.ofSeconds(30),
                Duration.ofMinutes(5),
                Duration.ofSeconds(5),
                64,
                16L * BODY_MAX,
                connectionsMax);
    }

    private ListenerFixture(
            Duration bodyTime,
            Duration keepAlive,
            Duration admissionWait,
            int requestsMax,
            long bytesMax,
            int connectionsMax) {
        WebConfig config =
                new WebConfig(
                        "127.0.0.1",
                        0,
                        BODY_MAX,
                        bodyTime,
                        bodyTime,
                        keepAlive,
                        Duration.ofSeconds(20),
                        requestsMax,
                        bytesMax,
                        admissionWait,
                        connectionsMax,
                        true);
        Access open = Access.of(Optional.empty(), metrics, Clock.SYSTEM);
        listener = new Listener(config, routes(), open, Clock.SYSTEM, metrics);
        port = listener.start();
    }

    RawClient connect() throws IOException {
        return new RawClient(port);
    }

    Parked awaitParked() throws InterruptedException {
        Parked next = parked.poll(10, TimeUnit.SECONDS);
        if (next == null) {
            throw new AssertionError("no request has parked");
        }
        return next;
    }

    private Router routes() {
        return Router.builder()
                .read(Level.PUBLIC, "/ping", exchange -> exchange.ok(json("\"pong\"")))
                .route(Level.PUBLIC, "POST", "/echo", ListenerFixture::echo)
                .route(Level.PUBLIC, "GET", "/names/:a/:b", ListenerFixture::names)
                .route(Level.PUBLIC, "GET", "/empty", Exchange::nothing)
                .route(Level.PUBLIC, "GET", "/query", ListenerFixture::query)
                .route(
                        Level.PUBLIC,
                        "GET",
                        "/tenant",
                        e -> e.ok(new JsonBuffer(0).uuid(e.caller().tenant())))
                .route(Level.PUBLIC, "GET", "/park", this::park)
                .route(Level.PUBLIC, "POST", "/hold", this::hold)
                .route(
                        Level.PUBLIC,
                        "GET",
                        "/large",
                        e -> e.ok(json('"' + "x".repeat(300_000) + '"')))
                .route(
                        Level.PUBLIC,
                        "GET",
                        "/boom",
                        exchange -> {
                            throw new IllegalStateException("secret of the broker");
                        })
                .route(
                        Level.PUBLIC,
                        "GET",
                        "/fail/:failure",
                        exchange -> {
                            throw new QueenException(
                                    Failure.valueOf(exchange.segment("failure")), "a sentence");
                        })
                .build();
    }

    private static JsonBuffer json(String text) {
        return new JsonBuffer(0).raw(text);
    }

    private static void echo(Exchange exchange) {
        exchange.created(
                new JsonBuffer(0).string(new String(exchange.body(), StandardCharsets.UTF_8)));
    }

    private static void names(Exchange exchange) {
        JsonBuffer json = new JsonBuffer(0).raw('[').string(exchange.segment("a")).raw(',');
        exchange.ok(json.string(exchange.segment("b")).raw(']'));
    }

    private static void query(Exchange exchange) {
        Query query = exchange.query();
        exchange.ok(
                new JsonBuffer(0)
                        .raw('[')
                        .number(query.int32("batch", 200))
                        .raw(',')
                        .bool(query.bool("wait", false))
                        .raw(',')
                        .number(query.unsigned64("timeout", 30_000))
                        .raw(',')
                        .string(query.text("group"))
                        .raw(']'));
    }

    /** Waits for the client to leave, or for a test to say {@code answer}. */
    private void park(Exchange exchange) {
        Parked request = new Parked(exchange.connection());
        BlockingQueue<Runnable> wake = new LinkedBlockingQueue<>();
        exchange.connection()
                .onGone(
                        () -> {
                            request.events.add("gone");
                            wake.add(() -> {});
                        });
        answers.add(() -> wake.add(exchange::nothing));
        parked.add(request);
        try {
            wake.take().run();
            request.events.add("answered");
        } catch (InterruptedException e) {
            request.events.add("interrupted");
            Thread.currentThread().interrupt();
        }
    }

    private final BlockingQueue<Runnable> answers = new LinkedBlockingQueue<>();

    /** Lets the parked request that came first answer 204. */
    void answerOne() throws InterruptedException {
        answers.take().run();
    }

    /** Reads its body, then waits for {@link #answerOne}. */
    private void hold(Exchange exchange) {
        int length = exchange.body().length;
        BlockingQueue<Integer> wake = new LinkedBlockingQueue<>();
        answers.add(() -> wake.add(length));
        parked.add(new Parked(exchange.connection()));
        try {
            exchange.ok(new JsonBuffer(0).number(wake.take()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void close() {
        listener.stop();
        metrics.close();
    }
}
