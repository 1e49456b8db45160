package io.queenmq.web;

import io.helidon.http.DirectHandler;
import io.helidon.http.Header;
import io.helidon.http.HeaderValues;
import io.helidon.http.ServerResponseHeaders;
import io.helidon.http.Status;
import io.helidon.webserver.CloseConnectionException;
import io.helidon.webserver.WebServer;
import io.helidon.webserver.http.DirectHandlers;
import io.helidon.webserver.http.FilterChain;
import io.helidon.webserver.http.HttpRouting;
import io.helidon.webserver.http.RoutingRequest;
import io.helidon.webserver.http.RoutingResponse;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import io.helidon.webserver.http1.Http1Config;
import io.helidon.webserver.http1.Http1ConnectionSelector;
import io.micrometer.core.instrument.Counter;
import io.queenmq.access.Access;
import io.queenmq.access.Level;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.runtime.Clock;
import io.queenmq.runtime.LogContext;
import io.queenmq.runtime.StartRefused;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Pattern;
import jdk.net.ExtendedSocketOptions;
import org.jspecify.annotations.Nullable;

/**
 * The HTTP server of the broker. Stopping has an order: {@link #drain}, then whoever parks requests
 * wakes them, then {@link #stop}, then what handlers call.
 */
public final class Listener {
    private static final System.Logger LOG = System.getLogger(Listener.class.getName());

    /** Three names of 1,024 bytes, each byte percent-encoded, and the rest of a request line. */
    private static final int REQUEST_LINE_MAX = 16 << 10;

    private static final int HEADERS_MAX = 16 << 10;

    /** The server's own limit only backs ours, which answers better. */
    private static final long BODY_CEILING_EXTRA = 16 << 20;

    /** Fewer are worth a word when we start. */
    private static final int CONNECTIONS_EXPECTED = 1_000;

    private static final Duration HURRY = Duration.ofSeconds(2);
    private static final JsonBuffer NO_SUCH_ROUTE =
            new JsonBuffer(64).raw("{\"error\":\"Not Found\",\"code\":\"no_such_route\"}");

    /** Who may not even consume is not told what there is. */
    private static final Level UNKNOWN = Level.READ_WRITE;

    /** What browsers and pages ask for by themselves, without a token: here there is none of it. */
    private static final Pattern FILES = Pattern.compile("/(?:favicon[^/]*|assets/.*)");

    private final WebConfig config;
    private final Router router;
    private final Access access;
    private final Admission admission;
    private final Connections connections;
    private final RequestIds requestIds = new RequestIds();
    private final Counter failed;
    private final Counter gone;
    private final WebServer server;
    private final Thread watchdog;
    private volatile boolean draining;

    public Listener(WebConfig config, Router router, Access access, Clock clock, Metrics metrics) {
        this.config = config;
        this.router = router;
        this.access = access;
        this.admission = new Admission(config, metrics);
        this.failed =
                metrics.counter(
                        "queen_web_internal_errors_total", "Requests that met a bug of ours.");
        this.gone =
                metrics.counter(
                        "queen_web_clients_gone_total", "Answers that could not be written.");
        Http1Config http1 =
                Http1Config.builder()
                        .maxPrologueLength(REQUEST_LINE_MAX)
                        .maxHeadersSize(HEADERS_MAX)
                        .build();
        this.connections =
                new Connections(
                        Http1ConnectionSelector.builder().config(http1).build(),
                        config,
                        clock,
                        metrics);
        // NIO off: half the memory per connection, and answers over 8 KB leave in one write.
        // Discovery off: with a single selector protocol errors are answered instead of closed on.
        this.server =
                WebServer.builder()
                        .host(config.host())
                        .port(config.port())
                        .useNio(false)
                        .protocolsDiscoverServices(false)
                        .addConnectionSelector(connections)
                        .connectionOptions(
                                options ->
                                        options.tcpNoDelay(true)
                                                .putSocketOption(
                                                        ExtendedSocketOptions.TCP_KEEPIDLE, 30)
                                                .putSocketOption(
                                                        ExtendedSocketOptions.TCP_KEEPINTERVAL, 10)
                                                .putSocketOption(
                                                        ExtendedSocketOptions.TCP_KEEPCOUNT, 3))
                        .maxPayloadSize(config.bodyBytesMax() + BODY_CEILING_EXTRA)
                        .maxTcpConnections(config.connectionsMax())
                        .idleConnectionTimeout(config.keepAlive())
                        // The server looks every two minutes by itself, whatever the time-out.
                        .idleConnectionPeriod(config.keepAlive().dividedBy(5))
                        .directHandlers(protocolErrors())
                        .shutdownHook(false)
                        .shutdownGracePeriod(config.stopGrace())
                        .addRouting(
                                HttpRouting.builder().addFilter(this::closing).any(this::handle))
                        .build();
        this.watchdog =
                Thread.ofPlatform().daemon().name("web-watchdog").unstarted(connections::watch);
    }

    /**
     * Looks whether the address can be had, before anything else is started for it.
     *
     * @throws StartRefused it cannot; later somebody may still take it
     */
    public static void requireFree(WebConfig config) {
        InetSocketAddress address = new InetSocketAddress(config.host(), config.port());
        if (address.isUnresolved()) {
            throw new StartRefused(
                    "QUEEN_BIND_ADDR must be a name or an address of this machine, got \"%s\""
                            .formatted(config.host()));
        }
        try (ServerSocket probe = new ServerSocket()) {
            probe.bind(address);
        } catch (IOException e) {
            throw new StartRefused(
                    "cannot listen on %s:%d: %s; QUEEN_BIND_ADDR and PORT choose where"
                            .formatted(config.host(), config.port(), e.getMessage()),
                    e);
        }
    }

    /** Binds and serves; returns the port. */
    public int start() {
        if (config.connectionsMax() < CONNECTIONS_EXPECTED) {
            LOG.log(
                    System.Logger.Level.WARNING,
                    "the limit of open files leaves room for few connections connections={0}"
                            + " files={1} cure=\"ulimit -n\"",
                    Integer.toString(config.connectionsMax()),
                    Long.toString(WebConfig.filesMax()));
        }
        server.start();
        watchdog.start();
        return server.port();
    }

    /** Readiness goes red and connections close after their current answer. */
    public void drain() {
        draining = true;
        connections.hurry(HURRY);
    }

    /** Accepts no more, lets what is in flight finish and closes; the grace period bounds it. */
    public void stop() {
        server.stop();
        connections.stopWatching();
    }

    // The server itself leaves a connection open that either side has asked to close.
    private void closing(FilterChain chain, RoutingRequest request, RoutingResponse response) {
        response.beforeSend(
                () -> {
                    if (draining) {
                        response.header(HeaderValues.CONNECTION_CLOSE);
                    }
                });
        chain.proceed();
        if (response.headers().containsToken(HeaderValues.CONNECTION_CLOSE)
                || request.headers().containsToken(HeaderValues.CONNECTION_CLOSE)) {
            throw new CloseConnectionException("close");
        }
    }

    private void handle(ServerRequest request, ServerResponse response) {
        Header id = requestIds.of(request.headers());
        response.header(id);
        ScopedValue.where(LogContext.REQUEST_ID, id.get()).run(() -> serve(request, response));
    }

    private void serve(ServerRequest request, ServerResponse response) {
        ClientConnection connection = ClientConnection.CURRENT.get();
        connection.requestBegins();
        Admission.Share share = admission.new Share();
        Body body = new Body(request, config, connection, share);
        Router.Match match =
                router.find(
                        request.prologue().method().text(), request.prologue().uriPath().rawPath());
        Exchange exchange =
                new Exchange(
                        request,
                        response,
                        config,
                        match == null ? Map.of() : match.rawSegments(),
                        connection,
                        share,
                        body,
                        () -> draining);
        try {
            answer(request, match, exchange, body);
            if (!exchange.isAnswered()) {
                throw new CloseConnectionException("the handler found its client gone");
            }
            body.drain();
        } catch (ClientGone e) {
            gone.increment();
            throw new CloseConnectionException("client gone", e);
        } finally {
            share.release();
            connection.requestEnds();
        }
    }

    private void answer(
            ServerRequest request, Router.@Nullable Match match, Exchange exchange, Body body) {
        // Whoever is not let in is told so in the same words everywhere.
        Function<QueenException, JsonBuffer> form = Refusals::body;
        try {
            if (access.isEnforced()) {
                exchange.admit(access, match == null ? levelOf(request) : match.level());
            }
            if (match == null) {
                exchange.refuse(Status.NOT_FOUND_404.code(), NO_SUCH_ROUTE);
            } else {
                form = match.handler()::refusal;
                match.handler().handle(exchange);
            }
        } catch (QueenException e) {
            // What the database lacks is an operator's to mend, and in the log already.
            if (e.failure() == Failure.INTERNAL
                    && !QueenException.MISCONFIGURED.equals(e.reason())) {
                bug(e);
            }
            refuse(exchange, body, form, e);
        } catch (ClientGone e) {
            throw e;
        } catch (RuntimeException | Error e) {
            bug(e);
            refuse(exchange, body, form, new QueenException(Failure.INTERNAL, "internal error", e));
        }
    }

    /** What a path asks of its caller that leads nowhere. */
    private static Level levelOf(ServerRequest request) {
        String method = request.prologue().method().text();
        boolean reads = method.equals("GET") || method.equals("HEAD");
        return reads && FILES.matcher(request.prologue().uriPath().rawPath()).matches()
                ? Level.PUBLIC
                : UNKNOWN;
    }

    private static void refuse(
            Exchange exchange,
            Body body,
            Function<QueenException, JsonBuffer> form,
            QueenException refusal) {
        if (exchange.isAnswered()) {
            return;
        }
        if (body.spoils()) {
            exchange.closing();
        }
        exchange.refuse(refusal.failure(), form.apply(refusal));
    }

    private void bug(Throwable cause) {
        failed.increment();
        LOG.log(System.Logger.Level.ERROR, "A request met a bug", cause);
    }

    private DirectHandlers protocolErrors() {
        DirectHandlers.Builder handlers = DirectHandlers.builder();
        for (DirectHandler.EventType type : DirectHandler.EventType.values()) {
            handlers.addHandler(type, this::protocolError);
        }
        return handlers.build();
    }

    private static String unsaid(Status status) {
        return status.code() == Status.BAD_REQUEST_400.code()
                ? "Bad Request: the request line, a header or a percent escape is malformed"
                : status.reasonPhrase();
    }

    // The server takes some bytes that are no HTTP for a bug of its own, which it would log with a
    // stack trace each time. Where there is no request yet, nothing of ours has run.
    private DirectHandler.TransportResponse protocolError(
            DirectHandler.TransportRequest request,
            DirectHandler.EventType event,
            Status status,
            ServerResponseHeaders headers,
            @Nullable String message) {
        boolean ours = event == DirectHandler.EventType.INTERNAL_ERROR;
        Status answered = ours && request.path().isEmpty() ? Status.BAD_REQUEST_400 : status;
        // What an unexpected exception says is for the log, and protocol errors often say nothing.
        String error = ours || message == null || message.isEmpty() ? unsaid(answered) : message;
        if (answered.code() == Failure.BODY_TOO_LARGE.status()) {
            error = Body.tooLarge(config);
        }
        return DirectHandler.TransportResponse.builder()
                .status(answered)
                .headers(headers)
                .header(HeaderValues.CONTENT_TYPE_JSON)
                .header(Exchange.NO_SNIFFING)
                .header(requestIds.of(request.headers()))
                .entity(malformed(request, answered, error).getBytes(StandardCharsets.UTF_8))
                .build();
    }

    /** A path that does not decode is refused like any other bad input of the route it is of. */
    private String malformed(DirectHandler.TransportRequest request, Status status, String error) {
        String path = request.path().replaceFirst("\\?.*", "");
        Router.Match match =
                status.code() == Failure.BAD_REQUEST.status()
                        ? router.find(request.method(), path)
                        : null;
        JsonBuffer body =
                match == null
                        ? Refusals.body(error)
                        : match.handler().refusal(new QueenException(Failure.BAD_REQUEST, error));
        return body.toString();
    }
}
