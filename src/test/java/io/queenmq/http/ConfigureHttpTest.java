package io.queenmq.http;

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
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Configuring and deleting a queue. */
class ConfigureHttpTest {
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

    private static Json configure(String body) {
        Http.Reply reply = http.post("/api/v1/configure", body);
        assertEquals(200, reply.status(), reply.body());
        return reply.json();
    }

    @Test
    @Contract("configure-1")
    void anAnswerEchoesEveryOptionAtItsDefault() {
        Json json = configure("{\"queue\":\"defaults\"}");
        assertTrue(json.bool("configured"));
        UUID.fromString(json.text("queueId"));
        assertTrue(json.isNull("partitionId"));
        assertEquals("defaults", json.text("queue"));
        assertEquals("", json.text("namespace"));
        assertEquals("", json.text("task"));
        assertEquals("segments", json.text("storage"));
        assertEquals(
                "{leaseTime=300, retryLimit=3, retryDelay=1000, deadLetterQueue=true,"
                        + " dlqAfterMaxRetries=true, delayedProcessing=0, windowBuffer=0,"
                        + " minPopWaitTime=0, retentionEnabled=false, retentionSeconds=0,"
                        + " completedRetentionSeconds=0, maxWaitTimeSeconds=0,"
                        + " encryptionEnabled=false, dedupWindowSeconds=3600, priority=0,"
                        + " maxSize=0, ttl=3600, retentionSinkHold=,"
                        + " retentionSinkHoldMaxSeconds=604800}",
                json.at("options").toString());
        assertEquals(0, json.size("warnings"));
    }

    @Test
    @Contract("configure-8")
    void numbersMayComeAsTextAndBooleansInTheSpellingsOfTheDatabase() {
        Json json =
                configure(
                        "{\"queue\":\"spelled\",\"options\":{\"leaseTime\":\"120\","
                                + "\"retryLimit\":5,\"deadLetterQueue\":\"off\","
                                + "\"retentionEnabled\":\"yes\",\"unknown\":[1]}}");
        assertEquals("120", json.text("options", "leaseTime"));
        assertEquals("5", json.text("options", "retryLimit"));
        assertEquals("false", json.text("options", "deadLetterQueue"));
        assertEquals("true", json.text("options", "retentionEnabled"));
    }

    @Test
    @Contract("configure-5")
    void whatIsLeftOutGoesBackToItsDefaultUnlessMerged() {
        String queue = "mode-" + UUID.randomUUID();
        String head = "{\"queue\":\"" + queue + "\",";
        configure(head + "\"namespace\":\"n\",\"options\":{\"leaseTime\":9,\"retryLimit\":8}}");
        Json merged = configure(head + "\"mode\":\"merge\",\"options\":{\"retryLimit\":7}}");
        assertEquals("9", merged.text("options", "leaseTime"));
        assertEquals("7", merged.text("options", "retryLimit"));
        assertEquals("n", merged.text("namespace"));
        Json reset = configure(head + "\"mode\":\"merge\",\"options\":{\"leaseTime\":null}}");
        assertEquals("300", reset.text("options", "leaseTime"));
        Json replaced = configure(head + "\"options\":{\"priority\":1}}");
        assertEquals("3", replaced.text("options", "retryLimit"));
        assertEquals("", replaced.text("namespace"));
        assertEquals(merged.text("queueId"), replaced.text("queueId"));
        Json explicit = configure(head + "\"mode\":\"replace\",\"leaseTime\":5}");
        assertEquals("5", explicit.text("options", "leaseTime"));
        assertEquals("0", explicit.text("options", "priority"));
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{\"options\":{}} | queue is required",
                "{\"queue\":7} | queue is required",
                "{\"queue\":\"q\",\"mode\":\"x\"} | mode must be \"merge\" or \"replace\", got \"x\"",
                "nonsense | bad body: ",
                "{\"queue\":\"q\",\"leaseTime\":0} | leaseTime",
                "{\"queue\":\"q\",\"leaseTime\":\"abc\"} | leaseTime",
                "{\"queue\":\"q\",\"leaseTime\":1.5} | leaseTime",
                "{\"queue\":\"q\",\"leaseTime\":{}} | leaseTime",
                "{\"queue\":\"q\",\"leaseTime\":99999999999} | leaseTime",
                "{\"queue\":\"q\",\"retryLimit\":-1} | retryLimit",
                "{\"queue\":\"q\",\"deadLetterQueue\":\"maybe\"} | deadLetterQueue",
                "{\"queue\":\"q\",\"encryptionEnabled\":true} | encryptionEnabled",
                "{\"queue\":\"q\",\"retentionSinkHold\":\"a b\"} | retentionSinkHold",
                "{\"queue\":\"q\",\"retentionSinkHoldMaxSeconds\":59} | retentionSinkHoldMaxSeconds"
            })
    @Contract({"configure-2", "configure-7", "configure-9", "option-10", "option-11"})
    void aBadOptionIsNamedAndNothingIsWritten(String body, String error) {
        Json before = configure("{\"queue\":\"q\",\"options\":{\"priority\":42}}");
        Http.Reply reply = http.post("/api/v1/configure", body);
        assertEquals(400, reply.status(), reply.body());
        assertEquals(List.of("error"), reply.json().names());
        assertTrue(reply.json().text("error").startsWith(error), reply.body());
        Json after = configure("{\"queue\":\"q\",\"mode\":\"merge\",\"options\":{}}");
        assertEquals(before.at("options").toString(), after.at("options").toString());
    }

    @Test
    @Contract("configure-10")
    void anOptionWithoutEffectIsWarnedAbout() {
        Json json =
                configure("{\"queue\":\"warned\",\"options\":{\"completedRetentionSeconds\":300}}");
        assertTrue(json.size("warnings") > 0);
        assertTrue(
                json.at("warnings").toString().contains("completedRetentionSeconds"),
                json.toString());
    }

    @Test
    @Contract("option-2")
    void theLeaseTimeHoldsFromTheNextPopOn() {
        String queue = "next-" + UUID.randomUUID();
        http.push(queue, "p", "1");
        configure("{\"queue\":\"" + queue + "\",\"options\":{\"leaseTime\":1}}");
        http.pop(queue, "");
        assertEquals(
                "2",
                http.pop(queue, "wait=true&timeout=30000")
                        .json()
                        .text("messages", 0, "deliveryAttempt"));
    }

    @Test
    @Contract("configure-2")
    void theEmptyNameCanBeConfiguredAndDeleted() {
        assertEquals("", configure("{\"queue\":\"\"}").text("queue"));
        Http.Reply reply = http.delete("/api/v1/resources/queues/");
        assertEquals(
                "{\"deleted\":true,\"queue\":\"\",\"existed\":true,\"diskBytes\":0,"
                        + "\"pendingTimers\":0}",
                reply.body());
    }

    @Test
    @Contract("configure-13")
    void aDeletedQueueIsGoneAndItsNameIsFree() {
        String queue = "deleted-" + UUID.randomUUID();
        http.push(queue, "p", "1");
        http.pop(queue, "consumerGroup=g&subscriptionMode=all");
        Http.Reply reply = http.delete("/api/v1/resources/queues/" + queue);
        assertEquals(200, reply.status());
        assertEquals("true", reply.json().text("deleted"));
        assertEquals(queue, reply.json().text("queue"));
        assertEquals("true", reply.json().text("existed"));
        assertEquals(204, http.pop(queue, "").status());
        http.push(queue, "p", "2");
        assertEquals(List.of("2"), http.pop(queue, "").payloads());
        assertEquals(
                List.of("2"),
                http.pop(queue, "consumerGroup=g&subscriptionMode=all").payloads(),
                "its groups are new too");
    }

    @ParameterizedTest
    @ValueSource(strings = {"absent", "a/b", "👑"})
    @Contract("configure-13")
    void deletingWhatIsNotThereIsNoError(String name) {
        Http.Reply reply = http.delete("/api/v1/resources/queues/" + Http.encode(name));
        assertEquals(200, reply.status());
        assertEquals("false", reply.json().text("deleted"));
        assertEquals("Queue not found, nothing was deleted", reply.json().text("message"));
    }

    @Test
    @Contract({"configure-7", "configure-8", "http-2"})
    void theModeIsNoOption() {
        Json json =
                configure(
                        "{\"queue\":\"mode\",\"mode\":\"merge\",\"x\":{\"y\":[]},\"options\":"
                                + "{\"mode\":\"replace\",\"replace\":true,\"leaseTime\":\"7\"}}");
        assertEquals("7", json.text("options", "leaseTime"));
        assertFalse(json.names().contains("mode"), json.toString());
        assertFalse(json.names("options").contains("mode"), json.toString());
        assertEquals(
                "7",
                configure("{\"queue\":\"mode\",\"mode\":\"merge\",\"options\":{}}")
                        .text("options", "leaseTime"));
    }

    @Test
    @Contract("option-1")
    void newLabelsMoveNeitherMessagesNorCursors() {
        String queue = "relabelled-" + UUID.randomUUID();
        http.push(queue, "p", "1", "2");
        http.ack(http.pop(queue, "batch=1").json(), 0, "completed");
        configure("{\"queue\":\"" + queue + "\",\"namespace\":\"n-" + queue + "\"}");
        assertEquals(204, http.get("/api/v1/pop?namespace=" + queue).status());
        assertEquals(List.of("2"), http.get("/api/v1/pop?namespace=n-" + queue).payloads());
    }

    @Test
    @Contract("option-6")
    void aLongerDelayHidesWhatWasVisible() {
        String queue = "hidden-" + UUID.randomUUID();
        http.push(queue, "p", "1", "2");
        http.ack(http.pop(queue, "batch=1").json(), 0, "completed");
        configure("{\"queue\":\"" + queue + "\",\"options\":{\"delayedProcessing\":3600}}");
        assertEquals(204, http.pop(queue, "").status());
        configure("{\"queue\":\"" + queue + "\",\"options\":{\"delayedProcessing\":0}}");
        assertEquals(List.of("2"), http.pop(queue, "wait=true&timeout=30000").payloads());
    }

    @Test
    @Contract({"option-2", "configure-11"})
    void aLeaseThatWasGivenKeepsItsEnd() {
        String queue = "kept-" + UUID.randomUUID();
        configure("{\"queue\":\"" + queue + "\",\"options\":{\"leaseTime\":1000}}");
        http.push(queue, "p", "1");
        String leaseId = http.pop(queue, "").json().text("leaseId");
        configure("{\"queue\":\"" + queue + "\",\"options\":{\"leaseTime\":1}}");
        Json extended = http.post("/api/v1/lease/" + leaseId + "/extend", "{\"seconds\":1}").json();
        Instant expires = Instant.parse(extended.text("expiresAt"));
        assertTrue(expires.isAfter(Instant.now().plusSeconds(500)), expires.toString());
    }

    @Test
    @Contract({"configure-14", "ack-error-7", "lease-5"})
    void whatWasTakenFromADeletedQueueCannotBeAcknowledged() {
        String queue = "taken-" + UUID.randomUUID();
        http.push(queue, "p", "1", "2");
        Json popped = http.pop(queue, "batch=1").json();
        http.delete("/api/v1/resources/queues/" + queue);
        for (String status : List.of("completed", "failed", "retry", "dlq")) {
            Json acked = http.ack(popped, 0, status);
            assertFalse(acked.bool(0, "success"), acked.toString());
            assertEquals("partition not owned by tenant", acked.text(0, "error"));
        }
        assertEquals(
                "0",
                http.post("/api/v1/lease/" + popped.text("leaseId") + "/extend", "{}")
                        .json()
                        .text("renewed"));
        assertEquals(204, http.get("/api/v1/pop/queue/" + queue + "/partition/p").status());
        http.push(queue, "p", "3");
        Json next = http.pop(queue, "").json();
        assertEquals(List.of("3"), next.each("messages", "data"));
        assertEquals(
                "partition not owned by tenant", http.ack(popped, 0, "completed").text(0, "error"));
        assertEquals("true", http.ack(next, 0, "completed").text(0, "leaseReleased"));
    }

    @Test
    @Contract({"configure-11", "pop-wait-3", "dedup-6"})
    void anotherBrokerKnowsAtOnce() throws Exception {
        String queue = "elsewhere-" + UUID.randomUUID();
        try (TestBroker other = TestBroker.on(broker.database())) {
            http.push(queue, "p", "1");
            CompletableFuture<Http.Reply> poll =
                    other.http().getLater("/api/v1/pop/queue/" + queue + "/partition/p?wait=true");
            Json first = poll.get().json();
            assertEquals(List.of("1"), first.each("messages", "data"));
            configure("{\"queue\":\"" + queue + "\",\"options\":{\"retryLimit\":0}}");
            assertEquals("true", other.http().ack(first, 0, "failed").text(0, "dlq"));
            configure("{\"queue\":\"" + queue + "\",\"options\":{\"delayedProcessing\":3600}}");
            other.http().push(queue, "p", "2");
            assertEquals(204, other.http().pop(queue, "").status());
        }
    }
}
