package io.queenmq.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Bodies that are too long, too slow, too many or malformed. */
class BodyTest {
    private static final int MAX = ListenerFixture.BODY_MAX;
    private static final String TOO_LARGE =
            "{\"error\":\"request body exceeds " + MAX + " bytes\"}";
    private static final byte[] OVER = new byte[MAX + 1];
    private static ListenerFixture fixture;

    @BeforeAll
    static void start() {
        fixture = new ListenerFixture();
    }

    @AfterAll
    static void stop() {
        fixture.close();
    }

    private static String head(String... headers) {
        StringBuilder head = new StringBuilder("POST /echo HTTP/1.1\r\nHost: q\r\n");
        for (String header : headers) {
            head.append(header).append("\r\n");
        }
        return head.append("\r\n").toString();
    }

    @Test
    @Contract("http-8")
    void aBodyOfExactlyTheLimitIsRead() throws IOException {
        String body = "x".repeat(MAX);
        try (RawClient client = fixture.connect()) {
            assertEquals(MAX + 2, client.post("/echo", body).body().length());
            client.send(head("Transfer-Encoding: chunked"));
            for (int sent = 0; sent < MAX; sent += 4_096) {
                client.send("1000\r\n" + "x".repeat(4_096) + "\r\n");
            }
            assertEquals(MAX + 2, client.send("0\r\n\r\n").read().body().length());
            assertEquals("\"pong\"", client.get("/ping").body(), "the connection goes on");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {MAX + 1, 12 * MAX})
    @Contract("http-7")
    void aClientThatWritesFirstReadsTheRefusalOfALongBody(int length) throws IOException {
        try (RawClient client = fixture.connect()) {
            RawClient.Reply reply = client.request("POST", "/echo", new byte[length]).read();
            assertEquals(413, reply.status());
            assertEquals(TOO_LARGE, reply.body());
            assertTrue(client.isClosed());
        }
    }

    @Test
    @Contract("http-7")
    void aLongChunkedBodyIsRefusedAndNotTakenForTheNextRequest() throws IOException {
        try (RawClient client = fixture.connect()) {
            client.send(head("Transfer-Encoding: chunked"));
            client.send(Integer.toHexString(OVER.length) + "\r\n").send(OVER).send("\r\n0\r\n\r\n");
            client.send("GET /ping HTTP/1.1\r\nHost: q\r\n\r\n");
            RawClient.Reply reply = client.read();
            assertEquals(413, reply.status());
            assertEquals(TOO_LARGE, reply.body());
            assertTrue(client.isClosed(), "nothing behind the refused body is answered");
        }
    }

    @Test
    @Contract("http-7")
    void aClientThatAsksFirstIsRefusedWithoutSending() throws IOException {
        try (RawClient client = fixture.connect()) {
            client.send(head("Content-Length: " + OVER.length, "Expect: 100-continue"));
            RawClient.Reply reply = client.read();
            assertEquals(413, reply.status());
            assertEquals(TOO_LARGE, reply.body());
            assertTrue(client.isClosed());
        }
    }

    @Test
    @Contract("http-8")
    void aClientThatAsksFirstIsToldToGoOn() throws IOException {
        try (RawClient client = fixture.connect()) {
            client.send(head("Content-Length: 2", "Expect: 100-continue"));
            assertEquals(100, client.read().status());
            assertEquals("\"ab\"", client.send("ab").read().body());
            assertEquals("\"pong\"", client.get("/ping").body());
        }
    }

    @Test
    @Contract("http-7")
    void theClientOfTheJdkReadsTheRefusal() throws Exception {
        try (HttpClient client =
                HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build()) {
            URI uri = URI.create("http://127.0.0.1:" + fixture.port + "/echo");
            HttpResponse<String> reply =
                    client.send(
                            HttpRequest.newBuilder(uri)
                                    .POST(HttpRequest.BodyPublishers.ofByteArray(new byte[4 * MAX]))
                                    .build(),
                            HttpResponse.BodyHandlers.ofString());
            assertEquals(413, reply.statusCode());
            assertEquals(TOO_LARGE, reply.body());
        }
    }

    /** Beyond its own ceiling the server answers before any handler is asked. */
    @Test
    @Contract("http-7")
    void aLengthBeyondEveryCeilingNamesTheLimitToo() throws IOException {
        try (RawClient client = fixture.connect()) {
            RawClient.Reply reply = client.send(head("Content-Length: 99999999999")).read();
            assertEquals(413, reply.status());
            assertEquals(TOO_LARGE, reply.body());
            assertEquals("application/json", reply.headers().get("content-type"));
            assertTrue(client.isClosed());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"zz\r\nab\r\n0\r\n\r\n", "-3\r\nab\r\n0\r\n\r\n", "2\r\nabcd\r\n"})
    @Contract("http-17")
    void aBadChunkIsAnsweredAndCloses(String chunks) throws IOException {
        try (RawClient client = fixture.connect()) {
            client.send(head("Transfer-Encoding: chunked")).send(chunks);
            RawClient.Reply reply = client.read();
            assertEquals(400, reply.status());
            assertTrue(reply.body().startsWith("{\"error\":\"bad body: "), reply.body());
            assertTrue(client.isClosed());
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "POST /echo HTTP/1.1\r\nHost: q\r\nContent-Length: 10\r\n\r\nhalf",
                "POST /echo HTTP/1.1\r\nHost: q\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
                "POST /nothing HTTP/1.1\r\nHost: q\r\nContent-Length: 10\r\n\r\nhalf",
                "GET /ping HTTP/1.1\r\nHost: q\r\nhalf",
                "GET /pi"
            })
    @Contract("http-8")
    void aRequestSentByHalvesIsClosedAtTheDeadline(String half) throws IOException {
        try (ListenerFixture hasty =
                        new ListenerFixture(
                                Duration.ofMillis(200), Duration.ofSeconds(5), 64, 16L * MAX);
                RawClient client = hasty.connect()) {
            client.send("GET /ping HTTP/1.1\r\nHost: q\r\n\r\n");
            assertEquals("\"pong\"", client.read().body());
            client.send(half);
            if (half.contains("/nothing")) {
                assertEquals(404, client.read().status());
            }
            assertTrue(client.isClosed());
        }
    }

    @Test
    @Contract("error-8")
    void whoFindsNoRoomForItsBodyWaitsAndIsRefused() throws Exception {
        try (ListenerFixture small =
                        new ListenerFixture(
                                Duration.ofSeconds(30), Duration.ofMillis(50), 1, 16L * MAX);
                RawClient first = small.connect();
                RawClient second = small.connect()) {
            first.request("POST", "/hold", "abc".getBytes(StandardCharsets.UTF_8));
            small.awaitParked();
            RawClient.Reply reply = second.post("/echo", "x");
            assertEquals(503, reply.status());
            assertTrue(reply.headers().containsKey("retry-after"), reply.head());
            small.answerOne();
            assertEquals("3", first.read().body());
            try (RawClient third = small.connect()) {
                assertEquals("\"x\"", third.post("/echo", "x").body());
            }
        }
    }

    @Test
    @Contract("error-8")
    void whoFindsRoomLaterIsServed() throws Exception {
        try (ListenerFixture small =
                        new ListenerFixture(
                                Duration.ofSeconds(30), Duration.ofSeconds(10), 64, MAX);
                RawClient first = small.connect();
                RawClient second = small.connect()) {
            first.request("POST", "/hold", new byte[MAX - 1]);
            small.awaitParked();
            second.request("POST", "/echo", "x".repeat(4_000).getBytes(StandardCharsets.UTF_8));
            small.answerOne();
            assertEquals(200, first.read().status());
            assertEquals(201, second.read().status());
        }
    }

    /** Half-sent requests, of which each announces as much as there is room for in all. */
    @ParameterizedTest
    @ValueSource(strings = {"Content-Length: " + MAX, "Transfer-Encoding: chunked"})
    @Contract("error-8")
    void whoSendsSlowlyKeepsNobodyOut(String framing) throws Exception {
        try (ListenerFixture small =
                        new ListenerFixture(Duration.ofSeconds(30), Duration.ofMillis(50), 1, MAX);
                RawClient other = small.connect()) {
            List<RawClient> slow = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                slow.add(small.connect().send(head(framing)).send("1\r\n"));
            }
            Await.until(
                    "their bodies to be read",
                    () -> small.metrics.value("queen_web_bytes_inflight") > 8 * (16 << 10));
            for (int i = 0; i < 20; i++) {
                assertEquals("\"x\"", other.post("/echo", "x").body());
            }
            for (RawClient client : slow) {
                client.close();
            }
        }
    }
}
