package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.access.Level;
import io.queenmq.access.Role;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import io.queenmq.testkit.TokenKey;
import io.queenmq.web.Router;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Who may do what: every route that a broker serves against every role, over HTTP. */
class AccessHttpTest {
    private static final String SECRET = "the secret of a broker that asks for tokens";
    private static final TokenKey KEY = TokenKey.secret(SECRET);
    private static final Map<String, String> ENVIRONMENT =
            Map.of("JWT_ENABLED", "true", "JWT_SECRET", SECRET, "JWT_SKIP_PATHS", "/skipped");

    /** A line of the contract: the first that matches "METHOD /path" counts. */
    private record Rule(Level level, Pattern routes) {}

    private static final List<Rule> CONTRACT =
            List.of(
                    rule(
                            Level.PUBLIC,
                            "(GET|HEAD) /(health(/ready|/live)?|livez|metrics(/prometheus)?)"),
                    rule(Level.PUBLIC, "(GET|HEAD) /auth/(me|login)|POST /auth/logout"),
                    rule(Level.PUBLIC, "(GET|HEAD) /(openapi(/ui(/.*)?)?)?"),
                    rule(Level.ADMIN, "\\w+ (/api/v1/system|/internal)/.*"),
                    rule(Level.ADMIN, "DELETE /api/v1/(consumer-groups|resources/queues)/.*"),
                    rule(Level.ADMIN, "DELETE /api/v1/resources/tenant"),
                    rule(Level.ADMIN, "DELETE /api/v1/dlq|\\w+ /api/v1/stats/refresh"),
                    rule(Level.ADMIN, "(GET|HEAD) /api/v1/analytics/postgres-stats"),
                    rule(
                            Level.READ_ONLY,
                            "(GET|HEAD) (/status|/api/v1/(status|analytics|resources|messages"
                                    + "|consumer-groups|dlq|traces|kv|timers)\\b.*)"),
                    rule(
                            Level.READ_ONLY,
                            "POST (/api/v1/(fetch|partitions/changed|resources/kv/list)"
                                    + "|/streams/v1/state/get)"),
                    rule(Level.WRITE_ONLY, "POST /api/v1/(push|timers|ephemeral/push)"),
                    rule(Level.READ_WRITE, ".*"));

    private static Rule rule(Level level, String routes) {
        return new Rule(level, Pattern.compile(routes));
    }

    private static TestDatabase database;
    private static TestBroker broker;
    private static Http http;

    @BeforeAll
    static void start() {
        database = TestDatabase.migrated();
        broker = TestBroker.withEnvironment(database, ENVIRONMENT);
        http = broker.http();
    }

    @AfterAll
    static void stop() {
        broker.close();
        database.close();
    }

    private static Http as(String role) {
        return http.authorized(
                "Bearer " + KEY.token("HS256", "{\"sub\":\"ada\",\"role\":\"" + role + "\"}"));
    }

    @Test
    @Contract({"access-1", "access-2"})
    void everyRouteHasTheLevelOfTheContract() {
        List<String> wrong = new ArrayList<>();
        for (Router.Route route : broker.routes()) {
            String name = route.method() + ' ' + route.pattern();
            Level wanted =
                    CONTRACT.stream()
                            .filter(rule -> rule.routes().matcher(name).matches())
                            .findFirst()
                            .orElseThrow()
                            .level();
            if (route.level() != wanted) {
                wrong.add(name + " must be " + wanted + ", is " + route.level());
            }
        }
        assertEquals(List.of(), wrong);
        assertTrue(broker.routes().size() > 50, () -> broker.routes().size() + " routes");
    }

    /** A row per route, a column per role, and one for who has no token. */
    @Test
    @Contract({"access-1", "access-2", "access-3"})
    void everyRouteLetsInItsRolesAndNoOthers() {
        List<String> wrong = new ArrayList<>();
        for (Router.Route route : broker.routes()) {
            String path = route.pattern().replaceAll("[:*][A-Za-z]+", "x");
            // Anybody may ask who they are, and is told that nobody knows.
            if (!path.equals("/auth/me")) {
                Http.Reply open = http.call(route.method(), path, "");
                check(wrong, route, "nobody", route.level() == Level.PUBLIC, 401, open);
            }
            for (Role role : Role.values()) {
                boolean passes = route.level().admits(EnumSet.of(role));
                Http.Reply reply = as(role.id()).call(route.method(), path, "");
                check(wrong, route, role.id(), passes, 403, reply);
            }
            Http.Reply none = as("none").call(route.method(), path, "");
            check(wrong, route, "no role", route.level() == Level.PUBLIC, 403, none);
        }
        assertEquals(List.of(), wrong);
    }

    private static void check(
            List<String> wrong,
            Router.Route route,
            String who,
            boolean passes,
            int refused,
            Http.Reply reply) {
        boolean in = reply.status() != 401 && reply.status() != 403;
        boolean asTold = passes ? in : reply.status() == refused && isRefusal(route, reply);
        if (!asTold) {
            wrong.add(
                    "%s %s as %s: %d %s"
                            .formatted(
                                    route.method(),
                                    route.pattern(),
                                    who,
                                    reply.status(),
                                    reply.body()));
        }
    }

    private static boolean isRefusal(Router.Route route, Http.Reply reply) {
        String body =
                reply.status() == 401
                        ? "{\"error\":\"Authentication required\"}"
                        : "{\"error\":\"Insufficient permissions\"}";
        return reply.body().equals(route.method().equals("HEAD") ? "" : body)
                && reply.response().headers().firstValue("www-authenticate").isPresent()
                        == (reply.status() == 401);
    }

    @Test
    @Contract("access-2")
    void whatIsNoRouteIsToldOnlyToWhoMayConsume() {
        for (String path : new String[] {"/api/v1/nothing", "/nothing", "/api/v1/push/x"}) {
            assertEquals(401, http.get(path).status());
            assertEquals(403, as("read-only").get(path).status());
            assertEquals(403, as("write-only").get(path).status());
            assertEquals(404, as("read-write").get(path).status());
        }
        assertEquals(404, http.get("/skipped").status());
        // Another spelling is another path.
        for (String path : new String[] {"/skipped/", "//skipped", "/x/../skipped", "/Skipped"}) {
            assertEquals(401, http.get(path).status(), path);
        }
    }

    /** What a browser asks for by itself shows nobody whether there is a token in its pocket. */
    @Test
    @Contract("access-2")
    void filesOfPagesArePublicAndNotThere() {
        for (String path :
                List.of(
                        "/favicon.ico",
                        "/favicon-32x32.png",
                        "/assets/index.js",
                        "/assets/fonts/a.woff2")) {
            Http.Reply reply = http.get(path);
            assertEquals(404, reply.status(), path);
            assertEquals("{\"error\":\"Not Found\",\"code\":\"no_such_route\"}", reply.body());
            assertEquals(404, http.call("HEAD", path, "").status(), path);
            assertEquals(404, http.authorized("Bearer x").get(path).status(), path);
            assertEquals(401, http.post(path, "").status(), path);
        }
        for (String path :
                List.of("/assets", "/favicon.ico/x", "/x/assets/a", "/api/v1/assets/a")) {
            assertEquals(401, http.get(path).status(), path);
        }
    }

    @ParameterizedTest
    @Contract("access-3")
    @CsvSource(
            delimiter = '|',
            value = {
                "HS384 | {} | Unsupported token algorithm",
                "HS256 | {\"exp\":1} | Token has expired",
                "HS256 | {\"nbf\":99999999999} | Token not yet valid",
                "HS256 | {\"iat\":99999999999} | Token issued in the future",
            })
    void aTokenThatIsNotTakenSaysWhy(String algorithm, String claims, String error) {
        Http.Reply reply =
                http.authorized(KEY.token(algorithm, claims))
                        .post("/api/v1/push", "{\"items\":[]}");
        assertEquals(401, reply.status());
        assertEquals("{\"error\":\"" + error + "\"}", reply.body());
        assertEquals(
                Optional.of("Bearer"), reply.response().headers().firstValue("www-authenticate"));
    }

    /** Nothing of a refused request is done, and its connection serves the next one. */
    @Test
    void aRefusedRequestDoesNothing() {
        String push = "{\"items\":[" + Http.item("refused", "p", null, "1") + "]}";
        assertEquals(401, http.post("/api/v1/push", push).status());
        assertEquals(403, as("read-only").post("/api/v1/push", push).status());
        assertEquals(404, as("read-only").get("/api/v1/resources/queues/refused").status());
        assertEquals(201, as("write-only").post("/api/v1/push", push).status());
        assertEquals(200, as("read-only").get("/api/v1/resources/queues/refused").status());
    }

    @Test
    @Contract("access-12")
    void messagesCarryWhoPushedThem() {
        as("write-only").push("signed", "p", "1");
        Http consumer = as("read-write");
        assertEquals(
                200,
                consumer.post(
                                "/api/v1/transaction",
                                "{\"operations\":[{\"type\":\"push\",\"items\":["
                                        + Http.item("signed", "p", null, "2")
                                        + "]}]}")
                        .status());
        http.authorized(KEY.token("HS256", "{\"role\":\"admin\"}")).push("signed", "p", "3");
        Http.Reply popped = consumer.pop("signed", "batch=3");
        assertEquals(List.of("1", "2", "3"), popped.json().each("messages", "data"));
        assertEquals("ada", popped.json().text("messages", 0, "producerSub"));
        assertEquals("ada", popped.json().text("messages", 1, "producerSub"));
        assertTrue(popped.json().isNull("messages", 2, "producerSub"));
    }

    @Test
    @Contract("access-12")
    void aTimerRemembersWhoScheduledIt() {
        String schedule =
                "[{\"op\":\"schedule\",\"queue\":\"later\",\"timerKey\":\"k\","
                        + "\"delayMs\":3600000,\"txn\":\"t\",\"payload\":\"MQ==\"}]";
        Http.Reply reply = as("write-only").post("/api/v1/timers", schedule);
        assertEquals(200, reply.status(), reply.body());
        assertEquals(
                "ada", as("read-only").get("/api/v1/timers/later/k").json().text("producerSub"));
    }

    @Test
    void answersAreNeitherGuessedAtNorKept() {
        Http.Reply reply = as("read-only").get("/api/v1/dlq?queue=x");
        assertEquals(
                Optional.of("nosniff"),
                reply.response().headers().firstValue("x-content-type-options"));
        assertEquals(
                Optional.of("no-store"), reply.response().headers().firstValue("cache-control"));
    }

    @Test
    @Contract("access-4")
    void whereNoTokenIsAskedForNoneIsLookedAt() {
        try (TestBroker open = TestBroker.withEnvironment(database, Map.of())) {
            for (String header : new String[] {"", "Bearer x", "Basic x"}) {
                Http anybody = open.http().authorized(header);
                anybody.push("open", "p", "1");
                assertEquals(400, anybody.delete("/api/v1/dlq").status());
                assertTrue(
                        anybody.pop("open", "autoAck=true")
                                .json()
                                .isNull("messages", 0, "producerSub"));
            }
        }
    }
}
