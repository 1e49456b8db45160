package io.queenmq.admin;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Contract;
import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Subscription and deletion of a group. */
class GroupHttpTest {
    private static TestBroker broker;
    private static Http http;

    private String queue;
    private String group;

    @BeforeAll
    static void start() {
        broker = TestBroker.start();
        http = broker.http();
    }

    @AfterAll
    static void stop() {
        broker.close();
    }

    @BeforeEach
    void setUp() {
        queue = "queue-" + UUID.randomUUID();
        group = "group-" + UUID.randomUUID();
    }

    private Http.Reply pop(String mode, String more) {
        return http.pop(queue, "consumerGroup=" + group + "&subscriptionMode=" + mode + "&" + more);
    }

    private Http.Reply subscribe(String body) {
        return http.post("/api/v1/consumer-groups/" + group + "/subscription", body);
    }

    private Json delete(String more) {
        Http.Reply reply = http.delete("/api/v1/consumer-groups/" + group + more);
        assertEquals(200, reply.status(), reply.body());
        return reply.json();
    }

    // Subscription.

    @Test
    @Contract("seek-6")
    void aSubscriptionChangesWhereUntouchedPartitionsBegin() {
        http.push(queue, "touched", "1");
        http.push(queue, "untouched", "2");
        assertEquals(204, pop("new", "").status());
        http.push(queue, "touched", "3");
        assertEquals(List.of("3"), pop("new", "autoAck=true").payloads());
        Http.Reply reply = subscribe("{\"subscriptionTimestamp\":\"2000-01-01T00:00:00Z\"}");
        assertEquals(200, reply.status());
        assertEquals(
                "{\"success\":true,\"consumerGroup\":\""
                        + group
                        + "\",\"newTimestamp\":\"2000-01-01T00:00:00.000Z\",\"rowsUpdated\":1}",
                reply.body());
        assertEquals(List.of("2"), pop("new", "autoAck=true&partitions=0").payloads());
        assertEquals(204, pop("new", "partitions=0").status(), "no cursor moved");
    }

    @Test
    @Contract("seek-6")
    void itIsOfAllQueuesOfTheGroup() {
        http.push(queue, "p", "1");
        pop("new", "");
        String second = queue;
        queue = "queue-" + UUID.randomUUID();
        http.push(queue, "p", "2");
        pop("new", "");
        assertEquals(
                "2",
                subscribe("{\"subscriptionTimestamp\":\"2000-01-01\"}").json().text("rowsUpdated"));
        assertEquals(List.of("2"), pop("new", "").payloads());
        queue = second;
        assertEquals(List.of("1"), pop("new", "").payloads());
    }

    @Test
    void aGroupThatNeverPoppedHasNone() {
        assertEquals(
                "0",
                subscribe("{\"subscriptionTimestamp\":\"2000-01-01\"}").json().text("rowsUpdated"));
    }

    @Test
    void aParkedPopIsWokenForWhatItMayHaveNow() throws Exception {
        http.push(queue, "p", "1");
        CompletableFuture<Http.Reply> parked =
                http.getLater(
                        "/api/v1/pop/queue/"
                                + queue
                                + "?wait=true&timeout=50000&subscriptionMode=new&consumerGroup="
                                + group);
        broker.awaitParked(1);
        subscribe("{\"subscriptionTimestamp\":\"2000-01-01\"}");
        assertEquals(List.of("1"), parked.get().payloads());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "",
                "{}",
                "{\"subscriptionTimestamp\":\"\"}",
                "{\"subscriptionTimestamp\":null}"
            })
    void aTimestampIsRequired(String body) {
        Http.Reply reply = subscribe(body);
        assertEquals(400, reply.status());
        assertEquals("subscriptionTimestamp is required", reply.json().text("error"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{\"subscriptionTimestamp\":\"soon\"}|bad timestamp: subscriptionTimestamp",
                "{\"subscriptionTimestamp\":7}|bad body: subscriptionTimestamp must be a string",
                "nonsense|bad body: "
            })
    void whatIsNoTimestampIsRefused(String body, String sentence) {
        Http.Reply reply = subscribe(body);
        assertEquals(400, reply.status());
        assertTrue(reply.json().text("error").startsWith(sentence), reply.body());
    }

    @Test
    void popsWithoutAGroupHaveNoSubscription() {
        group = "__QUEUE_MODE__";
        assertEquals(400, subscribe("{\"subscriptionTimestamp\":\"2000-01-01\"}").status());
    }

    // Deletion.

    @Test
    @Contract("seek-7")
    void theNextPopIsFirstContactWithItsOwnParameters() {
        http.push(queue, "p", "1", "2");
        assertEquals(List.of("1", "2"), pop("all", "autoAck=true").payloads());
        Json json = delete("/queues/" + queue);
        assertEquals(
                List.of(
                        "success",
                        "consumerGroup",
                        "queueName",
                        "deletedPartitions",
                        "metadataDeleted"),
                json.names());
        assertEquals("1", json.text("deletedPartitions"));
        assertTrue(json.bool("metadataDeleted"));
        assertEquals(List.of("1", "2"), pop("all", "autoAck=true").payloads());
        delete("/queues/" + queue);
        assertEquals(204, pop("new", "autoAck=true").status());
        http.push(queue, "p", "3");
        assertEquals(List.of("3"), pop("all", "autoAck=true").payloads(), "registered as new");
    }

    @Test
    @Contract("seek-7")
    void theRegistrationMayStay() {
        http.push(queue, "p", "1");
        assertEquals(204, pop("new", "autoAck=true").status());
        http.push(queue, "p", "2");
        assertEquals(List.of("2"), pop("new", "autoAck=true").payloads());
        assertFalse(delete("/queues/" + queue + "?deleteMetadata=false").bool("metadataDeleted"));
        assertEquals(List.of("2"), pop("all", "autoAck=true").payloads(), "still the old start");
    }

    @ParameterizedTest
    @CsvSource({"0,false", "no,false", "yes,true", "1,true", "perhaps,true", "FALSE,true"})
    void theSwitchIsReadAsManagementDoes(String value, boolean deleted) {
        assertEquals(deleted, delete("?deleteMetadata=" + value).bool("metadataDeleted"));
    }

    @Test
    void allQueuesAreMeantWithoutOne() {
        http.push(queue, "p", "1");
        http.push(queue, "q", "2");
        pop("all", "autoAck=true&partitions=0");
        String second = queue;
        queue = "queue-" + UUID.randomUUID();
        http.push(queue, "p", "3");
        pop("all", "autoAck=true");
        Json json = delete("");
        assertEquals(
                List.of("success", "consumerGroup", "deletedPartitions", "metadataDeleted"),
                json.names());
        assertEquals("3", json.text("deletedPartitions"));
        assertEquals(List.of("3"), pop("all", "").payloads());
        queue = second;
        assertEquals(2, pop("all", "partitions=0").payloads().size());
    }

    @Test
    @Contract("seek-7")
    void deletingAgainChangesNothing() {
        http.push(queue, "p", "1");
        pop("all", "autoAck=true");
        assertEquals("1", delete("").text("deletedPartitions"));
        assertEquals("0", delete("").text("deletedPartitions"));
        assertEquals("0", delete("/queues/nowhere").text("deletedPartitions"));
    }

    @Test
    void lateAcksAreRefused() {
        http.push(queue, "p", "1");
        Json leased = pop("all", "").json();
        delete("/queues/" + queue);
        Json late = http.ack(leased, 0, "completed");
        assertFalse(late.bool(0, "success"));
        assertEquals("invalid or expired lease", late.text(0, "error"));
        assertEquals(List.of("1"), pop("all", "").payloads());
    }

    @Test
    void aParkedPopRegistersTheGroupAnew() throws Exception {
        http.push(queue, "p", "1");
        assertEquals(List.of("1"), pop("all", "autoAck=true").payloads());
        CompletableFuture<Http.Reply> parked =
                http.getLater(
                        "/api/v1/pop/queue/"
                                + queue
                                + "?wait=true&timeout=50000&subscriptionMode=all&consumerGroup="
                                + group);
        broker.awaitParked(1);
        delete("/queues/" + queue);
        assertEquals(List.of("1"), parked.get().payloads());
    }

    @Test
    void aPinnedPopPlacesTheCursorByItsOwnParameters() {
        http.push(queue, "p", "1");
        assertEquals(List.of("1"), pop("all", "autoAck=true").payloads());
        delete("/queues/" + queue);
        String pinned =
                "/api/v1/pop/queue/" + queue + "/partition/p?autoAck=true&consumerGroup=" + group;
        assertEquals(List.of("1"), http.get(pinned + "&subscriptionMode=all").payloads());
        delete("/queues/" + queue);
        assertEquals(204, http.get(pinned + "&subscriptionMode=new").status());
        http.push(queue, "p", "2");
        assertEquals(List.of("2"), http.get(pinned + "&subscriptionMode=all").payloads());
    }

    @Test
    void aTimestampOfBeforeIsForgottenToo() {
        http.push(queue, "p", "1");
        assertEquals(
                204,
                http.pop(
                                queue,
                                "consumerGroup="
                                        + group
                                        + "&subscriptionFrom="
                                        + Instant.now().plusSeconds(3600))
                        .status());
        delete("");
        assertEquals(List.of("1"), pop("all", "").payloads());
    }
}
