package io.queenmq.web;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.model.Failure;
import io.queenmq.runtime.StartRefused;
import io.queenmq.testkit.Contract;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Answers and routing, seen from a bare socket. */
class ListenerTest {
    private static ListenerFixture fixture;

    @BeforeAll
    static void start() {
        fixture = new ListenerFixture();
    }

    @AfterAll
    static void stop() {
        fixture.close();
    }

    @Test
    @Contract("http-10")
    void nothingIsSentWithoutBodyAndWithoutLength() throws IOException {
        try (RawClient client = fixture.connect()) {
            RawClient.Reply reply = client.get("/empty");
            assertEquals(204, reply.status());
            assertFalse(reply.headers().containsKey("content-length"), reply.head());
            assertFalse(reply.headers().containsKey("transfer-encoding"), reply.head());
            assertEquals("\"pong\"", client.get("/ping").body(), "the connection goes on");
        }
    }

    @Test
    @Contract("http-12")
    void unknownRoutesAreNotFoundWhateverTheMethod() throws IOException {
        try (RawClient client = fixture.connect()) {
            for (String method : new String[] {"GET", "POST", "DELETE", "OPTIONS", "PUT"}) {
                RawClient.Reply reply = client.request(method, "/api/v1/nothing").read();
                assertEquals(404, reply.status());
                assertEquals("{\"error\":\"Not Found\",\"code\":\"no_such_route\"}", reply.body());
                assertEquals("application/json", reply.headers().get("content-type"));
            }
            assertEquals(404, client.request("POST", "/ping").read().status());
            assertEquals(404, client.request("OPTIONS", "/ping").read().status());
            assertEquals(404, client.get("/ping/").status());
            assertEquals(404, client.get("//ping").status());
            assertEquals(404, client.get("/x/../ping").status());
        }
    }

    @Test
    @Contract("http-16")
    void anUnusedBodyIsReadAndTheConnectionGoesOn() throws IOException {
        try (RawClient client = fixture.connect()) {
            assertEquals(404, client.post("/nothing", "x".repeat(100_000)).status());
            assertEquals("\"pong\"", client.get("/ping").body());
        }
    }

    @Test
    @Contract("http-13")
    void headAnswersWithTheHeadOfAGet() throws IOException {
        try (RawClient client = fixture.connect()) {
            RawClient.Reply reply = client.request("HEAD", "/ping").readHead();
            assertEquals(200, reply.status());
            assertEquals("6", reply.headers().get("content-length"));
            assertEquals("\"pong\"", client.get("/ping").body(), "no body was sent before");
        }
    }

    @Test
    @Contract("http-13")
    void headOfARouteThatChangesSomethingIsNotFound() throws IOException {
        try (RawClient client = fixture.connect()) {
            assertEquals(404, client.request("HEAD", "/empty").readHead().status());
            assertEquals("\"pong\"", client.get("/ping").body());
        }
    }

    @ParameterizedTest
    @CsvSource({
        "a/b, a, b",
        "a%2Fb/c, a/b, c",
        "a%252Fb/c, a%2Fb, c",
        "a+b/c%2Bd, a+b, c+d",
        "%2e%2e/%2E, .., .",
        "a;x=y/b, a;x=y, b",
        "%F0%9F%91%91/%C3%A9, 👑, é",
        "%22%27/%7B%7C%7D, \"'\", {|}"
    })
    @Contract("http-3")
    void segmentsAreDecodedExactlyOnce(String path, String a, String b) throws IOException {
        String wanted = a.equals("\"'\"") ? "\"'" : a;
        try (RawClient client = fixture.connect()) {
            assertEquals(
                    new JsonBuffer(0)
                            .raw('[')
                            .string(wanted)
                            .raw(',')
                            .string(b)
                            .raw(']')
                            .toString(),
                    client.get("/names/" + path).body());
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "http://host/ping",
                "HTTP://host:6632/ping",
                "https://user@[::1]:80/ping?x=/names",
                "http://host/ping?"
            })
    @Contract("http-14")
    void anAbsoluteTargetIsItsPath(String target) throws IOException {
        try (RawClient client = fixture.connect()) {
            assertEquals("\"pong\"", client.get(target).body());
        }
    }

    @Test
    @Contract("http-14")
    void anAbsoluteTargetIsReadLikeAPath() throws IOException {
        try (RawClient client = fixture.connect()) {
            assertEquals("[\"a/b\",\"c\"]", client.get("http://host/names/a%2Fb/c").body());
            assertEquals("[-3,false,30000,null]", client.get("http://host/query?batch=-3").body());
            for (String target :
                    List.of(
                            "http://host",
                            "http://host/",
                            "ftp://host/ping",
                            "ping",
                            "http:/ping")) {
                assertEquals(404, client.get(target).status(), target);
            }
        }
    }

    @Test
    void aNulInASegmentReachesTheHandlerAsOne() throws IOException {
        try (RawClient client = fixture.connect()) {
            assertEquals("[\"a\\u0000\",\"b\"]", client.get("/names/a%00/b").body());
        }
    }

    @Test
    @Contract("limit-1")
    void namesOfAThousandEscapedBytesFitARequestLine() throws IOException {
        String name = "%C3%A9".repeat(512);
        try (RawClient client = fixture.connect()) {
            RawClient.Reply reply = client.get("/names/" + name + "/" + name + "?group=" + name);
            assertEquals(200, reply.status());
            assertEquals("[\"" + "é".repeat(512) + "\",\"" + "é".repeat(512) + "\"]", reply.body());
        }
    }

    @Test
    @Contract("http-3")
    void segmentsThatAreNoUtf8AreRefused() throws IOException {
        try (RawClient client = fixture.connect()) {
            RawClient.Reply reply = client.get("/names/%C3/b");
            assertEquals(400, reply.status());
            assertEquals("{\"error\":\"a is not percent-encoded UTF-8, got %C3\"}", reply.body());
        }
    }

    @Test
    @Contract("http-14")
    void theOlderVersionOfHttpIsNotSpoken() throws IOException {
        try (RawClient client = fixture.connect()) {
            assertEquals(505, client.send("GET /ping HTTP/1.0\r\nHost: q\r\n\r\n").read().status());
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "GET /a|b HTTP/1.1\r\nHost: q\r\n\r\n",
                "GET /%zz HTTP/1.1\r\nHost: q\r\n\r\n",
                "nonsense\r\n\r\n",
                "G\0T /ping HTTP/1.1\r\nHost: q\r\n\r\n",
                "G(T /ping HTTP/1.1\r\nHost: q\r\n\r\n",
                "GET /ping HTTP/1.1\r\nHost: q\r\nX: \0\r\n\r\n",
                "GET /ping HTTP/1.1\r\n\r\n",
                "GET /ping HTTP/1.1\r\nHost: q\r\nHost: r\r\n\r\n",
                "GET /ping HTTP/1.1\r\nHost: q\r\nno colon\r\n\r\n",
                "POST /echo HTTP/1.1\r\nHost: q\r\nContent-Length: x\r\n\r\n",
                "GET /ping HTTP/1.0\r\nHost: q\r\n\r\n"
            })
    @Contract("http-11")
    void whatIsNoHttpGetsAJsonErrorAndAClose(String request) throws IOException {
        try (RawClient client = fixture.connect()) {
            RawClient.Reply reply = client.send(request).read();
            assertTrue(reply.status() == 400 || reply.status() == 505, reply.head());
            assertEquals("application/json", reply.headers().get("content-type"));
            assertTrue(reply.body().startsWith("{\"error\":\""), reply.body());
            assertTrue(client.isClosed());
        }
    }

    @Test
    @Contract("http-16")
    void pipelinedRequestsAreAnsweredInOrder() throws IOException {
        try (RawClient client = fixture.connect()) {
            client.request("GET", "/ping").request("GET", "/empty");
            client.request("POST", "/echo", "a".getBytes(StandardCharsets.UTF_8));
            assertEquals("\"pong\"", client.read().body());
            assertEquals(204, client.read().status());
            assertEquals("\"a\"", client.read().body());
        }
    }

    @Test
    @Contract("http-16")
    void theServerClosesWhenTheClientAsksForIt() throws IOException {
        try (RawClient client = fixture.connect()) {
            client.send("GET /ping HTTP/1.1\r\nHost: q\r\nConnection: close\r\n\r\n");
            assertEquals("\"pong\"", client.read().body());
            assertTrue(client.isClosed());
        }
    }

    @Test
    @Contract("http-16")
    void anIdleConnectionIsClosedWithoutAWordAndOneThatWaitsForItsAnswerIsNot() throws Exception {
        try (ListenerFixture hasty = new ListenerFixture(Duration.ofSeconds(1));
                RawClient waiting = hasty.connect();
                RawClient idle = hasty.connect()) {
            waiting.request("GET", "/park");
            hasty.awaitParked();
            assertEquals("\"pong\"", idle.get("/ping").body());
            assertEquals("\"pong\"", idle.get("/ping").body());
            assertTrue(idle.isClosed());
            hasty.answerOne();
            assertEquals(204, waiting.read().status());
        }
    }

    @ParameterizedTest
    @CsvSource({
        "batch=abc, batch",
        "batch=, batch",
        "batch=1.5, batch",
        "batch=2147483648, batch",
        "wait=1, wait",
        "wait=True, wait",
        "timeout=-5, timeout",
        "group=%C3, group",
        "batch=1&batch=2, batch"
    })
    @Contract("http-9")
    void badQueryParametersAreNamed(String query, String name) throws IOException {
        try (RawClient client = fixture.connect()) {
            RawClient.Reply reply = client.get("/query?" + query);
            assertEquals(400, reply.status());
            assertTrue(
                    reply.body().startsWith("{\"error\":\"invalid query parameter " + name + ": "),
                    reply.body());
        }
    }

    @Test
    @Contract({"http-2", "http-9"})
    void goodQueryParametersAreTypedAndUnknownOnesIgnored() throws IOException {
        try (RawClient client = fixture.connect()) {
            assertEquals("[200,false,30000,null]", client.get("/query").body());
            assertEquals(
                    "[-3,true,18,\"a b+c/ü\"]",
                    client.get(
                                    "/query?batch=-3&wait=true&timeout=18&group=a+b%2Bc%2F%C3%BC&x=%zy1"
                                            .replace("%zy1", "1"))
                            .body());
            assertEquals(
                    "[1,false,9223372036854775807,\"\"]",
                    client.get("/query?batch=1&timeout=18446744073709551615&group=").body());
        }
    }

    @Test
    @Contract("model-15")
    void theTenantHeaderIsAUuid() throws IOException {
        UUID tenant = UUID.randomUUID();
        try (RawClient client = fixture.connect()) {
            assertEquals("\"00000000-0000-0000-0000-000000000001\"", client.get("/tenant").body());
            client.send(
                    "GET /tenant HTTP/1.1\r\nHost: q\r\nx-queen-tenant: " + tenant + "\r\n\r\n");
            assertEquals("\"" + tenant + "\"", client.read().body());
            client.send("GET /tenant HTTP/1.1\r\nHost: q\r\nx-queen-tenant: 1-1-1-1-1\r\n\r\n");
            assertEquals(
                    "{\"error\":\"invalid x-queen-tenant header (must be a UUID)\"}",
                    client.read().body());
        }
    }

    @ParameterizedTest
    @EnumSource(Failure.class)
    @Contract({"http-11", "error-1"})
    void everyFailureHasItsStatusAndItsAdvice(Failure failure) throws IOException {
        try (RawClient client = fixture.connect()) {
            RawClient.Reply reply = client.get("/fail/" + failure);
            assertEquals(failure.status(), reply.status());
            boolean ours = failure == Failure.INTERNAL;
            assertEquals(
                    "{\"error\":\"" + (ours ? "internal error" : "a sentence") + "\"}",
                    reply.body());
            assertEquals(
                    failure.retry() != Failure.Retry.NEVER,
                    reply.headers().containsKey("retry-after"));
        }
    }

    @ParameterizedTest
    @EnumSource(Failure.class)
    @Contract("error-2")
    void whoMayComeAgainIsToldWhen(Failure failure) throws IOException {
        Set<String> told = new TreeSet<>();
        int times = failure.status() == 503 ? 100 : 1;
        try (RawClient client = fixture.connect()) {
            for (int i = 0; i < times; i++) {
                String seconds = client.get("/fail/" + failure).headers().get("retry-after");
                told.add(String.valueOf(seconds));
            }
        }
        boolean crowd = failure == Failure.OVERLOADED || failure == Failure.DATABASE_AWAY;
        assertEquals(
                failure.retry() == Failure.Retry.NEVER
                        ? Set.of("null")
                        : crowd ? Set.of("1", "2", "3") : Set.of("1"),
                told);
    }

    @Test
    @Contract("error-5")
    void aBugOfOursIsCountedAndNotShown() throws IOException {
        try (RawClient client = fixture.connect()) {
            RawClient.Reply reply = client.get("/boom");
            assertEquals(500, reply.status());
            assertEquals("{\"error\":\"internal error\"}", reply.body());
            assertEquals("\"pong\"", client.get("/ping").body(), "the connection goes on");
        }
        assertTrue(fixture.metrics.prometheus().contains("queen_web_internal_errors_total"));
    }

    @Test
    void aLargeAnswerArrivesWhole() throws IOException {
        try (RawClient client = fixture.connect()) {
            assertEquals(300_002, client.get("/large").body().length());
        }
    }

    @Test
    void anAddressThatCannotBeHadIsRefusedBeforehand() {
        WebConfig taken =
                WebConfig.of("127.0.0.1", fixture.port, 1 << 20, Duration.ofMinutes(1), false);
        assertEquals(
                "cannot listen on 127.0.0.1:%d: Address already in use; QUEEN_BIND_ADDR and PORT choose where"
                        .formatted(fixture.port),
                assertThrows(StartRefused.class, () -> Listener.requireFree(taken)).getMessage());
        WebConfig nobody = WebConfig.of("not a host", 0, 1 << 20, Duration.ofMinutes(1), false);
        assertEquals(
                "QUEEN_BIND_ADDR must be a name or an address of this machine, got \"not a host\"",
                assertThrows(StartRefused.class, () -> Listener.requireFree(nobody)).getMessage());
        Listener.requireFree(WebConfig.of("127.0.0.1", 0, 1 << 20, Duration.ofMinutes(1), false));
    }

    @Test
    void whoFindsNoRoomToConnectIsServedWhenSomebodyLeaves() throws IOException {
        try (ListenerFixture narrow = ListenerFixture.ofConnections(2)) {
            List<RawClient> crowd = new ArrayList<>();
            for (int i = 0; i < 10; i++) {
                crowd.add(narrow.connect().request("GET", "/ping"));
            }
            for (RawClient client : crowd) {
                assertEquals("\"pong\"", client.read().body());
                assertTrue(narrow.metrics.value("queen_web_connections") <= 2);
                client.close();
            }
        }
    }

    /** Without a file for the next connection the server ends for good, and the broker is deaf. */
    @ParameterizedTest
    @CsvSource({"-5, 16", "16, 16", "3000, 3000", "50000, 50000", "1048576, 50000"})
    void thereAreNeverMoreConnectionsThanFilesForThem(long files, int connections) {
        assertEquals(connections, WebConfig.connections(files));
    }

    @Test
    void theConnectionsOfTheDatabaseAreFilesToo() {
        long files = WebConfig.filesMax();
        WebConfig all = WebConfig.defaults();
        int others = (int) Math.min(1_000_000, files - 1_000);
        assertTrue(all.connectionsMax() < files, all.toString());
        assertEquals(
                WebConfig.connections(files - 256 - others), all.besides(others).connectionsMax());
    }
}
