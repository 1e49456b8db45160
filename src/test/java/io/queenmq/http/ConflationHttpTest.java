package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Await;
import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import io.queenmq.testkit.TestDatabase;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Last-value delivery: a policy that the first pop of a group stores. */
class ConflationHttpTest {
    private static final String ASKED = "consumerGroup=g&subscriptionMode=all&conflation=true";
    private static final String PLAIN = "consumerGroup=g&subscriptionMode=all";

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

    private static String pinned(String queue, String partition, String query) {
        return "/api/v1/pop/queue/" + queue + "/partition/" + partition + "?" + query;
    }

    @Test
    @Contract("pop-conflate-2")
    void everyLaneYieldsItsNewestMessageAndTheAnswerSaysSo() {
        String queue = fresh("newest");
        http.push(queue, "a", "1", "2", "3");
        http.push(queue, "b", "4", "5");
        Json json = http.pop(queue, ASKED).json();
        assertEquals(List.of("3", "5"), json.each("messages", "data").stream().sorted().toList());
        assertTrue(json.bool("conflation"));
        assertFalse(json.names().contains("conflationConflict"));
        assertEquals("2", json.text("partitionsClaimed"));
    }

    @Test
    @Contract({"pop-conflate-2", "pop-conflate-6"})
    void aCompletedAckRetiresTheSpanAndCountsWhatWentUnread() {
        String queue = fresh("span");
        http.push(queue, "a", "1", "2", "3");
        Json json = http.pop(queue, ASKED).json();
        http.push(queue, "a", "4");
        Json ack = http.ack(json, 0, "completed");
        assertEquals("2", ack.text(0, "conflated"));
        assertTrue(ack.bool(0, "leaseReleased"));
        assertEquals(List.of("4"), http.pop(queue, ASKED).payloads());
    }

    @Test
    @Contract("pop-conflate-2")
    void theAckOfATransactionRetiresTheSpanAlthoughItsIdRepeatsInIt() {
        String queue = fresh("transaction");
        http.post(
                "/api/v1/configure",
                "{\"queue\":\"%s\",\"options\":{\"dedupWindowSeconds\":0}}".formatted(queue));
        for (String payload : List.of("1", "2", "3")) {
            http.pushItems(List.of(Http.item(queue, "a", "same", payload)));
        }
        Json json = http.pop(queue, ASKED).json();
        assertEquals(List.of("3"), json.each("messages", "data"));
        http.push(queue, "a", "4");
        Json done =
                http.post(
                                "/api/v1/transaction",
                                """
                                {"operations":[{"type":"ack","transactionId":"same",
                                  "partitionId":"%s","consumerGroup":"g","leaseId":"%s"}]}"""
                                        .formatted(json.text("partitionId"), json.text("leaseId")))
                        .json();
        assertTrue(done.bool("success"));
        assertEquals(List.of("4"), http.pop(queue, ASKED).payloads());
    }

    /**
     * By itself, by its lease in a transaction, and by its id in one that names the lease; once and
     * twice.
     */
    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            quoteCharacter = '~',
            value = {
                "ack | {ACK,'leaseId':'LEASE'}",
                "transaction | {'operations':[{'type':'ack',ACK,'leaseId':'LEASE'}]}",
                "transaction | {'operations':[{'type':'ack',ACK}],'requiredLeases':['LEASE']}",
                "ack/batch | {'consumerGroup':'g','acknowledgments':[{ACK},{ACK}]}",
                "ack/batch | {'consumerGroup':'g','acknowledgments':[{ACK,'leaseId':'LEASE'},{ACK,'leaseId':'LEASE'}]}",
                "transaction | {'operations':[{'type':'ack',ACK,'leaseId':'LEASE'},{'type':'ack',ACK,'leaseId':'LEASE'}]}",
                "transaction | {'operations':[{'type':'ack',ACK},{'type':'ack',ACK}],'requiredLeases':['LEASE']}"
            })
    @Contract({"pop-conflate-6", "tx-4"})
    void whatGoesUnreadIsCountedHoweverItIsAcknowledged(String route, String body)
            throws SQLException {
        try (TestDatabase database = TestDatabase.migrated();
                TestBroker counting =
                        TestBroker.withEnvironment(database, Map.of("METRICS_FLUSH_MS", "1000"));
                Connection witness = database.connect()) {
            counting.http().push("q", "a", "1", "2", "3");
            Json json = counting.http().pop("q", ASKED).json();
            String acked =
                    "'transactionId':'%s','partitionId':'%s','consumerGroup':'g'"
                            .formatted(
                                    json.text("messages", 0, "transactionId"),
                                    json.text("partitionId"));
            Http.Reply reply =
                    counting.http()
                            .post(
                                    "/api/v1/" + route,
                                    body.replace("ACK", acked)
                                            .replace("LEASE", json.text("leaseId"))
                                            .replace('\'', '"'));
            assertEquals(200, reply.status(), reply.body());
            assertEquals(2, counting.metric("queen_ack_conflated_total"));
            Await.until(
                    "what is told to those who look back",
                    () ->
                            TestDatabase.rows(
                                            witness,
                                            "select coalesce(sum(conflated), 0)::int from"
                                                    + " queen_store.queue_buckets where"
                                                    + " minutes = 1")
                                    .getFirst()[0]
                                    .equals(2));
        }
    }

    @Test
    @Contract("pop-conflate-6")
    void aFailureCountsNothingAndTheNextPopDeliversWhatIsNewestThen() {
        String queue = fresh("failure");
        http.push(queue, "a", "1", "2");
        Json ack = http.ack(http.pop(queue, ASKED).json(), 0, "failed");
        assertFalse(ack.names(0).contains("conflated"));
        http.push(queue, "a", "3");
        Json again = http.pop(queue, ASKED).json();
        assertEquals(List.of("3"), again.each("messages", "data"));
        assertEquals("2", again.text("messages", 0, "deliveryAttempt"));
    }

    @Test
    @Contract("pop-conflate-4")
    void anEmptyAnswerHasABodyThatSaysSo() {
        String queue = fresh("empty");
        Http.Reply reply = http.pop(queue, ASKED);
        assertEquals(200, reply.status());
        assertEquals(0, reply.json().size("messages"));
        assertTrue(reply.json().bool("success"));
        for (String name : List.of("partition", "partitionId", "leaseId")) {
            assertEquals("", reply.json().text(name), name);
        }
        assertTrue(reply.json().bool("conflation"));
        assertFalse(reply.json().names().contains("conflationConflict"));
    }

    @Test
    @Contract({"pop-conflate-1", "pop-conflate-4"})
    void theStoredPolicyWinsAndAContradictionIsNamed() {
        String conflating = fresh("stored");
        http.push(conflating, "a", "1", "2");
        http.pop(conflating, ASKED);
        Json silent = http.pop(conflating, PLAIN).json();
        assertTrue(silent.bool("conflation"));
        assertFalse(silent.names().contains("conflationConflict"), "saying nothing is no conflict");
        Json contradicting = http.pop(conflating, PLAIN + "&conflation=false").json();
        assertTrue(contradicting.bool("conflation"));
        assertTrue(contradicting.bool("conflationConflict"));

        String plain = fresh("plain");
        http.push(plain, "a", "1", "2");
        assertEquals(List.of("1", "2"), http.pop(plain, PLAIN).payloads());
        Http.Reply asking = http.pop(plain, ASKED);
        assertEquals(200, asking.status());
        assertFalse(asking.json().names().contains("conflation"));
        assertTrue(asking.json().bool("conflationConflict"));
        assertEquals(204, http.pop(plain, PLAIN + "&conflation=false").status());
    }

    @Test
    @Contract("model-6")
    void otherGroupsGetEveryMessage() {
        String queue = fresh("others");
        http.push(queue, "a", "1", "2");
        assertEquals(List.of("2"), http.pop(queue, ASKED).payloads());
        Json other = http.pop(queue, "consumerGroup=other&subscriptionMode=all").json();
        assertEquals(List.of("1", "2"), other.each("messages", "data"));
        assertFalse(other.names().contains("conflation"));
    }

    @Test
    @Contract("pop-conflate-3")
    void withoutANumberOfLanesTheBatchIsThatNumberUpToSixtyFour() {
        String queue = fresh("lanes");
        List<String> items = new ArrayList<>();
        for (int lane = 0; lane < 70; lane++) {
            items.add(Http.item(queue, "p" + lane, null, "1"));
            items.add(Http.item(queue, "p" + lane, null, "2"));
        }
        http.pushItems(items);
        assertEquals(3, http.pop(queue, ASKED + "&batch=3").json().size("messages"));
        assertEquals(2, http.pop(queue, ASKED + "&partitions=2").json().size("messages"));
        assertEquals(64, http.pop(queue, ASKED).json().size("messages"));
        assertEquals(1, http.pop(queue, ASKED + "&partitions=500").json().size("messages"));
    }

    @Test
    @Contract("pop-conflate-1")
    void aPinnedPopRegistersTheGroupForAllLanes() {
        String queue = fresh("pinned");
        http.push(queue, "a", "1", "2");
        http.push(queue, "b", "3", "4");
        Json json = http.get(pinned(queue, "a", ASKED)).json();
        assertEquals(List.of("2"), json.each("messages", "data"));
        assertTrue(json.bool("conflation"));
        Json other = http.pop(queue, "consumerGroup=g").json();
        assertEquals(List.of("4"), other.each("messages", "data"), "the rule is the group's");
        assertTrue(other.bool("conflation"));
    }

    @Test
    @Contract("pop-conflate-1")
    void aPinnedPopOfWhatDoesNotExistYetSaysWhatItWasAskedFor() {
        String queue = fresh("absent");
        Http.Reply reply = http.get(pinned(queue, "a", ASKED));
        assertEquals(200, reply.status());
        assertTrue(reply.json().bool("conflation"));
        http.push(queue, "b", "1");
        assertEquals(200, http.get(pinned(queue, "a", ASKED)).status());
        assertTrue(http.pop(queue, PLAIN).json().bool("conflation"), "the queue was there");
    }

    @Test
    @Contract("pop-conflate-4")
    void aPopByLabelsConflatesEveryQueueAndSaysSo() {
        String namespace = fresh("ns").replace('.', '-');
        String labels = "/api/v1/pop?namespace=" + namespace + "&" + ASKED;
        assertTrue(http.get(labels).json().bool("conflation"), "nothing matches yet");
        http.push(namespace + ".x", "a", "1", "2");
        http.push(namespace + ".y", "a", "3", "4");
        Json json = http.get(labels).json();
        assertEquals(List.of("2", "4"), json.each("messages", "data").stream().sorted().toList());
        assertTrue(json.bool("conflation"));
    }

    @Test
    @Contract("pop-conflate-4")
    void aPolicyStoredWithAnyQueueOfALabelPopIsSaid() {
        String namespace = fresh("mixed").replace('.', '-');
        http.push(namespace + ".x", "a", "1", "2");
        http.push(namespace + ".y", "a", "3", "4");
        http.pop(namespace + ".x", PLAIN);
        Json json = http.get("/api/v1/pop?namespace=" + namespace + "&" + ASKED).json();
        assertEquals(List.of("4"), json.each("messages", "data"));
        assertTrue(json.bool("conflation"));
        assertTrue(json.bool("conflationConflict"), "one of the queues delivers everything");
    }

    @Test
    @Contract("pop-conflate-4")
    void aLabelPopGetsManyLanesOfQueuesThatConflateAndOneOfOthers() {
        String namespace = fresh("widths").replace('.', '-');
        String labels = "/api/v1/pop?namespace=" + namespace + "&" + ASKED;
        http.pop(namespace + ".plain", PLAIN);
        http.pop(namespace + ".newest", ASKED);
        for (String lane : List.of("a", "b", "c")) {
            http.push(namespace + ".plain", lane, "1", "2");
            http.push(namespace + ".newest", lane, "3", "4");
        }
        List<List<String>> answers = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            answers.add(http.get(labels).json().each("messages", "data"));
        }
        answers.sort(Comparator.comparing(List::toString));
        List<String> oneLane = List.of("1", "2");
        assertEquals(List.of(oneLane, oneLane, oneLane, List.of("4", "4", "4")), answers);
    }

    @Test
    @Contract("pop-conflate-4")
    void aParkedPollIsWokenAndOneThatRunsOutSaysWhatItIs() throws Exception {
        String queue = fresh("parked");
        Json ranOut = http.pop(queue, ASKED + "&wait=true&timeout=50").json();
        assertTrue(ranOut.bool("conflation"));
        CompletableFuture<Http.Reply> parked =
                broker.http()
                        .getLater(
                                "/api/v1/pop/queue/" + queue + "?wait=true&timeout=30000&" + ASKED);
        http.push(queue, "a", "1");
        assertEquals(List.of("1"), parked.get().payloads());
    }

    @Test
    @Contract("pop-conflate-5")
    void autoAckOfAConflatingGroupCommitsTheSpan() {
        String queue = fresh("auto");
        http.pop(queue, ASKED);
        http.push(queue, "a", "1", "2", "3");
        Json json = http.pop(queue, PLAIN + "&autoAck=true").json();
        assertEquals(List.of("3"), json.each("messages", "data"));
        assertTrue(json.bool("conflation"));
        assertEquals(0, http.pop(queue, PLAIN).json().size("messages"));
    }
}
