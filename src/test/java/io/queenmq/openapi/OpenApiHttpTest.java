package io.queenmq.openapi;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.openapi.Description.Operation;
import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import io.queenmq.web.Router;
import io.swagger.v3.parser.OpenAPIV3Parser;
import io.swagger.v3.parser.core.models.ParseOptions;
import io.swagger.v3.parser.core.models.SwaggerParseResult;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** What the broker says of itself against what it does. */
class OpenApiHttpTest {
    /** Samples whose answer is no success, and why. */
    private static final Map<String, Integer> REFUSED_SAMPLES =
            Map.of(
                    // Nobody holds a partition in a test.
                    "terminateHolder", 404,
                    // Nobody has made it.
                    "getUnnamedQueue", 404,
                    // There is nothing to log in to.
                    "login", 303,
                    "root", 303,
                    // The sample before has only asked.
                    "cancelReclaim", 404,
                    // Requests that name no tenant are not to erase by mistake.
                    "purgeTenant", 400);

    private static TestDatabase database;
    private static TestBroker broker;
    private static Http http;
    private static Description description;

    /** A broker in which something has happened, so that lists have rows. */
    @BeforeAll
    static void start() {
        database = TestDatabase.migrated();
        broker =
                TestBroker.withEnvironment(
                        database,
                        Map.of(
                                "METRICS_FLUSH_MS", "1000",
                                "QUEEN_TENANCY_HEADER", "true",
                                "QUEEN_KV_REQUIRE_GRANT", "false"));
        http = broker.http();
        description = new Description(broker.routes());
        ok(http.post("/api/v1/configure", "{\"queue\":\"orders\",\"namespace\":\"shop\"}"));
        ok(push("orders", "customer-7", "order-1", "order-2", "order-3"));
        for (String group : List.of("billing", "audit", "mail")) {
            Json popped =
                    http.pop("orders", "batch=1&consumerGroup=" + group + "&subscriptionMode=all")
                            .json();
            assertTrue(popped.text("messages", 0, "transactionId").equals("order-1"));
            http.ack(popped, 0, "dlq");
        }
        ok(push("orders", "customer-8", "order-4"));
        ok(push("orders", "customer-9", "order-5"));
        for (Operation operation : description.operations()) {
            if (Set.of("changeTimers", "kvBatch", "addTrace").contains(operation.id())) {
                ok(sample(operation));
            }
        }
        ok(http.post("/api/v1/stats/refresh", ""));
        Await.until(
                "what happened is reported",
                () ->
                        http.get("/api/v1/analytics/queue-lag").json().size() > 0
                                && http.get("/api/v1/analytics/system-metrics")
                                                .json()
                                                .size("replicas")
                                        > 0);
    }

    @AfterAll
    static void stop() {
        broker.close();
        database.close();
    }

    private static Http.Reply push(String queue, String partition, String... transactionIds) {
        StringBuilder items = new StringBuilder();
        for (String id : transactionIds) {
            items.append(items.isEmpty() ? "" : ",")
                    .append(
                            "{\"queue\":\"%s\",\"partition\":\"%s\",\"transactionId\":\"%s\",\"payload\":{}}"
                                    .formatted(queue, partition, id));
        }
        return http.post("/api/v1/push", "{\"items\":[" + items + "]}");
    }

    private static void ok(Http.Reply reply) {
        assertTrue(reply.status() < 300, () -> reply.status() + " " + reply.body());
    }

    /** Calls an operation with the examples that stand with it. */
    private static Http.Reply sample(Operation operation) {
        String path = operation.path();
        Matcher name = Pattern.compile("\\{(\\w+)}").matcher(operation.path());
        while (name.find()) {
            Map<String, @Nullable Object> parameter =
                    description.at(
                            Trees.map(Map.of("$ref", "#/components/parameters/" + name.group(1))));
            path = path.replace(name.group(), Http.encode("" + parameter.get("example")));
        }
        StringBuilder query = new StringBuilder();
        if (operation.told().get("parameters") instanceof List<?> parameters) {
            for (Object each : parameters) {
                Map<String, @Nullable Object> parameter = description.at(Trees.map(each));
                if ("query".equals(parameter.get("in")) && parameter.containsKey("example")) {
                    query.append(query.isEmpty() ? '?' : '&')
                            .append(parameter.get("name"))
                            .append('=')
                            .append(Http.encode("" + parameter.get("example")));
                }
            }
        }
        Map<String, @Nullable Object> media =
                description.at(operation.told(), "requestBody", "content", "application/json");
        String body = media.containsKey("example") ? Trees.json(media.get("example")) : "";
        return http.call(operation.method().toUpperCase(Locale.ROOT), path + query, body);
    }

    private static List<String> complaints(Operation operation, Http.Reply reply) {
        String type = reply.response().headers().firstValue("Content-Type").orElse("");
        return description.complaints(operation, reply.status(), type, reply.body()).stream()
                .map(complaint -> operation.id() + ' ' + reply.status() + ": " + complaint)
                .toList();
    }

    @Test
    @Contract("openapi-1")
    void aParserOfOthersReadsItWithoutAComplaint() {
        ParseOptions options = new ParseOptions();
        options.setResolve(true);
        for (String path : List.of("/openapi", "/openapi?format=yaml")) {
            SwaggerParseResult parsed =
                    new OpenAPIV3Parser().readContents(http.get(path).body(), null, options);
            assertEquals(
                    List.of(), parsed.getMessages() == null ? List.of() : parsed.getMessages());
            assertEquals("3.1.0", parsed.getOpenAPI().getOpenapi());
            assertEquals(
                    description.operations().size(),
                    parsed.getOpenAPI().getPaths().values().stream()
                            .mapToInt(item -> item.readOperations().size())
                            .sum());
        }
    }

    @Test
    @Contract("openapi-1")
    void everyRouteIsThereAsItWasRegistered() {
        Set<String> told = new TreeSet<>();
        for (Operation operation : description.operations()) {
            String name = " " + operation.path() + ' ' + operation.told().get("x-queen-level");
            told.add(operation.method().toUpperCase(Locale.ROOT) + name);
            if (Boolean.TRUE.equals(operation.told().get("x-queen-head"))) {
                told.add("HEAD" + name);
            }
        }
        Set<String> served = new TreeSet<>();
        for (Router.Route route : broker.routes()) {
            served.add(
                    route.method()
                            + ' '
                            + route.pattern().replaceAll("[:*](\\w+)", "{$1}")
                            + ' '
                            + route.level().name().toLowerCase(Locale.ROOT).replace('_', '-'));
        }
        assertEquals(served, told);
    }

    @Test
    @Contract("openapi-1")
    void whatIsServedIsWhatIsJudgedHere() {
        assertEquals(
                http.get("/openapi").body().replaceFirst("\"version\":\"[^\"]*\"", ""),
                Trees.json(Document.of(broker.routes(), "x"))
                        .replaceFirst("\"version\":\"[^\"]*\"", ""));
    }

    /** Reads first, removals last; the paths with most names before those with fewer. */
    @Test
    @Contract("openapi-2")
    void samplesAreAnsweredAsTold() {
        List<String> order = List.of("get", "post", "put");
        List<Operation> all = description.operations();
        List<Operation> operations = new ArrayList<>(all.reversed());
        operations.removeIf(operation -> operation.method().equals("delete"));
        operations.sort(Comparator.comparingInt(operation -> order.indexOf(operation.method())));
        // Queues last.
        all.stream().filter(o -> o.method().equals("delete")).forEach(operations::add);
        List<String> wrong = new ArrayList<>();
        for (Operation operation : operations) {
            Http.Reply reply = sample(operation);
            int refused = REFUSED_SAMPLES.getOrDefault(operation.id(), 0);
            if (refused == 0 ? reply.status() >= 300 : reply.status() != refused) {
                wrong.add(operation.id() + ' ' + reply.status() + ": " + reply.body());
            }
            wrong.addAll(complaints(operation, reply));
        }
        // One of the samples has paused deliveries.
        ok(http.post("/api/v1/system/maintenance/pop", "{\"enabled\":false}"));
        assertEquals("", String.join("\n", wrong));
    }

    /** Requests that go wrong, and some that ask for more than the samples. */
    private static final String OTHERS =
            """
            post /api/v1/push                 | 400 | /api/v1/push | {}
            post /api/v1/push                 | 400 | /api/v1/push | no json
            get /api/v1/pop                   | 400 | /api/v1/pop |
            get /api/v1/pop/queue/{queue}     | 400 | /api/v1/pop/queue/orders?batch=x |
            get /api/v1/pop/queue/{queue}     | 400 | /api/v1/pop/queue/orders?conflation=true |
            get /api/v1/pop/queue/{queue}     | 200 | /api/v1/pop/queue/others?conflation=true&consumerGroup=c&subscriptionMode=all |
            get /api/v1/pop/queue/{queue}     | 200 | /api/v1/pop/queue/others?consumerGroup=c |
            get /api/v1/pop/queue/{queue}     | 200 | /api/v1/pop/queue/others?autopilot=true&consumerGroup=d&subscriptionMode=all |
            get /api/v1/pop/queue/{queue}     | 200 | /api/v1/pop/queue/others?autoAck=true |
            get /api/v1/pop/queue/{queue}     | 204 | /api/v1/pop/queue/nothing |
            post /api/v1/ack                  | 400 | /api/v1/ack | [
            post /api/v1/ack                  | 200 | /api/v1/ack | {"transactionId":"x","partitionId":"none"}
            post /api/v1/transaction          | 400 | /api/v1/transaction | {}
            post /api/v1/transaction          | 400 | /api/v1/transaction | [
            post /api/v1/transaction          | 200 | /api/v1/transaction | {"operations":[{"type":"push","items":[{"queue":"others","partition":"p","transactionId":"other-1"}]}]}
            post /api/v1/transaction          | 200 | /api/v1/transaction | {"kv":[{"op":"check","ns":"none","key":"none","expect":7}]}
            post /api/v1/configure            | 400 | /api/v1/configure | {"queue":"q","options":{"leaseTime":0}}
            get /api/v1/resources/queues/{queue}        | 404 | /api/v1/resources/queues/nowhere |
            get /api/v1/resources/queues/{queue}/depth  | 404 | /api/v1/resources/queues/nowhere/depth |
            get /api/v1/status/queues/{queue}           | 404 | /api/v1/status/queues/nowhere |
            get /api/v1/status                          | 400 | /api/v1/status?from=x |
            get /api/v1/analytics/retention             | 400 | /api/v1/analytics/retention?groupBy=x |
            get /api/v1/analytics/workload              | 200 | /api/v1/analytics/workload?groupBy=queue |
            get /api/v1/analytics/dlq-signatures        | 404 | /api/v1/analytics/dlq-signatures?queue=nowhere |
            get /api/v1/consumer-groups/{group}         | 200 | /api/v1/consumer-groups/nobody |
            post /api/v1/consumer-groups/{group}/queues/{queue}/seek | 404 | /api/v1/consumer-groups/g/queues/nowhere/seek | {"toEnd":true}
            post /api/v1/consumer-groups/{group}/queues/{queue}/seek | 200 | /api/v1/consumer-groups/g/queues/others/seek | {"toEnd":true}
            post /api/v1/consumer-groups/{group}/queues/{queue}/seek | 400 | /api/v1/consumer-groups/g/queues/others/seek | {}
            post /api/v1/consumer-groups/{group}/queues/{queue}/partitions/{partition}/seek | 404 | /api/v1/consumer-groups/g/queues/others/partitions/none/seek | {"toEnd":true}
            get /api/v1/messages                                 | 200 | /api/v1/messages?limit=1 |
            get /api/v1/messages/{partitionId}/{transactionId}   | 404 | /api/v1/messages/00000000-0000-8000-8000-000000000001/none |
            get /api/v1/messages/{partitionId}/{transactionId}   | 404 | /api/v1/messages/none/none |
            delete /api/v1/messages/{partitionId}/{transactionId} | 404 | /api/v1/messages/none/none |
            post /api/v1/messages/{partitionId}/{transactionId}/retry | 404 | /api/v1/messages/none/none/retry |
            delete /api/v1/dlq                | 400 | /api/v1/dlq |
            post /api/v1/dlq/{id}/replay      | 404 | /api/v1/dlq/4711/replay |
            post /api/v1/dlq/{id}/replay      | 400 | /api/v1/dlq/4711/replay | [
            post /api/v1/dlq/replay           | 400 | /api/v1/dlq/replay | {}
            post /api/v1/traces               | 400 | /api/v1/traces | {}
            post /api/v1/traces               | 404 | /api/v1/traces | {"transactionId":"t","partitionId":"00000000-0000-8000-8000-0000000fffff","data":1}
            post /api/v1/kv                   | 400 | /api/v1/kv | {"operations":[{"op":"none"}]}
            post /api/v1/kv                   | 200 | /api/v1/kv | [{"op":"put","ns":"n","key":"k","value":1,"forever":true,"expect":7,"required":true}]
            get /api/v1/kv/{ns}/{key}         | 200 | /api/v1/kv/none/none |
            get /api/v1/kv/{ns}/{key}         | 400 | /api/v1/kv/none/none?x=1 |
            post /api/v1/locks                | 400 | /api/v1/locks | {"operations":[{"op":"none","name":"x"}]}
            post /api/v1/locks                | 200 | /api/v1/locks | [{"op":"acquire","name":"held","ttlSeconds":30,"owner":"a"}]
            post /api/v1/locks                | 200 | /api/v1/locks | [{"op":"acquire","name":"held","ttlSeconds":30,"owner":"b"}]
            post /api/v1/locks                | 200 | /api/v1/locks | [{"op":"get","name":"held"}]
            post /api/v1/timers               | 400 | /api/v1/timers | {"operations":[{"op":"schedule","queue":"q","timerKey":"k"}]}
            get /api/v1/timers/{queue}/{timerKey} | 200 | /api/v1/timers/nowhere/none |
            get /api/v1/timers/{queue}        | 200 | /api/v1/timers/reminders?mode=count&prefix=i |
            get /api/v1/timers/{queue}        | 400 | /api/v1/timers/reminders?mode=other |
            post /api/v1/fetch                | 400 | /api/v1/fetch | {"entries":[{"queue":"orders","offset":-1}]}
            post /api/v1/partitions/changed   | 400 | /api/v1/partitions/changed | {"entries":[{}]}
            post /api/v1/system/jobs/{job}    | 404 | /api/v1/system/jobs/none | {"runNow":true}
            post /api/v1/system/jobs/{job}    | 400 | /api/v1/system/jobs/none | {}
            post /api/v1/system/maintenance   | 400 | /api/v1/system/maintenance | {"enabled":true}
            post /api/v1/system/ephemeral     | 400 | /api/v1/system/ephemeral | {"enabled":true}
            post /api/v1/system/quota         | 400 | /api/v1/system/quota | {}
            post /internal/api/notify         | 400 | /internal/api/notify | {}
            get /openapi/ui/{file}            | 404 | /openapi/ui/other.js |
            """;

    @Test
    @Contract("openapi-2")
    void otherRequestsAreAnsweredAsTold() {
        ok(push("others", "p", "other-1", "other-2"));
        List<String> wrong = new ArrayList<>();
        for (String line : OTHERS.lines().toList()) {
            String[] parts = line.split("\\s*\\|\\s*", 4);
            String[] name = parts[0].split(" ", -1);
            Operation operation = description.operation(name[0], name[1]);
            Http.Reply reply =
                    http.call(name[0].toUpperCase(Locale.ROOT), parts[2], parts[3].strip());
            if (reply.status() != Integer.parseInt(parts[1])) {
                wrong.add(line + " -> " + reply.status() + ": " + reply.body());
            }
            wrong.addAll(complaints(operation, reply));
        }
        assertEquals("", String.join("\n", wrong));
    }

    @Test
    @Contract("openapi-2")
    void theEndOfATenantIsToldAsItIs() {
        Http tenant = http.as("5d0e0000-0000-4000-8000-00000000000e");
        tenant.push("q", "p", "1");
        List<String> wrong = new ArrayList<>();
        for (String path : List.of("/api/v1/resources/tenant", "/api/v1/system/purges")) {
            String method = path.endsWith("tenant") ? "delete" : "get";
            Http.Reply reply = tenant.call(method.toUpperCase(Locale.ROOT), path, "");
            ok(reply);
            wrong.addAll(complaints(description.operation(method, path), reply));
        }
        assertEquals("", String.join("\n", wrong));
    }

    @Test
    @Contract("openapi-2")
    void examplesKeepToTheirSchemas() {
        List<String> wrong = new ArrayList<>();
        int[] seen = {0};
        description
                .places()
                .forEach(
                        (pointer, place) -> {
                            if (place.containsKey("example") && place.containsKey("schema")) {
                                seen[0]++;
                                for (String complaint :
                                        description.complaints(
                                                pointer + "/schema",
                                                Trees.json(place.get("example")))) {
                                    wrong.add(pointer + ": " + complaint);
                                }
                            }
                        });
        assertEquals("", String.join("\n", wrong));
        assertTrue(seen[0] > 50, () -> seen[0] + " examples");
    }

    @Test
    @Contract("openapi-3")
    void thePageLoadsNothingFromElsewhere() {
        Http.Reply root = http.get("/");
        assertEquals(303, root.status());
        Http.Reply page = http.get(root.response().headers().firstValue("Location").orElse(""));
        assertEquals(200, page.status());
        String policy = page.response().headers().firstValue("Content-Security-Policy").orElse("");
        assertTrue(policy.startsWith("default-src 'none'; script-src 'self';"), policy);
        Matcher link = Pattern.compile("(?:src|href)=\"([^\"]*)\"").matcher(page.body());
        int files = 0;
        while (link.find()) {
            String target = link.group(1);
            if (target.startsWith("ui/")) {
                files++;
                Http.Reply file = http.get("/openapi/" + target);
                assertEquals(200, file.status(), target);
                assertTrue(file.body().length() > 100, target);
            } else {
                assertTrue(Set.of("data:,", "../openapi").contains(target), target);
            }
        }
        assertEquals(3, files);
    }
}
