package io.queenmq.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.queenmq.cipher.CipherConfig;
import io.queenmq.cipher.PayloadCipher;
import io.queenmq.metrics.Metrics;
import io.queenmq.model.Ids;
import io.queenmq.model.Slice;
import io.queenmq.pop.PopResult;
import io.queenmq.segment.Frame;
import io.queenmq.segment.FrameWriter;
import io.queenmq.segment.Segment;
import io.queenmq.testkit.Contract;
import java.time.Instant;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class PopJsonTest {
    private static final Instant AT = Instant.parse("2026-07-30T11:02:44.512873Z");
    private static final PayloadCipher CIPHER =
            new PayloadCipher(CipherConfig.of("0f".repeat(32), List.of()), new Metrics());
    private static final UUID LEASE = UUID.fromString("01990000-0000-7000-8000-00000000000a");
    private static final UUID TRACE = UUID.fromString("11111111-2222-4333-8444-555555555555");
    private static final UUID MINTED = UUID.fromString("01990000-0000-7abc-8000-0000000000ff");

    private static PopResult.Batch batch(long base, int first, int count, Frame... frames) {
        Segment segment = FrameWriter.segments(List.of(frames)).getFirst();
        return new PopResult.Batch(base, first, count, AT, segment.keys(), segment.frames());
    }

    private static String write(PopResult result, @Nullable String queue) {
        long size = PopJson.size(result, "billing");
        return PopJson.write(result, queue, "billing", CIPHER, size).toString();
    }

    @Test
    @Contract({"pop-answer-1", "pop-answer-5"})
    void everyFieldOfTheContractIsThereInItsOrder() {
        PopResult.Lane lane =
                new PopResult.Lane(
                        "orders",
                        "cust-7",
                        42,
                        1,
                        3,
                        List.of(
                                batch(
                                        10,
                                        0,
                                        2,
                                        Frame.of(
                                                "ord-1", TRACE, "sub", Slice.utf8("{\"n\":1e400}")),
                                        Frame.minted(MINTED, null, null, Slice.utf8("null")))));
        String lanes =
                ",\"createdAt\":\"2026-07-30T11:02:44.512873Z\","
                        + "\"partitionId\":\"00000000-0000-8000-8000-00000000002a\","
                        + "\"partition\":\"cust-7\",\"leaseId\":\""
                        + LEASE
                        + "\",\"consumerGroup\":\"billing\",\"deliveryAttempt\":3}";
        assertEquals(
                "{\"success\":true,\"queue\":\"orders\",\"partition\":\"cust-7\","
                        + "\"partitionId\":\"00000000-0000-8000-8000-00000000002a\","
                        + "\"leaseId\":\""
                        + LEASE
                        + "\",\"consumerGroup\":\"billing\","
                        + "\"messages\":[{\"id\":\""
                        + Ids.messageId(AT.toEpochMilli(), 42, 10)
                        + "\",\"transactionId\":\"ord-1\",\"traceId\":\""
                        + TRACE
                        + "\",\"data\":{\"n\":1e400},\"producerSub\":\"sub\""
                        + lanes
                        + ",{\"id\":\""
                        + MINTED
                        + "\",\"transactionId\":\""
                        + MINTED
                        + "\",\"traceId\":null,\"data\":null,\"producerSub\":null"
                        + lanes
                        + "],\"partitionsClaimed\":1}",
                write(new PopResult(LEASE, List.of(lane)), "orders"));
    }

    @Test
    @Contract("pop-answer-2")
    void partsOfSegmentsOfSeveralLanesFollowEachOther() {
        Frame[] frames = {
            Frame.of("a", null, null, Slice.utf8("0")),
            Frame.of("b", null, null, Slice.utf8("1")),
            Frame.of("c", null, null, Slice.utf8("2"))
        };
        PopResult result =
                new PopResult(
                        null,
                        List.of(
                                new PopResult.Lane(
                                        "q1",
                                        "p \"1\"",
                                        1,
                                        1,
                                        1,
                                        List.of(batch(0, 1, 2, frames), batch(3, 0, 1, frames))),
                                new PopResult.Lane(
                                        "q2", "p2", 2, 1, 1, List.of(batch(7, 2, 1, frames)))));
        String json = write(result, null);
        assertTrue(
                json.startsWith("{\"success\":true,\"queue\":\"\",\"partition\":\"p \\\"1\\\"\""));
        assertTrue(json.endsWith("],\"partitionsClaimed\":2}"), json);
        assertTrue(json.contains("\"leaseId\":\"\""), json);
        assertEquals(
                "1,2,0,2",
                String.join(
                        ",",
                        List.of(json.split("\"data\":", -1)).stream()
                                .skip(1)
                                .map(rest -> rest.substring(0, 1))
                                .toList()));
        assertTrue(json.contains("\"queue\":\"q1\",\"deliveryAttempt\""), json);
        assertTrue(json.contains("\"queue\":\"q2\",\"deliveryAttempt\""), json);
    }

    @Test
    @Contract("model-12")
    void bytesThatAreNoJsonArriveAsBase64() {
        Frame frame = Frame.of("t", null, null, Slice.utf8("no \"json"));
        Frame bytes =
                new Frame(
                        frame.key(),
                        Slice.utf8("t"),
                        false,
                        null,
                        null,
                        null,
                        Frame.NOT_JSON,
                        frame.payload());
        PopResult.Lane lane = new PopResult.Lane("q", "p", 1, 1, 1, List.of(batch(0, 0, 1, bytes)));
        String json = write(new PopResult(null, List.of(lane)), "q");
        assertTrue(json.contains("\"data\":\"bm8gImpzb24=\""), json);
    }
}
