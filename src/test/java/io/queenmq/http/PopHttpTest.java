package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The three pops, their parameters and their answers. */
class PopHttpTest {
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

    private static String fresh(String name) {
        return name + "-" + UUID.randomUUID();
    }

    private static boolean queueExists(String queue) throws SQLException {
        try (Connection connection = broker.database().connect()) {
            return !TestDatabase.rows(
                            connection, "select 1 from queen_store.queues where name = ?", queue)
                    .isEmpty();
        }
    }

    @Test
    @Contract({"http-15", "pop-answer-1"})
    void anAnswerHasEveryFieldOfTheContract() {
        String queue = fresh("shape");
        http.pushItems(List.of(Http.item(queue, "cust-7", "ord-1", "{\"n\":1}")));
        Json json = http.pop(queue, "consumerGroup=billing&subscriptionMode=all").json();
        assertEquals(
                List.of(
                        "success",
                        "queue",
                        "partition",
                        "partitionId",
                        "leaseId",
                        "consumerGroup",
                        "messages",
                        "partitionsClaimed"),
                json.names());
        assertEquals(
                List.of(
                        "id",
                        "transactionId",
                        "traceId",
                        "data",
                        "producerSub",
                        "createdAt",
                        "partitionId",
                        "partition",
                        "leaseId",
                        "consumerGroup",
                        "deliveryAttempt"),
                json.names("messages", 0));
        assertTrue(json.bool("success"));
        assertEquals(queue, json.text("queue"));
        assertEquals("cust-7", json.text("partition"));
        assertEquals("billing", json.text("consumerGroup"));
        assertEquals("1", json.text("partitionsClaimed"));
        assertEquals(7, UUID.fromString(json.text("leaseId")).version());
        UUID.fromString(json.text("partitionId"));
        assertEquals(json.text("leaseId"), json.text("messages", 0, "leaseId"));
        assertEquals(json.text("partitionId"), json.text("messages", 0, "partitionId"));
        assertEquals("ord-1", json.text("messages", 0, "transactionId"));
        assertEquals("1", json.text("messages", 0, "deliveryAttempt"));
        assertTrue(
                json.text("messages", 0, "createdAt")
                        .matches("\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\d\\.\\d{6}Z"));
    }

    @Test
    @Contract({"http-10", "pop-param-5", "pop-answer-4"})
    void nothingToDeliverIs204WithoutABody() {
        String queue = fresh("nothing");
        Http.Reply reply = http.pop(queue, "");
        assertEquals(204, reply.status());
        assertEquals("", reply.body());
        assertTrue(reply.response().headers().firstValue("content-length").isEmpty());
    }

    @Test
    @Contract({"model-1", "pop-first-7"})
    void aPopOfAnUnknownQueueMakesItAndAPinnedOneDoesNot() throws SQLException {
        String queue = fresh("unknown");
        assertEquals(204, http.get("/api/v1/pop/queue/" + queue + "/partition/p").status());
        assertFalse(queueExists(queue));
        assertEquals(204, http.pop(queue, "").status());
        assertTrue(queueExists(queue));
    }

    @Test
    @Contract({"model-8", "pop-1", "limit-3"})
    void aLaneIsDeliveredInOrderAndHeldUntilItsAck() {
        String queue = fresh("fifo");
        http.push(queue, "p", "1", "2", "3", "4", "5");
        Json first = http.pop(queue, "batch=2").json();
        assertEquals(List.of("1", "2"), first.each("messages", "data"));
        assertEquals(204, http.pop(queue, "batch=2").status(), "one lease per lane and group");
        http.ackBatch(first, "completed", 0, 1);
        assertEquals(List.of("3", "4", "5"), http.pop(queue, "").payloads());
    }

    @Test
    @Contract({"pop-param-1", "pop-claim-3", "pop-claim-4", "pop-answer-2"})
    void batchIsTheBudgetOfTheCallOverAllLanes() {
        String queue = fresh("budget");
        http.push(queue, "a", "1", "2", "3");
        http.push(queue, "b", "1", "2", "3");
        Json json = http.pop(queue, "batch=4&partitions=0").json();
        assertEquals(4, json.size("messages"));
        assertEquals("2", json.text("partitionsClaimed"));
        Set<String> leases = new HashSet<>(json.each("messages", "leaseId"));
        assertEquals(Set.of(json.text("leaseId")), leases);
        assertEquals(json.text("partition"), json.text("messages", 0, "partition"));
        assertEquals(json.text("partition"), json.text("messages", 2, "partition"));
        assertNotEquals(json.text("partition"), json.text("messages", 3, "partition"));
    }

    @Test
    @Contract({"model-8", "pop-param-2"})
    void oneLaneIsClaimedUnlessMoreAreAskedFor() {
        String queue = fresh("lanes");
        for (String lane : List.of("a", "b", "c")) {
            http.push(queue, lane, "1");
        }
        Set<String> seen = new TreeSet<>();
        Json one = http.pop(queue, "").json();
        assertEquals("1", one.text("partitionsClaimed"));
        seen.add(one.text("partition"));
        Json two = http.pop(queue, "partitions=2").json();
        assertEquals("2", two.text("partitionsClaimed"));
        seen.addAll(two.each("messages", "partition"));
        assertEquals(Set.of("a", "b", "c"), seen, "in-group parallelism is the number of lanes");
        assertEquals(204, http.pop(queue, "partitions=0").status());
    }

    @Test
    @Contract("pop-param-2")
    void anAnswerHoldsAtMostSixtyFourLanes() {
        String queue = fresh("many");
        List<String> items = new ArrayList<>();
        for (int lane = 0; lane < 70; lane++) {
            items.add(Http.item(queue, "p" + lane, null, "1"));
        }
        http.pushItems(items);
        Json json = http.pop(queue, "partitions=-1&batch=1000").json();
        assertEquals("64", json.text("partitionsClaimed"));
        assertEquals("6", http.pop(queue, "partitions=500").json().text("partitionsClaimed"));
    }

    @ParameterizedTest
    @CsvSource({"batch=0, 1", "batch=-7, 1", "batch=1, 1", "batch=2147483647, 3", "'', 3"})
    @Contract("pop-param-1")
    void aBatchBelowOneActsAsOne(String query, int messages) {
        String queue = fresh("batch");
        http.push(queue, "p", "1", "2", "3");
        assertEquals(messages, http.pop(queue, query).payloads().size());
    }

    @Test
    @Contract({"model-10", "pop-param-4", "pop-claim-6", "pop-claim-7"})
    void autoAckTakesNoLeaseAndMovesOn() {
        String queue = fresh("auto");
        http.push(queue, "p", "1", "2", "3");
        Json json = http.pop(queue, "batch=2&autoAck=true").json();
        assertEquals(List.of("1", "2"), json.each("messages", "data"));
        assertEquals("", json.text("leaseId"));
        assertEquals("", json.text("messages", 0, "leaseId"));
        assertEquals("1", json.text("messages", 0, "deliveryAttempt"));
        assertEquals(List.of("3"), http.pop(queue, "autoAck=true").payloads());
        assertEquals(204, http.pop(queue, "autoAck=true").status());
    }

    @Test
    @Contract({"pop-2", "pop-param-2"})
    void aPinnedPopSeesItsLaneOnly() {
        String queue = fresh("pinned");
        http.push(queue, "a", "1");
        http.push(queue, "b", "2");
        String path = "/api/v1/pop/queue/" + queue + "/partition/b";
        Json json = http.get(path + "?partitions=5").json();
        assertEquals(List.of("2"), json.each("messages", "data"));
        assertEquals("b", json.text("partition"));
        assertEquals(204, http.get(path).status());
    }

    @Test
    @Contract({"model-6", "model-7", "model-9", "pop-param-3"})
    void groupsDoNotMeet() {
        String queue = fresh("groups");
        http.push(queue, "p", "1");
        for (String group : List.of("a", "b")) {
            String query = "subscriptionMode=all&consumerGroup=" + group;
            assertEquals(List.of("1"), http.pop(queue, query).payloads());
            assertEquals(204, http.pop(queue, query).status());
        }
        assertEquals(List.of("1"), http.pop(queue, "").payloads(), "queue mode is a group too");
    }

    @Test
    @Contract({"pop-param-8", "pop-first-1", "pop-first-3"})
    void aNewGroupBeginsWithWhatComesNext() {
        String queue = fresh("new");
        http.push(queue, "p", "1");
        assertEquals(204, http.pop(queue, "consumerGroup=g").status());
        http.push(queue, "p", "2");
        http.push(queue, "later", "3");
        List<String> got =
                new ArrayList<>(http.pop(queue, "consumerGroup=g&partitions=0").payloads());
        got.sort(null);
        assertEquals(List.of("2", "3"), got);
        assertEquals(
                204,
                http.pop(queue, "consumerGroup=g&subscriptionMode=all&partitions=0").status(),
                "the first contact decides");
    }

    @Test
    @Contract({"pop-param-8", "pop-first-2"})
    void aGroupMayBeginWithEverything() {
        String queue = fresh("all");
        http.push(queue, "p", "1");
        assertEquals(
                List.of("1"), http.pop(queue, "consumerGroup=g&subscriptionMode=all").payloads());
    }

    @Test
    @Contract({"pop-param-9", "pop-first-4"})
    void aPointInTimeWinsOverTheMode() {
        String queue = fresh("from");
        http.push(queue, "p", "1");
        String after = http.pop(queue, "autoAck=true").json().text("messages", 0, "createdAt");
        http.push(queue, "p", "2");
        String from = Instant.parse(after).plusNanos(1_000).toString();
        assertEquals(
                List.of("2"),
                http.pop(
                                queue,
                                "consumerGroup=g&subscriptionMode=all&subscriptionFrom="
                                        + Http.encode(from))
                        .payloads());
        assertEquals(
                List.of("1", "2"),
                http.pop(queue, "consumerGroup=h&subscriptionFrom=2020-01-01T00:00:00Z")
                        .payloads());
        assertEquals(
                204,
                http.pop(queue, "consumerGroup=i&subscriptionMode=all&subscriptionFrom=now")
                        .status());
    }

    @Test
    @Contract({"model-7", "pop-first-2"})
    void queueModeAlwaysBeginsAtTheOldest() {
        String queue = fresh("queuemode");
        http.push(queue, "p", "1");
        assertEquals(
                List.of("1"),
                http.pop(queue, "subscriptionMode=new&subscriptionFrom=now").payloads());
    }

    @Test
    @Contract({"option-1", "pop-3", "pop-answer-3"})
    void discoveryFindsQueuesByTheirLabels() {
        String namespace = fresh("ns");
        http.push(namespace + ".t1.x", "p", "1");
        http.push(namespace + ".t2.x", "p", "2");
        Json json = http.get("/api/v1/pop?partitions=0&namespace=" + namespace).json();
        assertEquals("", json.text("queue"));
        assertEquals(2, json.size("messages"));
        for (int i = 0; i < 2; i++) {
            String task = json.text("messages", i, "data").equals("1") ? "t1" : "t2";
            assertEquals(
                    namespace + "." + task + ".x",
                    json.text("messages", i, "queue"),
                    "the consumer could not tell otherwise");
        }
        assertEquals(
                List.of("2"),
                http.get(
                                "/api/v1/pop?consumerGroup=g&subscriptionMode=all&namespace="
                                        + namespace
                                        + "&task=t2")
                        .payloads());
        assertEquals(204, http.get("/api/v1/pop?namespace=" + namespace + "&task=t3").status());
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "?namespace=", "?namespace=&task=", "?wait=true"})
    @Contract("pop-3")
    void discoveryNeedsALabel(String query) {
        Http.Reply reply = http.get("/api/v1/pop" + query);
        assertEquals(400, reply.status());
        assertEquals(
                "{\"success\":false,\"error\":\"namespace or task is required\",\"messages\":[]}",
                reply.body());
    }

    @ParameterizedTest
    @CsvSource({
        "conflation=true, conflation requires consumerGroup",
        "conflation=true&consumerGroup=g&autoAck=true, conflation cannot be combined with autoAck"
    })
    @Contract("pop-conflate-5")
    void conflationIsRefusedInItsOwnShape(String query, String error) {
        Http.Reply reply = http.pop("any", query);
        assertEquals(400, reply.status());
        assertEquals(List.of("success", "error", "messages"), reply.json().names());
        assertFalse(reply.json().bool("success"));
        assertTrue(reply.json().text("error").startsWith(error), reply.body());
        assertEquals(0, reply.json().size("messages"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "batch=abc",
                "batch=",
                "partitions=1.5",
                "wait=1",
                "wait=TRUE",
                "autoAck=yes",
                "timeout=-5",
                "leaseSeconds=x",
                "conflation=0",
                "autopilot=on"
            })
    @Contract("http-9")
    void aBadParameterIsNamed(String query) {
        Http.Reply reply = http.pop("any", query);
        assertEquals(400, reply.status());
        String name = query.substring(0, query.indexOf('='));
        assertTrue(
                reply.json().text("error").startsWith("invalid query parameter " + name + ": "),
                reply.body());
    }

    @Test
    @Contract("pop-param-10")
    void whereNothingIsLeftToTheBrokerNothingIsChosen() {
        String queue = fresh("autopilot");
        http.push(queue, "p", "1");
        Json json =
                http.pop(queue, "autopilot=false&consumerGroup=g&subscriptionMode=all&x=y").json();
        assertEquals(List.of("1"), json.each("messages", "data"));
        assertFalse(json.names().contains("autopilot"));
    }

    @Test
    @Contract({"model-10", "pop-param-7", "pop-claim-2", "pop-claim-6", "pop-wait-1"})
    void anExpiredLeaseIsRedeliveredWithTheNextAttempt() {
        String queue = fresh("expiry");
        http.push(queue, "p", "1", "2");
        Json first = http.pop(queue, "leaseSeconds=1").json();
        Json second = http.pop(queue, "wait=true&timeout=30000&leaseSeconds=60").json();
        assertEquals(List.of("1", "2"), second.each("messages", "data"));
        assertEquals("2", second.text("messages", 0, "deliveryAttempt"));
        assertNotEquals(first.text("leaseId"), second.text("leaseId"));
        http.ackBatch(second, "completed", 0, 1);
        http.push(queue, "p", "3");
        assertEquals("1", http.pop(queue, "").json().text("messages", 0, "deliveryAttempt"));
    }

    @Test
    @Contract("option-6")
    void aDelayedMessageIsHiddenUntilItsTimeOnEveryRoute() {
        String queue = fresh("delayed");
        http.post(
                "/api/v1/configure",
                "{\"queue\":\""
                        + queue
                        + "\",\"namespace\":\""
                        + queue
                        + "\",\"options\":{\"delayedProcessing\":3600}}");
        http.push(queue, "p", "1");
        assertEquals(204, http.pop(queue, "").status());
        assertEquals(204, http.get("/api/v1/pop/queue/" + queue + "/partition/p").status());
        assertEquals(204, http.get("/api/v1/pop?namespace=" + queue).status());
        http.post(
                "/api/v1/configure",
                "{\"queue\":\"" + queue + "\",\"options\":{\"delayedProcessing\":0}}");
        assertEquals(List.of("1"), http.pop(queue, "wait=true&timeout=30000").payloads());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"a/b", "a%2Fb", "\"quoted\" 'name'", "👑 é €", "..", "a+b&c=d?e#f;g", "300"})
    @Contract({"http-3", "http-4"})
    void anyNameCanBePushedAndPopped(String shown) {
        String name = (shown.equals("300") ? "x".repeat(300) : shown) + UUID.randomUUID();
        String escaped = name.replace("\"", "\\\"");
        http.push(escaped, escaped, "1");
        Json json =
                http.get(
                                "/api/v1/pop/queue/"
                                        + Http.encode(name)
                                        + "/partition/"
                                        + Http.encode(name)
                                        + "?subscriptionMode=all&consumerGroup="
                                        + Http.encode(name))
                        .json();
        assertEquals(name, json.text("queue"));
        assertEquals(name, json.text("partition"));
        assertEquals(name, json.text("consumerGroup"));
        assertEquals(name, json.text("messages", 0, "partition"));
    }
}
