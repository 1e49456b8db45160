package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.queenmq.model.QueenException;
import io.queenmq.queue.QueueOptions;
import io.queenmq.queue.Queues;
import io.queenmq.queue.Queues.Configured;
import io.queenmq.queue.Queues.Mode;
import io.queenmq.queue.Queues.Option;
import io.queenmq.testkit.Contract;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class QueueJsonTest {
    private static QueueJson.Request read(String body) {
        return QueueJson.read(body.getBytes(StandardCharsets.UTF_8));
    }

    private static Option string(String text) {
        return new Option(Option.Kind.STRING, text);
    }

    @Test
    @Contract("configure-3")
    void optionsStandInABagOrBesideTheQueue() {
        Map<String, Option> wanted =
                Map.of(
                        "leaseTime",
                        new Option(Option.Kind.NUMBER, "1.50"),
                        "deadLetterQueue",
                        new Option(Option.Kind.BOOLEAN, "false"),
                        "retryLimit",
                        new Option(Option.Kind.NULL, null),
                        "ttl",
                        new Option(Option.Kind.COMPOSITE, null),
                        "maxSize",
                        string("7"));
        String options =
                "\"leaseTime\":1.50,\"deadLetterQueue\":false,\"retryLimit\":null,"
                        + "\"ttl\":{\"a\":[1]},\"maxSize\":\"7\"";
        assertEquals(
                wanted, read("{\"queue\":\"q\",\"options\":{" + options + "},\"x\":1}").options());
        assertEquals(wanted, read("{\"queue\":\"q\"," + options + "}").options());
        assertEquals(wanted, read("{\"options\":null," + options + ",\"queue\":\"q\"}").options());
    }

    @Test
    @Contract("configure-4")
    void labelsBesideABagAreFoldedInUnlessItSaysOtherwise() {
        assertEquals(
                Map.of("namespace", string("inner"), "task", string("outer")),
                read("{\"namespace\":\"outer\",\"task\":\"outer\",\"queue\":\"q\","
                                + "\"options\":{\"namespace\":\"inner\"}}")
                        .options());
        assertEquals(
                Map.of(),
                read("{\"namespace\":\"\",\"task\":5,\"queue\":\"q\",\"options\":{}}").options());
    }

    @Test
    void theModeIsMergeReplaceOrTheServersChoice() {
        assertNull(read("{\"queue\":\"q\"}").mode());
        assertNull(read("{\"queue\":\"q\",\"mode\":null}").mode());
        assertEquals(Mode.MERGE, read("{\"queue\":\"q\",\"mode\":\"merge\"}").mode());
        assertEquals(Mode.REPLACE, read("{\"queue\":\"q\",\"mode\":\"replace\"}").mode());
    }

    @Test
    @Contract("configure-2")
    void theEmptyQueueIsAName() {
        assertEquals("", read("{\"queue\":\"\"}").queue());
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "{} | queue is required",
                "{\"queue\":5} | queue is required",
                "{\"queue\":null} | queue is required",
                "{\"queue\":\"q\",\"mode\":\"x\"} | mode must be \"merge\" or \"replace\", got \"x\"",
                "{\"queue\":\"q\",\"mode\":[1]} | mode must be \"merge\" or \"replace\", got [1]",
                "[] | bad body: must be a JSON object",
                "{\"queue\":\"a\\u0000\"} | queue must not contain a NUL character"
            })
    @Contract("configure-7")
    void refusalsNameWhatIsWrong(String body, String detail) {
        assertEquals(detail, assertThrows(QueenException.class, () -> read(body)).detail());
    }

    @Test
    @Contract("configure-1")
    void theAnswerEchoesEveryOptionInForce() {
        QueueOptions options =
                new QueueOptions(
                        "billing", "invoice", 120, 5, 1000, true, false, 1, 2, 3, false, 4, 5, 6,
                        false, 3600, 7, 8, 9, "sink", 604800);
        assertEquals(
                "{\"configured\":true,\"queueId\":\"00000000-0001-8000-8000-00000000002a\","
                        + "\"partitionId\":null,\"queue\":\"orders\",\"namespace\":\"billing\","
                        + "\"task\":\"invoice\",\"storage\":\"segments\",\"options\":{"
                        + "\"leaseTime\":120,\"retryLimit\":5,\"retryDelay\":1000,"
                        + "\"deadLetterQueue\":true,\"dlqAfterMaxRetries\":false,"
                        + "\"delayedProcessing\":1,\"windowBuffer\":2,\"minPopWaitTime\":3,"
                        + "\"retentionEnabled\":false,\"retentionSeconds\":4,"
                        + "\"completedRetentionSeconds\":5,\"maxWaitTimeSeconds\":6,"
                        + "\"encryptionEnabled\":false,\"dedupWindowSeconds\":3600,"
                        + "\"priority\":7,\"maxSize\":8,\"ttl\":9,\"retentionSinkHold\":\"sink\","
                        + "\"retentionSinkHoldMaxSeconds\":604800},\"warnings\":[\"a\",\"b\"]}",
                QueueJson.write("orders", new Configured(42, options, List.of("a", "b")))
                        .toString());
    }

    @Test
    @Contract("configure-13")
    void deletingNothingIsSaidAndIsNoError() {
        assertEquals(
                "{\"deleted\":true,\"queue\":\"q\",\"existed\":true,\"diskBytes\":7,"
                        + "\"pendingTimers\":9,\"pendingTimersCapped\":true}",
                QueueJson.deleted("q", new Queues.Deleted(true, 7, 9, true)).toString());
        assertEquals(
                "{\"deleted\":false,\"queue\":\"q\",\"existed\":false,\"diskBytes\":0,"
                        + "\"pendingTimers\":0,\"message\":\"Queue not found, nothing was deleted\"}",
                QueueJson.deleted("q", new Queues.Deleted(false, 0, 0, false)).toString());
    }
}
