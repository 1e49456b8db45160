package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.queenmq.ack.AckItem;
import io.queenmq.ack.AckResult;
import io.queenmq.ack.AckStatus;
import io.queenmq.model.QueenException;
import io.queenmq.testkit.Contract;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class AckJsonTest {
    private static AckJson.Request one(String body) {
        return AckJson.readOne(body.getBytes(StandardCharsets.UTF_8));
    }

    private static AckJson.Request batch(String body) {
        return AckJson.readBatch(body.getBytes(StandardCharsets.UTF_8));
    }

    @Test
    @Contract("ack-1")
    void oneAcknowledgementHasItsGroupBesideIt() {
        assertEquals(
                new AckJson.Request(
                        "billing",
                        List.of(new AckItem("t", "p", "l", AckStatus.FAILED, "smtp 451"))),
                one(
                        "{\"transactionId\":\"t\",\"partitionId\":\"p\",\"consumerGroup\":\"billing\","
                                + "\"leaseId\":\"l\",\"status\":\"failed\",\"error\":\"smtp 451\"}"));
    }

    @Test
    @Contract("ack-1")
    void everyFieldMayBeMissingOrNull() {
        AckItem nothing = new AckItem(null, null, null, AckStatus.COMPLETED, null);
        assertEquals(new AckJson.Request("__QUEUE_MODE__", List.of(nothing)), one("{}"));
        assertEquals(
                new AckJson.Request("__QUEUE_MODE__", List.of(nothing)),
                one(
                        "{\"transactionId\":null,\"partitionId\":null,\"consumerGroup\":null,"
                                + "\"leaseId\":null,\"status\":null,\"error\":null,\"x\":[{}]}"));
    }

    @ParameterizedTest
    @CsvSource({
        "completed, COMPLETED",
        "success, COMPLETED",
        "acked, COMPLETED",
        "ok, COMPLETED",
        "retry, RETRY",
        "dlq, DEAD_LETTER",
        "failed, FAILED",
        "'', FAILED",
        "nack, FAILED",
        "Completed, FAILED"
    })
    void anUnknownStatusIsAFailure(String spelled, AckStatus status) {
        assertEquals(status, one("{\"status\":\"" + spelled + "\"}").items().getFirst().status());
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"status\":1}",
                "{\"status\":true}",
                "{\"transactionId\":[]}",
                "{\"partitionId\":7}",
                "{\"leaseId\":{}}",
                "{\"error\":1}",
                "{\"consumerGroup\":1}",
                "[]",
                "{"
            })
    void whatIsNoStringIsRefused(String body) {
        QueenException refused = assertThrows(QueenException.class, () -> one(body));
        assertEquals("bad body: ", refused.detail().substring(0, 10));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{}",
                "{\"acknowledgments\":null}",
                "{\"acknowledgments\":[]}",
                "{\"acknowledgements\":[{}]}"
            })
    void aBatchWithoutAcknowledgmentsIsEmpty(String body) {
        assertEquals(List.of(), batch(body).items());
    }

    @Test
    @Contract("ack-3")
    void aBatchKeepsTheOrderOfItsItems() {
        AckJson.Request request =
                batch(
                        "{\"acknowledgments\":[{\"transactionId\":\"a\",\"partitionId\":\"p\"},"
                                + "{\"transactionId\":\"b\",\"partitionId\":\"p\",\"status\":\"retry\"}],"
                                + "\"consumerGroup\":\"g\"}");
        assertEquals("g", request.group());
        assertEquals(
                List.of(
                        new AckItem("a", "p", null, AckStatus.COMPLETED, null),
                        new AckItem("b", "p", null, AckStatus.RETRY, null)),
                request.items());
    }

    @Test
    @Contract("ack-1")
    void aBadItemIsNamed() {
        QueenException refused =
                assertThrows(
                        QueenException.class,
                        () -> batch("{\"acknowledgments\":[{},{\"status\":5}]}"));
        assertEquals(
                "bad body: acknowledgments[1].status must be a string, got a number",
                refused.detail());
    }

    @Test
    @Contract("ack-6")
    void aReasonIsMendedNotRefused() {
        assertEquals("a\ufffdb\ufffd👑", AckJson.storable("a\u0000b\ud800👑"));
        assertEquals(
                AckJson.ERROR_CHARACTERS_MAX,
                String.valueOf(AckJson.storable("x".repeat(20_000))).length());
    }

    @Test
    @Contract("ack-3")
    void resultsKeepTheOrderAndTheSpellingOfTheContract() {
        assertEquals(
                "[{\"index\":0,\"transactionId\":\"a\",\"success\":true,\"error\":null,"
                        + "\"leaseReleased\":true,\"dlq\":false,\"noop\":false},"
                        + "{\"index\":1,\"transactionId\":null,\"success\":false,"
                        + "\"error\":\"consumer not found\",\"leaseReleased\":false,\"dlq\":true,"
                        + "\"noop\":true}]",
                AckJson.write(
                                List.of(
                                        new AckItem("a", "p", null, AckStatus.COMPLETED, null),
                                        new AckItem(null, "p", null, AckStatus.COMPLETED, null)),
                                List.of(
                                        new AckResult(true, null, true, false, false),
                                        new AckResult(
                                                false, "consumer not found", false, true, true)))
                        .toString());
    }
}
