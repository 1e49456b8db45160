package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import io.queenmq.web.RawClient;
import io.queenmq.web.Router;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** Every route that has a name in its path, and names that are none. */
class HostilePathsHttpTest {
    private static final Pattern PARAMETER = Pattern.compile("[:*][A-Za-z]+");

    /** What the request line carries; null bytes and broken escapes are not legal anywhere. */
    private static final List<String> NO_NAMES =
            List.of(
                    "%zz",
                    "%",
                    "%4",
                    "a%",
                    "%C3",
                    "%C3%28",
                    "%ED%A0%80",
                    "a|b",
                    "a{b}",
                    "a\"b",
                    "%00",
                    "a%00b",
                    "%zz%00");

    /** Odd, and for some routes a name all the same. */
    private static final List<String> ODD =
            List.of(
                    "%2E",
                    "%2E%2E",
                    "%2e%2e%2fx",
                    ".",
                    "..",
                    "...",
                    "a%2Fb",
                    "%20",
                    "%0A",
                    "%25zz",
                    "a;b=c",
                    "%F0%9F%90%87",
                    "+",
                    "x".repeat(2_000),
                    "%41".repeat(3_000));

    private static final Pattern OF_NOTHING =
            Pattern.compile("\\{\"traces\":\\[]}|\\{\"leaseId\":.*,\"success\":false,.*");

    private static final List<String> KEYED = List.of("error", "reason", "detail");

    private static TestBroker broker;

    @BeforeAll
    static void start() {
        broker = TestBroker.start();
    }

    @AfterAll
    static void stop() {
        broker.close();
    }

    private static RawClient.Reply call(String method, String path) throws IOException {
        try (RawClient client = new RawClient(broker.port())) {
            client.request(method, path);
            return method.equals("HEAD") ? client.readHead() : client.read();
        }
    }

    /** The paths of a route, each with one name in the place of one parameter. */
    private static List<String> paths(Router.Route route, List<String> names) {
        List<String> paths = new ArrayList<>();
        Matcher parameter = PARAMETER.matcher(route.pattern());
        while (parameter.find()) {
            String before = route.pattern().substring(0, parameter.start());
            String after = route.pattern().substring(parameter.end());
            for (String name : names) {
                paths.add(
                        PARAMETER.matcher(before).replaceAll("x")
                                + name
                                + PARAMETER.matcher(after).replaceAll("x"));
            }
        }
        return paths;
    }

    /** What routes about keys and timers answer is told by their first words, others by one. */
    private static List<String> form(Router.Route route) {
        return route.pattern().matches("/api/v1/(kv|timers)/.*") ? KEYED : List.of("error");
    }

    @Test
    @Contract({"http-3", "http-4", "http-11"})
    void whatIsNoNameIsRefusedInTheFormOfItsRoute() throws IOException {
        Map<String, String> wrong = new TreeMap<>();
        int asked = 0;
        for (Router.Route route : broker.routes()) {
            for (String path : paths(route, NO_NAMES)) {
                asked++;
                RawClient.Reply reply = call(route.method(), path);
                if (!isTold(route, reply)) {
                    wrong.put(route.method() + ' ' + path, reply.status() + " " + reply.body());
                }
            }
        }
        assertEquals(Map.of(), wrong);
        assertTrue(asked > 500, asked + " paths");
    }

    private static boolean isTold(Router.Route route, RawClient.Reply reply) {
        if (!"application/json".equals(reply.headers().get("content-type"))) {
            return false;
        }
        if (route.method().equals("HEAD")) {
            // What it has no body for is told by the GET of the route.
            return reply.status() < 500;
        }
        // What cannot be an id is the id of nothing.
        return reply.status() == 404
                || (reply.status() == 200 && OF_NOTHING.matcher(reply.body()).matches())
                || (reply.status() == 400
                        && Json.parse(reply.body()).names().containsAll(form(route)));
    }

    @Test
    @Contract({"http-3", "http-4"})
    void anOddNameIsANameOrRefusedAndNeverABug() throws IOException {
        Map<String, String> wrong = new TreeMap<>();
        for (Router.Route route : broker.routes()) {
            for (String path : paths(route, ODD)) {
                RawClient.Reply reply = call(route.method(), path);
                if (reply.status() >= 500) {
                    wrong.put(route.method() + ' ' + path, reply.status() + " " + reply.body());
                }
            }
        }
        assertEquals(Map.of(), wrong);
        assertEquals(0, broker.metric("queen_web_internal_errors_total"));
    }
}
