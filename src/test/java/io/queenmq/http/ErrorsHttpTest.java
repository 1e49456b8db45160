package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import io.queenmq.web.RawClient;
import java.io.IOException;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What probes and lost clients get. */
class ErrorsHttpTest {
    private static TestBroker broker;
    private static Http http;

    @BeforeAll
    static void start() {
        broker = TestBroker.start();
        http = broker.http();
    }

    @AfterAll
    static void stop() {
        broker.close();
    }

    @ParameterizedTest
    @CsvSource({
        "POST, /",
        "GET, //",
        "GET, /nothing",
        "GET, /api/v1/push",
        "GET, /api/v1/nothing",
        "POST, /api/v1/pop/queue/q",
        "POST, /api/v1/push/",
        "PUT, /api/v1/push",
        "DELETE, /api/v1/resources/queues",
        "OPTIONS, /api/v1/push",
        "GET, /api/v1/pop/queue/",
        "GET, /api/v1/pop/queue/q/partition/"
    })
    @Contract("http-12")
    void anUnknownRouteIsNotFound(String method, String path) throws IOException {
        try (RawClient client = new RawClient(broker.port())) {
            RawClient.Reply reply = client.request(method, path).read();
            assertEquals(404, reply.status());
            assertEquals("{\"error\":\"Not Found\",\"code\":\"no_such_route\"}", reply.body());
        }
    }

    @Test
    @Contract("http-18")
    void healthTellsOfTheDatabase() {
        Http.Reply reply = http.get("/health");
        assertEquals(200, reply.status());
        Json json = reply.json();
        assertEquals(List.of("status", "database", "engine", "version"), json.names());
        assertEquals("healthy", json.text("status"));
        assertEquals("connected", json.text("database"));
    }

    /** Whoever balances looks elsewhere, whoever restarts does not. */
    @Test
    @Contract("http-18")
    void readinessNamesWhatIsOverdue() {
        AtomicInteger late = new AtomicInteger();
        broker.meters()
                .gauge("queen_runtime_overdue", "On purpose.", late::get, "work", "a \"loop\"");
        assertEquals(200, http.get("/health").status());
        late.set(1);
        try {
            Http.Reply reply = http.get("/health");
            assertEquals(503, reply.status());
            assertEquals("unhealthy", reply.json().text("status"));
            assertEquals("connected", reply.json().text("database"));
            assertEquals("a \"loop\"", reply.json().text("overdue", 0));
            assertEquals(200, http.get("/livez").status());
        } finally {
            late.set(0);
        }
        assertEquals(200, http.get("/health").status());
    }

    @Test
    @Contract("http-18")
    void theProcessAnswersForItself() {
        assertEquals("{\"status\":\"ok\"}", http.get("/livez").body());
        assertEquals("{\"status\":\"ok\"}", http.get("/health/live").body());
        assertEquals(http.get("/health").body(), http.get("/health/ready").body());
        assertEquals("ok", http.get("/status").json().text("status"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"/health", "/livez", "/status"})
    @Contract("http-13")
    void probesMayAskWithHead(String path) throws IOException {
        try (RawClient client = new RawClient(broker.port())) {
            assertEquals(200, client.request("HEAD", path).readHead().status());
            assertEquals(200, client.get("/livez").status());
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"/api/v1/push", "/api/v1/ack", "/api/v1/ack/batch", "/api/v1/configure"})
    @Contract({"http-1", "http-5", "http-11"})
    void aBodyThatIsNoJsonIsRefused(String path) {
        for (String body : List.of("", "{", "[]", "{\"a\":01}", "\"x\"", "{} {}")) {
            Http.Reply reply = http.post(path, body);
            assertEquals(400, reply.status(), body);
            assertEquals(List.of("error"), reply.json().names());
            assertTrue(reply.json().text("error").startsWith("bad body: "), reply.body());
        }
    }

    @Test
    @Contract("http-1")
    void theContentTypeOfARequestIsNotLookedAt() throws IOException {
        try (RawClient client = new RawClient(broker.port())) {
            client.send(
                    "POST /api/v1/push HTTP/1.1\r\nHost: q\r\nContent-Type: text/csv\r\n"
                            + "Content-Length: 12\r\n\r\n{\"items\":[]}");
            assertEquals(201, client.read().status());
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/api/v1/pop/queue/q",
                "/api/v1/pop/queue/q/partition/p",
                "/api/v1/pop?namespace=n",
                "/api/v1/push"
            })
    @Contract({"http-12", "http-13"})
    void aHeadOfWhatTakesIsNoRoute(String path) throws IOException {
        http.push("q", "p", "1");
        try (RawClient client = new RawClient(broker.port())) {
            RawClient.Reply reply = client.request("HEAD", path).readHead();
            assertEquals(404, reply.status());
            assertEquals("application/json", reply.headers().get("content-type"));
            assertEquals(200, client.get("/livez").status(), "no body was sent before");
        }
        assertEquals(List.of("1"), http.pop("q", "autoAck=true").payloads());
    }

    @Test
    @Contract("http-14")
    void anAbsoluteTargetReachesEveryRoute() throws IOException {
        try (RawClient client = new RawClient(broker.port())) {
            assertEquals(200, client.get("http://anywhere/health").status());
            assertEquals(
                    201, client.post("http://anywhere:80/api/v1/push", "{\"items\":[]}").status());
            assertEquals(
                    204, client.get("http://anywhere/api/v1/pop/queue/absolute?batch=1").status());
        }
    }

    @Test
    @Contract({"http-2", "ack-1"})
    void whatNoRouteKnowsIsIgnoredEverywhere() {
        http.push("ignored", "p", "1");
        Json popped = http.pop("ignored", "x=1&x=2&y=%FF&autopilot=true&=&").json();
        assertEquals(List.of("1"), popped.each("messages", "data"));
        String ack =
                "{\"x\":{\"status\":\"failed\"},\"transactionId\":\"%s\",\"partitionId\":\"%s\"}"
                        .formatted(
                                popped.text("messages", 0, "transactionId"),
                                popped.text("partitionId"));
        String batch =
                "{\"x\":[1],\"acknowledgments\":["
                        + ack
                        + "],\"consumerGroup\":\"__QUEUE_MODE__\"}";
        assertEquals("true", http.post("/api/v1/ack?x=y", ack).json().text(0, "success"));
        assertEquals("true", http.post("/api/v1/ack/batch", batch).json().text(0, "noop"));
    }
}
