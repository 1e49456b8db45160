package io.queenmq.testkit;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.URLEncoder;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** A client of a broker, with the calls that most tests make. */
public final class Http implements AutoCloseable {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final HttpClient client;
    private final String base;
    private final String tenant;
    private final String authorization;

    public Http(int port) {
        this(
                HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build(),
                "http://127.0.0.1:" + port,
                "",
                "");
    }

    private Http(HttpClient client, String base, String tenant, String authorization) {
        this.client = client;
        this.base = base;
        this.tenant = tenant;
        this.authorization = authorization;
    }

    /** The same client, speaking for a tenant; not to be closed. */
    public Http as(String newTenant) {
        return new Http(client, base, newTenant, authorization);
    }

    /** The same client with a header {@code Authorization}; not to be closed. */
    public Http authorized(String newAuthorization) {
        return new Http(client, base, tenant, newAuthorization);
    }

    /** An answer as text, and as JSON where it is some. */
    public record Reply(int status, String body, HttpResponse<String> response) {
        public Json json() {
            return Json.parse(body);
        }

        /** The payloads of a pop, in their order. */
        public List<String> payloads() {
            return json().each("messages", "data");
        }
    }

    public Reply get(String path) {
        return send(request(path).GET());
    }

    public Reply post(String path, String body) {
        return post(path, body.getBytes(StandardCharsets.UTF_8));
    }

    public Reply post(String path, byte[] body) {
        return send(request(path).POST(HttpRequest.BodyPublishers.ofByteArray(body)));
    }

    /** A request of any method; an empty body is none. */
    public Reply call(String method, String path, String body) {
        HttpRequest.BodyPublisher publisher =
                body.isEmpty()
                        ? HttpRequest.BodyPublishers.noBody()
                        : HttpRequest.BodyPublishers.ofString(body);
        return send(request(path).method(method, publisher));
    }

    public Reply put(String path, String body) {
        return send(request(path).PUT(HttpRequest.BodyPublishers.ofString(body)));
    }

    public Reply delete(String path) {
        return send(request(path).DELETE());
    }

    public Reply delete(String path, String body) {
        return send(request(path).method("DELETE", HttpRequest.BodyPublishers.ofString(body)));
    }

    /** Sends a GET and does not wait for its answer. */
    public CompletableFuture<Reply> getLater(String path) {
        return sendLater(request(path).GET());
    }

    /** Sends a POST and does not wait for its answer. */
    public CompletableFuture<Reply> postLater(String path, String body) {
        return sendLater(request(path).POST(HttpRequest.BodyPublishers.ofString(body)));
    }

    private CompletableFuture<Reply> sendLater(HttpRequest.Builder request) {
        return client.sendAsync(request.build(), HttpResponse.BodyHandlers.ofString())
                .thenApply(Http::reply);
    }

    private HttpRequest.Builder request(String path) {
        HttpRequest.Builder request =
                HttpRequest.newBuilder(URI.create(base + path)).timeout(PATIENCE);
        if (!authorization.isEmpty()) {
            request.header("Authorization", authorization);
        }
        return tenant.isEmpty() ? request : request.header("x-queen-tenant", tenant);
    }

    private Reply send(HttpRequest.Builder request) {
        try {
            return reply(client.send(request.build(), HttpResponse.BodyHandlers.ofString()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new AssertionError(e);
        }
    }

    private static Reply reply(HttpResponse<String> response) {
        return new Reply(response.statusCode(), response.body(), response);
    }

    /** A name as a segment of a path or a value of a query. */
    public static String encode(String name) {
        return URLEncoder.encode(name, StandardCharsets.UTF_8).replace("+", "%20");
    }

    /** Pushes payloads to one lane; each must be queued. */
    public void push(String queue, String partition, String... payloads) {
        List<String> items = new ArrayList<>();
        for (String payload : payloads) {
            items.add(item(queue, partition, null, payload));
        }
        Reply reply = pushItems(items);
        for (int i = 0; i < payloads.length; i++) {
            if (!reply.json().text(i, "status").equals("queued")) {
                throw new AssertionError(reply.body());
            }
        }
    }

    /** Pushes items as {@link #item} makes them; the answer must be 201. */
    public Reply pushItems(List<String> items) {
        Reply reply = post("/api/v1/push", "{\"items\":[" + String.join(",", items) + "]}");
        if (reply.status() != 201) {
            throw new AssertionError(reply.status() + " " + reply.body());
        }
        return reply;
    }

    /** An item of a push; names must need no escape. */
    public static String item(
            String queue, String partition, @Nullable String transactionId, String payload) {
        return "{\"queue\":\""
                + queue
                + "\",\"partition\":\""
                + partition
                + "\""
                + (transactionId == null ? "" : ",\"transactionId\":\"" + transactionId + "\"")
                + ",\"payload\":"
                + payload
                + "}";
    }

    /** Pops from a queue; {@code query} without its question mark. */
    public Reply pop(String queue, String query) {
        return get("/api/v1/pop/queue/" + encode(queue) + (query.isEmpty() ? "" : "?" + query));
    }

    /** Acknowledges one message of a pop's answer. */
    public Json ack(Json popped, int index, String status) {
        return Json.parse(post("/api/v1/ack", acknowledgment(popped, index, status, true)).body());
    }

    /** Acknowledges these messages of a pop's answer in one batch. */
    public Json ackBatch(Json popped, String status, int... indexes) {
        List<String> items = new ArrayList<>();
        for (int index : indexes) {
            items.add(acknowledgment(popped, index, status, false));
        }
        return Json.parse(
                post(
                                "/api/v1/ack/batch",
                                "{\"consumerGroup\":\""
                                        + popped.text("consumerGroup")
                                        + "\",\"acknowledgments\":["
                                        + String.join(",", items)
                                        + "]}")
                        .body());
    }

    private static String acknowledgment(Json popped, int index, String status, boolean group) {
        Json message = popped.at("messages", index);
        return "{\"transactionId\":\""
                + message.text("transactionId")
                + "\",\"partitionId\":\""
                + message.text("partitionId")
                + "\",\"leaseId\":\""
                + message.text("leaseId")
                + "\""
                + (group ? ",\"consumerGroup\":\"" + message.text("consumerGroup") + "\"" : "")
                + ",\"status\":\""
                + status
                + "\",\"error\":\"because\"}";
    }

    @Override
    public void close() {
        client.close();
    }
}
