package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.LogCapture;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import io.queenmq.testkit.TokenKey;
import io.queenmq.web.RawClient;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What a request leaves behind: a name in its answer and in the log, and nothing that it holds. */
class LogHttpTest {
    private static final String SECRET = "the secret of a broker that asks for tokens";
    private static final TokenKey KEY = TokenKey.secret(SECRET);

    /** Stands in everything that is nobody's business. */
    private static final String MARKER = "xMARKERx";

    private static TestDatabase database;
    private static TestBroker broker;
    private static Http http;

    @BeforeAll
    static void start() {
        database = TestDatabase.migrated();
        broker =
                TestBroker.withEnvironment(
                        database, Map.of("JWT_ENABLED", "true", "JWT_SECRET", SECRET));
        http = broker.http().authorized(token());
    }

    @AfterAll
    static void stop() {
        broker.close();
        database.close();
    }

    private static String token() {
        return "Bearer " + KEY.token("HS256", "{\"role\":\"admin\",\"note\":\"" + MARKER + "\"}");
    }

    private static RawClient.Reply ask(RawClient client, String line, String... headers)
            throws IOException {
        String more = headers.length == 0 ? "" : String.join("\r\n", headers) + "\r\n";
        return client.send(
                        line
                                + " HTTP/1.1\r\nHost: q\r\nAuthorization: "
                                + token()
                                + "\r\n"
                                + more
                                + "\r\n")
                .read();
    }

    @Test
    @Contract({"http-21", "http-22"})
    void everyAnswerNamesItsRequestAndForbidsGuessing() throws IOException {
        Set<String> ids = new HashSet<>();
        List<String> requests =
                List.of(
                        "GET /api/v1/pop/queue/none",
                        "GET /api/v1/resources/queues",
                        "GET /health",
                        "GET /nowhere",
                        "GET /api/v1/pop/queue/none?batch=many",
                        "GET /auth/login",
                        "GET /%zz");
        for (String request : requests) {
            try (RawClient client = new RawClient(broker.port())) {
                RawClient.Reply reply = ask(client, request);
                assertEquals("nosniff", reply.headers().get("x-content-type-options"), request);
                String id = String.valueOf(reply.headers().get("x-request-id"));
                assertTrue(id.matches("[0-9a-f]{8}-[0-9a-f]+"), request + ": " + id);
                ids.add(id);
            }
        }
        assertEquals(requests.size(), ids.size());
    }

    @Test
    @Contract("http-21")
    void aNameThatTheSenderGaveIsKeptIfItCanStandInALog() throws IOException {
        try (RawClient client = new RawClient(broker.port())) {
            RawClient.Reply kept = ask(client, "GET /livez", "X-Request-Id: a.b:c/1_2@x=+-");
            assertEquals("a.b:c/1_2@x=+-", kept.headers().get("x-request-id"));
            for (String bad : List.of("a b", "", "a".repeat(129), "a;b")) {
                RawClient.Reply minted = ask(client, "GET /livez", "X-Request-Id: " + bad);
                String id = String.valueOf(minted.headers().get("x-request-id"));
                assertTrue(id.matches("[0-9a-f]{8}-[0-9a-f]+"), bad + ": " + id);
            }
        }
    }

    @Test
    void noLogHoldsPayloadsOrTokens() throws SQLException, IOException {
        try (LogCapture log = new LogCapture();
                Connection operator = database.connect()) {
            String item = Http.item("q", "p", null, "\"" + MARKER + "\"");
            assertEquals(201, http.post("/api/v1/push", "{\"items\":[" + item + "]}").status());
            assertEquals(200, put("known").status());
            http.post("/api/v1/push", "{\"items\":[" + MARKER);
            http.post("/api/v1/kv", "{\"operations\":[{\"" + MARKER);
            http.get("/api/v1/pop/queue/q?batch=" + MARKER);
            assertEquals(401, http.authorized("Bearer " + MARKER).get("/api/v1/dlq").status());
            String forged = token().replaceFirst("....$", "AAAA");
            assertEquals(401, http.authorized(forged).get("/api/v1/dlq").status());
            try (RawClient client = new RawClient(broker.port())) {
                client.send(MARKER + " " + MARKER + "\r\n\r\n").read();
            }
            try (Statement statement = operator.createStatement()) {
                // What the database says of a row that it does not take shows the whole row.
                for (String table : List.of("segments", "kv")) {
                    statement.execute(
                            "alter table queen_store.%s add constraint no check (false) not valid"
                                    .formatted(table));
                }
            }
            assertEquals(500, put("other").status());
            http.post("/api/v1/push", "{\"items\":[" + item + "]}");
            assertTrue(log.text().contains("violates check constraint"), log.text());
            for (String hidden :
                    List.of(
                            MARKER,
                            HexFormat.of().formatHex(MARKER.getBytes(StandardCharsets.UTF_8)),
                            token().split("\\.", -1)[1],
                            SECRET)) {
                assertFalse(log.text().contains(hidden), log.text());
            }
        }
    }

    private static Http.Reply put(String key) {
        return http.put("/api/v1/kv/ns/" + key, "{\"value\":\"" + MARKER + "\",\"forever\":true}");
    }

    /** What is done step by step stays done where a later step fails, so it has its line. */
    @Test
    void whatFailsHalfWaySaysHowMuchWasDone() throws SQLException {
        try (TestDatabase database = TestDatabase.migrated();
                TestBroker fresh = TestBroker.on(database);
                Connection connection = database.connect();
                LogCapture log = new LogCapture()) {
            Http http = fresh.http();
            http.push("given-up", "p", "1");
            http.ack(http.pop("given-up", "batch=1").json(), 0, "dlq");
            try (Statement statement = connection.createStatement()) {
                statement.execute(
                        """
                        insert into queen_store.dead_letters (
                            queue_id, partition_id, group_name, "offset", message_id, transaction_id,
                            key, payload, flags, error)
                        select d.queue_id, d.partition_id, d.group_name, n, d.message_id, 't' || n,
                               d.key, d.payload, d.flags, 'last'
                        from queen_store.dead_letters d, generate_series(1, 5005) n;
                        create function public.refuse() returns trigger language plpgsql as $$
                        begin
                            if old."offset" = 5004 then
                                raise exception 'no room' using errcode = 'disk_full';
                            end if;
                            return old;
                        end
                        $$;
                        create trigger refuse before delete on queen_store.dead_letters
                        for each row execute function public.refuse()
                        """);
            }
            Http.Reply reply = http.delete("/api/v1/dlq?queue=given-up");
            assertEquals(503, reply.status(), reply.body());
            assertEquals(List.of("error"), reply.json().names());
            Await.until("its line", () -> log.text().contains("management "));
            String who = " tenant=00000000-0000-0000-0000-000000000001 sub=-";
            assertTrue(
                    log.text()
                            .contains(
                                    "management method=DELETE path=/api/v1/dlq"
                                            + who
                                            + " done=5000 outcome=failed"),
                    log.text());
            try (Statement statement = connection.createStatement()) {
                statement.execute("drop function public.refuse() cascade");
            }
            assertEquals(200, http.delete("/api/v1/dlq?queue=given-up").status());
            Await.until("the line of the rest", () -> log.text().contains(who + " done=6\n"));
        }
    }

    /** Who asks later what was done to a queue finds it. */
    @Test
    void whatOperatorsDoIsLoggedOnceItIsDone() {
        try (TestBroker fresh = TestBroker.start();
                LogCapture log = new LogCapture()) {
            Http http = fresh.http();
            http.push("managed", "p", "1");
            http.pop("managed", "consumerGroup=g&subscriptionMode=all");
            assertFalse(log.text().contains("management "), "what clients do all day is not");
            String group = "/api/v1/consumer-groups/g";
            assertEquals(
                    200, http.post(group + "/queues/managed/seek", "{\"toEnd\":true}").status());
            assertEquals(400, http.post(group + "/queues/managed/seek", "{}").status());
            assertEquals(200, http.delete(group).status());
            assertEquals(200, http.delete("/api/v1/resources/queues/managed").status());
            Await.until(
                    "each answer goes before its line",
                    () -> log.text().split("management method", -1).length == 4);
            List<String> told =
                    log.text()
                            .lines()
                            .filter(line -> line.contains("management "))
                            .map(line -> line.replaceFirst(".* management ", ""))
                            .sorted()
                            .toList();
            String who = " tenant=00000000-0000-0000-0000-000000000001 sub=-";
            assertEquals(
                    List.of(
                            "method=DELETE path=" + group + who,
                            "method=DELETE path=/api/v1/resources/queues/managed" + who,
                            "method=POST path=" + group + "/queues/managed/seek" + who),
                    told);
        }
    }
}
