package io.queenmq.web;

import io.helidon.http.Header;
import io.helidon.http.HeaderName;
import io.helidon.http.HeaderNames;
import io.helidon.http.HeaderValues;
import io.helidon.http.Status;
import io.helidon.webserver.http.ServerRequest;
import io.helidon.webserver.http.ServerResponse;
import io.queenmq.access.Access;
import io.queenmq.access.Level;
import io.queenmq.model.Caller;
import io.queenmq.model.Failure;
import io.queenmq.model.QueenException;
import io.queenmq.model.Uuids;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/** One request and its answer, as handlers see them. Used by the thread of the request only. */
public final class Exchange {
    private static final HeaderName TENANT = HeaderNames.create("x-queen-tenant");

    /** A payload that looks like a page is none. */
    static final Header NO_SNIFFING =
            HeaderValues.createCached("X-Content-Type-Options", "nosniff");

    private static final Header CONTENT_POLICY =
            HeaderValues.createCached(
                    "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'");

    private static final Header CHALLENGE = HeaderValues.createCached("WWW-Authenticate", "Bearer");
    private static final Header NOT_STORED = HeaderValues.createCached("Cache-Control", "no-store");
    private static final Status CREATED = Status.CREATED_201;

    private final ServerRequest request;
    private final ServerResponse response;
    private final WebConfig config;
    private final Map<String, String> rawSegments;
    private final ClientConnection connection;
    private final Admission.Share share;
    private final Body body;
    private final BooleanSupplier draining;
    private @Nullable Query query;
    private @Nullable String subject;

    /** What a call of many steps has done; negative = it is of one step. */
    private long done = -1;

    Exchange(
            ServerRequest request,
            ServerResponse response,
            WebConfig config,
            Map<String, String> rawSegments,
            ClientConnection connection,
            Admission.Share share,
            Body body,
            BooleanSupplier draining) {
        this.request = request;
        this.response = response;
        this.config = config;
        this.rawSegments = rawSegments;
        this.connection = connection;
        this.share = share;
        this.body = body;
        this.draining = draining;
    }

    /** A segment of the path that the route's pattern names, decoded once. */
    public String segment(String name) {
        String raw = rawSegments.get(name);
        if (raw == null) {
            throw new IllegalArgumentException("the route has no segment " + name);
        }
        String decoded = Percent.decode(raw, false);
        if (decoded == null) {
            throw new QueenException(
                    Failure.BAD_REQUEST, name + " is not percent-encoded UTF-8, got " + raw);
        }
        return decoded;
    }

    /** Whether the path is followed by a query, be it empty. */
    public boolean hasQuery() {
        return request.prologue().query().rawValue().length() > 0;
    }

    /** Names the state that the answer shows. */
    public void entityTag(long version) {
        response.header(HeaderNames.ETAG, '"' + Long.toString(version) + '"');
    }

    /** Says something in a header of our own, whatever the answer will be. */
    public void hint(String name, String text) {
        response.header(HeaderNames.create(name), text);
    }

    public Query query() {
        Query parsed = query;
        if (parsed == null) {
            parsed = new Query(request.prologue().query().rawValue());
            query = parsed;
        }
        return parsed;
    }

    /** Who asks. */
    public Caller caller() {
        return new Caller(tenant(), subject);
    }

    /** Lets the request in; from then on the caller has a name, if the token gives one. */
    void admit(Access access, Level level) {
        if (level != Level.PUBLIC) {
            response.header(NOT_STORED);
        }
        subject =
                access.admit(level, request.prologue().uriPath().rawPath(), authorization())
                        .subject();
    }

    /** So much of what a call does step by step has taken effect, whatever becomes of the rest. */
    public void done(long count) {
        done = count;
    }

    /** Leaves a line of what was done, unless it was refused. */
    void tellOperators(String method) {
        if (response.status().family() == Status.Family.SUCCESSFUL) {
            ManagementLog.tell(method, request.prologue().uriPath().rawPath(), caller(), done);
        }
    }

    /** Leaves a line of a call that failed half way, for what it did stays done. */
    void tellOperatorsOfPart(String method) {
        if (done > 0) {
            ManagementLog.tellOfPart(
                    method, request.prologue().uriPath().rawPath(), caller(), done);
        }
    }

    /** What the headers of that name say, one behind the other; empty = there is none. */
    public String authorization() {
        return String.join(", ", request.headers().all(HeaderNames.AUTHORIZATION, List::of));
    }

    /** Whether there may be other tenants than the caller's. */
    public boolean hasTenants() {
        return config.tenancy();
    }

    private UUID tenant() {
        if (!config.tenancy()) {
            return Caller.DEFAULT_TENANT;
        }
        String header = request.headers().first(TENANT).orElse("").strip();
        if (header.isEmpty()) {
            return Caller.DEFAULT_TENANT;
        }
        UUID tenant = Uuids.parse(header);
        if (tenant == null) {
            throw new QueenException(
                    Failure.BAD_REQUEST, "invalid x-queen-tenant header (must be a UUID)");
        }
        return tenant;
    }

    /** The whole body, under the bounds of the server; nobody writes to the array afterwards. */
    public byte[] body() {
        return body.read();
    }

    public Connection connection() {
        return connection;
    }

    /** Whether the server is about to stop. */
    public boolean draining() {
        return draining.getAsBoolean();
    }

    /** Waits for room to hold this many bytes of an answer. */
    public void expectAnswer(long bytes) {
        share.bytes(bytes);
    }

    public void ok(JsonBuffer json) {
        send(Status.OK_200, json);
    }

    public void created(JsonBuffer json) {
        send(CREATED, json);
    }

    /** Answers with a text that is another one the next time. */
    public void text(String contentType, String text) {
        response.status(Status.OK_200)
                .header(HeaderNames.CONTENT_TYPE, contentType)
                .header(HeaderNames.CACHE_CONTROL, "no-cache");
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        send(bytes, bytes.length);
    }

    /** Answers with a page for people that loads nothing and runs nothing. */
    public void page(String html) {
        response.header(CONTENT_POLICY);
        text("text/html; charset=utf-8", html);
    }

    /** Sends the client to another path of this broker, to look there. */
    public void seeOther(String path) {
        response.status(Status.SEE_OTHER_303).header(HeaderNames.LOCATION, path);
        send(new byte[0], 0);
    }

    /** Answers with an error that has a shape of its own. */
    public void refuse(int status, JsonBuffer json) {
        send(Status.create(status), json);
    }

    /** The same for a refusal of the catalogue, with when to come again if that helps. */
    public void refuse(Failure failure, JsonBuffer json) {
        int seconds = Refusals.retryAfterSeconds(failure);
        if (seconds > 0) {
            response.header(HeaderNames.RETRY_AFTER, Integer.toString(seconds));
        }
        if (failure == Failure.UNAUTHENTICATED) {
            response.header(CHALLENGE);
        }
        refuse(failure.status(), json);
    }

    /** Answers with nothing: 204 without a body and, as its definition asks, without a length. */
    public void nothing() {
        response.status(Status.NO_CONTENT_204).header(NO_SNIFFING).header(NoContentLength.HEADER);
        write(0, response::send);
    }

    /** The connection closes after this answer. */
    void closing() {
        response.header(HeaderValues.CONNECTION_CLOSE);
    }

    boolean isAnswered() {
        return response.isSent();
    }

    private void send(Status status, JsonBuffer json) {
        response.status(status).header(HeaderValues.CONTENT_TYPE_JSON);
        send(json.array(), json.length());
    }

    private void send(byte[] bytes, int length) {
        response.header(NO_SNIFFING);
        if (request.prologue().method().text().equals("HEAD")) {
            response.headers().contentLength(length);
            write(0, response::send);
        } else {
            write(length, () -> response.send(bytes, 0, length));
        }
    }

    // A client that does not read must not hold the answer and this thread for ever.
    private void write(int bytes, Runnable sending) {
        connection.within(config.sendTime().plus(Duration.ofSeconds(bytes >> 20)));
        try {
            sending.run();
        } catch (RuntimeException e) {
            throw new ClientGone("the answer could not be written", e);
        } finally {
            connection.onTime();
        }
    }
}
