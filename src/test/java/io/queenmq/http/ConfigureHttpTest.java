package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.testkit.Http;
import io.queenmq.testkit.Json;
import io.queenmq.testkit.TestBroker;
import java.util.List;
import java.util.UUID;
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
    void anOptionWithoutEffectIsWarnedAbout() {
        Json json =
                configure("{\"queue\":\"warned\",\"options\":{\"completedRetentionSeconds\":300}}");
        assertTrue(json.size("warnings") > 0);
        assertTrue(
                json.at("warnings").toString().contains("completedRetentionSeconds"),
                json.toString());
    }

    @Test
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
    void theEmptyNameIsLegal() {
        assertEquals("", configure("{\"queue\":\"\"}").text("queue"));
    }

    @Test
    void aDeletedQueueIsGoneAndItsNameIsFree() {
        String queue = "deleted-" + UUID.randomUUID();
        http.push(queue, "p", "1");
        http.pop(queue, "consumerGroup=g&subscriptionMode=all");
        Http.Reply reply = http.delete("/api/v1/resources/queues/" + queue);
        assertEquals(200, reply.status());
        assertEquals(
                "{\"deleted\":true,\"queue\":\"" + queue + "\",\"existed\":true}", reply.body());
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
    void deletingWhatIsNotThereIsNoError(String name) {
        Http.Reply reply = http.delete("/api/v1/resources/queues/" + Http.encode(name));
        assertEquals(200, reply.status());
        assertEquals("false", reply.json().text("deleted"));
        assertEquals("Queue not found, nothing was deleted", reply.json().text("message"));
    }
}
